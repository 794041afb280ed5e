"""Records of `__consumer_offsets`: ours are what Kafka writes, and we read whatever Kafka ever wrote.

The hexadecimal samples were written by Apache Kafka 4.3.0's own classes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import (
    Change,
    CommittedOffset,
    GroupRemoved,
    GroupSaved,
    OffsetRemoved,
    OffsetSaved,
    SavedGroup,
    SavedMember,
    decode,
    encode,
)

OFFSET_KEY = bytes.fromhex("000100066772c3b675700005746f70696300000003")
GROUP_KEY = bytes.fromhex("000200066772c3b67570")

OFFSETS = [
    "0000010203040506070800056ec3b674650000018bcfe5687b",
    "0001010203040506070800056ec3b674650000018bcfe5687b0000018bcfe6ee9f",
    "0002010203040506070800056ec3b674650000018bcfe5687b",
    "000301020304050607080000000700056ec3b674650000018bcfe5687b",
    "0004010203040506070800000007066ec3b674650000018bcfe5687b00",
]
GROUPS = [
    "00000008636f6e73756d65720000002a000572616e676500026d300000000200026d3000026330000a2f3132372e302e302e31000027"
    "10000000030102000000000000026d3100026331000a2f3132372e302e302e3100002711000000030102010000000109",
    "00010008636f6e73756d65720000002a000572616e676500026d300000000200026d3000026330000a2f3132372e302e302e310000ea"
    "6000002710000000030102000000000000026d3100026331000a2f3132372e302e302e310000ea6100002711000000030102010000000109",
    "00020008636f6e73756d65720000002a000572616e676500026d300000018bcfe569c80000000200026d3000026330000a2f3132372e"
    "302e302e310000ea6000002710000000030102000000000000026d3100026331000a2f3132372e302e302e310000ea61000027110000"
    "00030102010000000109",
    "00030008636f6e73756d65720000002a000572616e676500026d300000018bcfe569c80000000200026d30ffff00026330000a2f3132"
    "372e302e302e310000ea6000002710000000030102000000000000026d310004696e737400026331000a2f3132372e302e302e310000"
    "ea6100002711000000030102010000000109",
    "000409636f6e73756d65720000002a0672616e6765036d300000018bcfe569c803036d30000363300b2f3132372e302e302e310000ea"
    "6000002710040102000100036d3105696e73740363310b2f3132372e302e302e310000ea61000027110401020102090000",
]
EMPTY_GROUPS = [
    "00000008636f6e73756d65720000002bffffffff00000000",
    "00010008636f6e73756d65720000002bffffffff00000000",
    "00020008636f6e73756d65720000002bffffffff0000018bcfe56b1500000000",
    "00030008636f6e73756d65720000002bffffffff0000018bcfe56b1500000000",
    "000409636f6e73756d65720000002b00000000018bcfe56b150100",
]


def offset_of(version: int) -> CommittedOffset:
    return CommittedOffset(
        offset=0x0102030405060708,
        leader_epoch=7 if version >= 3 else -1,
        metadata="nöte",
        committed_ms=1_700_000_000_123,
        expires_ms=1_700_000_099_999 if version == 1 else -1,
    )


def group_of(version: int) -> SavedGroup:
    members = tuple(
        SavedMember(
            id=f"m{number}",
            instance_id="inst" if version >= 3 and number else None,
            client_id=f"c{number}",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=(60_000 if version >= 1 else 10_000) + number,
            session_timeout_ms=10_000 + number,
            subscription=bytes([1, 2, number]),
            assignment=b"\x09" if number else b"",
        )
        for number in range(2)
    )
    return SavedGroup("consumer", 42, "range", "m0", 1_700_000_000_456 if version >= 2 else -1, members)


def empty_group_of(version: int) -> SavedGroup:
    return SavedGroup("consumer", 43, None, None, 1_700_000_000_789 if version >= 2 else -1, ())


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_kafkas_is_read(version: int) -> None:
    read = [
        decode(OFFSET_KEY, bytes.fromhex(OFFSETS[version])),
        decode(GROUP_KEY, bytes.fromhex(GROUPS[version])),
        decode(GROUP_KEY, bytes.fromhex(EMPTY_GROUPS[version])),
    ]
    assert read == [
        ("gröup", OffsetSaved("topic", 3, offset_of(version))),
        ("gröup", GroupSaved(group_of(version))),
        ("gröup", GroupSaved(empty_group_of(version))),
    ]


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        (OffsetSaved("topic", 3, offset_of(3)), OFFSET_KEY, OFFSETS[3]),
        (OffsetSaved("topic", 3, offset_of(1)), OFFSET_KEY, OFFSETS[1]),
        (OffsetRemoved("topic", 3), OFFSET_KEY, None),
        (GroupSaved(group_of(3)), GROUP_KEY, GROUPS[3]),
        (GroupSaved(empty_group_of(3)), GROUP_KEY, EMPTY_GROUPS[3]),
        (GroupRemoved(), GROUP_KEY, None),
    ],
)
def test_what_we_write_is_what_kafka_writes(change: Change, key: bytes, value: str | None) -> None:
    assert encode("gröup", change) == (key, value and bytes.fromhex(value))


def test_the_first_kind_of_offset_key_is_read_too() -> None:
    assert decode(b"\0\0" + OFFSET_KEY[2:], None) == ("gröup", OffsetRemoved("topic", 3))


def test_kinds_we_do_not_keep_are_passed_over() -> None:
    for kind in (*range(9, 16), *range(17, 20)):
        assert decode(kind.to_bytes(2, "big") + b"\0\1g", b"\0\0whatever") is None


texts = st.text(max_size=20)
i32 = st.integers(-(2**31), 2**31 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, 2**31 - 1)
offsets = st.builds(CommittedOffset, i64, i32, texts, i64)
expiring = st.builds(CommittedOffset, i64, st.just(-1), texts, i64, st.integers(0, 2**63 - 1))
members = st.builds(
    SavedMember,
    texts,
    st.none() | texts,
    texts,
    texts,
    times,
    times,
    st.binary(max_size=50),
    st.binary(max_size=50),
)
groups = st.builds(
    SavedGroup,
    st.none() | st.text(min_size=1, max_size=20),
    i32,
    st.none() | texts,
    st.none() | texts,
    i64,
    st.lists(members, max_size=5).map(tuple),
)
changes = st.one_of(
    st.builds(OffsetSaved, texts, i32, offsets | expiring),
    st.builds(OffsetRemoved, texts, i32),
    st.builds(GroupSaved, groups),
    st.just(GroupRemoved()),
)


@given(texts, changes)
def test_what_is_written_is_read_back(group: str, change: Change) -> None:
    assert decode(*encode(group, change)) == (group, change)


@given(changes, st.data())
def test_damage_is_refused_and_nothing_worse(change: Change, data: st.DataObject) -> None:
    key, value = encode("g", change)
    if value is None:
        key = key[: data.draw(st.integers(0, len(key) - 1))]
    else:
        value = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(Refused) as refused:
        decode(key, value)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


@given(st.binary(max_size=60), st.none() | st.binary(max_size=200))
def test_noise_is_refused_or_passed_over_and_nothing_worse(key: bytes, value: bytes | None) -> None:
    for prefix in (b"", b"\0\1", b"\0\2", b"\0\2\0\1g"):
        try:
            decode(prefix + key, value)
        except Refused as refusal:
            assert refusal.code is ErrorCode.CORRUPT_MESSAGE  # noqa: PT017  # any answer will do, but only this refusal
