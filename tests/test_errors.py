"""How we decline."""

from millstream.errors import ErrorCode, Refused


def test_what_is_said_fits_every_door_however_long_the_name_that_was_wrong() -> None:
    refused = Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, "no topic " + "ä" * 40_000)
    assert len(refused.detail.encode()) < 4_000
    assert refused.detail.startswith("no topic ää")
    assert refused.detail.endswith("…")
    assert Refused(ErrorCode.NONE, "short").detail == "short"
