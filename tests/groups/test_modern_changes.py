"""Records of groups of the newer protocol: ours are what Kafka writes, and Kafka's are read.

The hexadecimal samples were written by Apache Kafka 4.3.0's own classes; that of RegexWritten was put
together by hand from its declaration.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import decode, encode
from millstream.groups.modern_changes import (
    NOTHING,
    ClassicSide,
    EpochWritten,
    KnownTopic,
    MemberWritten,
    ModernChange,
    Place,
    PlaceWritten,
    RegexWritten,
    Resolved,
    Standing,
    Subscriber,
    TargetEpochWritten,
    TargetWritten,
    TopicsWritten,
)

T = bytes(range(0x01, 0x11))
U = bytes(range(0x11, 0x21))
T_HEX, U_HEX = T.hex(), U.hex()

KEYS = {
    EpochWritten: "000300066772c3b67570",
    TopicsWritten: "000400066772c3b67570",
    MemberWritten: "000500066772c3b6757000026d30",
    TargetEpochWritten: "000600066772c3b67570",
    TargetWritten: "000700066772c3b6757000026d30",
    PlaceWritten: "000800066772c3b6757000026d30",
    RegexWritten: "001000066772c3b675700003782e2a",
}
WRITTEN: list[tuple[ModernChange, str]] = [
    (EpochWritten(42), "00000000002a00"),
    (
        TopicsWritten((KnownTopic("tööpic", T, 6), KnownTopic("u", U, 300))),
        f"000003{T_HEX}0974c3b6c3b6706963000000060100{U_HEX}02750000012c010000",
    ),
    (
        MemberWritten(
            "m0",
            Subscriber(
                instance_id="inst",
                rack_id="rack",
                client_id="c0",
                client_host="/127.0.0.1",
                topics=frozenset({"a", "b"}),
                regex="x.*",
                rebalance_timeout_ms=300_000,
                assignor="range",
            ),
        ),
        "000005696e7374057261636b0363300b2f3132372e302e302e31030261026204782e2a000493e00672616e676500",
    ),
    (
        MemberWritten("m0", Subscriber(client_id="c0", client_host="/127.0.0.1")),
        "000000000363300b2f3132372e302e302e310100ffffffff0000",
    ),
    (
        MemberWritten(
            "m0",
            Subscriber(
                client_id="c0",
                client_host="/127.0.0.1",
                topics=frozenset({"a"}),
                rebalance_timeout_ms=60_000,
                classic=ClassicSide(45_000, (("range", b"\1\2\3"), ("sticky", b""))),
            ),
        ),
        "000000000363300b2f3132372e302e302e31020261000000ea600001001b010000afc8030672616e6765040102030007737469636b"
        "79010000",
    ),
    (TargetEpochWritten(41), "00000000002900"),
    (
        TargetWritten("m0", frozenset({(T, 0), (T, 2), (T, 5), (U, 299)})),
        f"000003{T_HEX}0400000000000000020000000500{U_HEX}020000012b0000",
    ),
    (
        PlaceWritten(
            "m0", Place(41, 40, Standing.UNREVOKED, frozenset({(T, 0), (T, 2)}), frozenset({(T, 5)}))
        ),
        f"000000000029000000280102{T_HEX}0300000000000000020002{T_HEX}02000000050000",
    ),
    (
        RegexWritten("x.*", Resolved(frozenset({"x2", "x1"}), 7, 1_700_000_000_000)),
        "0000" + "03" + "037831" + "037832" + "0000000000000007" + "0000018bcfe56800" + "00",
    ),
]


@pytest.mark.parametrize(("change", "value"), WRITTEN, ids=lambda each: type(each).__name__)
def test_what_we_write_is_what_kafka_writes(change: ModernChange, value: str) -> None:
    key = bytes.fromhex(KEYS[type(change)])
    assert encode("gröup", change) == (key, bytes.fromhex(value))
    assert decode(key, bytes.fromhex(value)) == ("gröup", change)


@pytest.mark.parametrize(
    "change",
    [
        EpochWritten(None),
        TopicsWritten(None),
        MemberWritten("m0", None),
        TargetEpochWritten(None),
        TargetWritten("m0", None),
        PlaceWritten("m0", None),
        RegexWritten("x.*", None),
    ],
)
def test_what_is_taken_back_has_no_value(change: ModernChange) -> None:
    key = bytes.fromhex(KEYS[type(change)])
    assert encode("gröup", change) == (key, None)
    assert decode(key, None) == ("gröup", change)


def test_what_newer_and_older_kafkas_add_is_passed_over() -> None:
    hashed = "00000000002a010008000000000000004d"
    assert decode(bytes.fromhex(KEYS[EpochWritten]), bytes.fromhex(hashed)) == ("gröup", EpochWritten(42))
    racks = f"000002{T_HEX}027400000001020000000003037231037232000000"
    assert decode(bytes.fromhex(KEYS[TopicsWritten]), bytes.fromhex(racks)) == (
        "gröup",
        TopicsWritten((KnownTopic("t", T, 1),)),
    )


def test_a_member_in_a_state_nobody_knows_is_looked_at_again() -> None:
    value = bytes.fromhex("0000" + "00000029" + "00000028" + "7f" + "010100")
    found = decode(bytes.fromhex(KEYS[PlaceWritten]), value)
    assert found == ("gröup", PlaceWritten("m0", Place(41, 40, Standing.UNRELEASED, NOTHING, NOTHING)))


@given(st.sampled_from(WRITTEN), st.data())
def test_whatever_is_cut_short_is_refused(sample: tuple[ModernChange, str], data: st.DataObject) -> None:
    change, value = sample
    raw = bytes.fromhex(value)
    end = data.draw(st.integers(0, len(raw) - 1))
    code = ErrorCode.CORRUPT_MESSAGE
    try:
        found = decode(bytes.fromhex(KEYS[type(change)]), raw[:end])
    except Refused as refusal:
        found, code = ("gröup", change), refusal.code
    assert found == ("gröup", change), "only the tags at the end, which say nothing, may be missing"
    assert code is ErrorCode.CORRUPT_MESSAGE
