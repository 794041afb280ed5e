"""Lines out of what arrives, however it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from millstream.gateways.iso import iso
from millstream.gateways.lines import Lines

MAX = 8
pieces = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\r", b"\n").replace(b"a", b"\n")))


@given(pieces)
def test_lines_are_the_same_however_they_are_cut(arriving: list[bytes]) -> None:
    lines = Lines(MAX)
    found: list[bytes | None] = []
    for piece in arriving:
        found += lines.feed(piece)
        assert lines.partial_bytes <= MAX
    found += lines.end()

    whole = b"".join(arriving).split(b"\n")
    if not whole[-1]:
        whole.pop()
    assert found == [line if len(line) <= MAX else None for line in whole]


def test_times_are_told_to_the_millisecond() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(-1) == "1969-12-31T23:59:59.999Z"
    assert iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert iso(1 << 62) == "9999-12-31T23:59:59.999Z"
    assert iso(-(1 << 62)) == "0001-01-01T00:00:00.000Z"
