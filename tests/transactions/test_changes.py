"""What is written of transactions is what Kafka writes, and is found again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.transactions.changes import decode, encode
from millstream.transactions.transaction import Place, State, Transaction

# Written by the classes of Kafka 4.3 itself.
KEY = "000000067061792dc3a9"
ONGOING_0 = (
    "0000000000000000004d00030000ea60010000000200016100000002000000000000000200016200000001"
    "000000010000018bcfe5687b0000018bcfe56801"
)
ONGOING_1 = (
    "0001000000000000004d00030000ea60010302610300000000000000020002620200000001000000018bcfe5687b"
    "0000018bcfe5680100"
)
TAGS_1 = ONGOING_1[:-2] + "03000800000000000000050108000000000000006302020002"
EMPTY_0 = "000000000000000000080000000003e800ffffffff0000000000000009ffffffffffffffff"
EMPTY_1 = "000100000000000000080000000003e800000000000000000009ffffffffffffffff00"

PLACES = frozenset({Place("a", 0), Place("a", 2), Place("b", 1)})


def ongoing(**more: Any) -> Transaction:
    return Transaction(
        producer_id=77,
        epoch=3,
        timeout_ms=60_000,
        state=State.ONGOING,
        places=PLACES,
        updated_ms=1_700_000_000_123,
        started_ms=1_700_000_000_001,
        **more,
    )


EMPTY = Transaction(producer_id=8, epoch=0, timeout_ms=1000, updated_ms=9)
TAGGED = ongoing(previous_id=5, next_id=99, client_version=2)


@pytest.mark.parametrize(
    ("written", "transaction"),
    [(ONGOING_0, ongoing()), (ONGOING_1, ongoing()), (TAGS_1, TAGGED), (EMPTY_0, EMPTY), (EMPTY_1, EMPTY)],
)
def test_what_kafka_writes_is_read(written: str, transaction: Transaction) -> None:
    assert decode(bytes.fromhex(KEY), bytes.fromhex(written)) == ("pay-é", transaction)


@pytest.mark.parametrize(
    ("transaction", "written"), [(ongoing(), ONGOING_1), (TAGGED, TAGS_1), (EMPTY, EMPTY_1)]
)
def test_it_is_written_as_kafka_does(transaction: Transaction, written: str) -> None:
    assert encode("pay-é", transaction) == (bytes.fromhex(KEY), bytes.fromhex(written))


ids = st.integers(-(1 << 63), (1 << 63) - 1)
transactions = st.builds(
    Transaction,
    producer_id=ids,
    epoch=st.integers(0, 0x7FFF),
    timeout_ms=st.integers(0, (1 << 31) - 1),
    state=st.sampled_from([state for state in State if state is not State.EMPTY]),
    places=st.frozensets(st.builds(Place, st.text(max_size=300), st.integers(0, 1 << 20)), max_size=20),
    updated_ms=ids,
    started_ms=ids,
    previous_id=ids,
    next_id=ids,
    client_version=st.integers(0, 3),
    earlier_epoch=st.just(-1),
)


@given(st.text(max_size=100), transactions)
def test_what_is_written_is_found_again(id: str, transaction: Transaction) -> None:
    assert decode(*encode(id, transaction)) == (id, transaction)


def test_what_is_forgotten_is_written_without_a_value() -> None:
    key, value = encode("gone", None)
    assert value is None
    assert decode(key, value) == ("gone", None)


def test_other_kinds_of_records_are_not_ours() -> None:
    assert decode(b"\x00\x07whatever", b"") is None


@given(st.integers(0, len(ONGOING_1) // 2 - 1))
def test_what_is_cut_short_is_refused(length: int) -> None:
    with pytest.raises(Refused) as refused:
        decode(bytes.fromhex(KEY), bytes.fromhex(ONGOING_1)[:length])
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_for_what_they_are(value: bytes) -> None:
    codes = set()
    try:
        codes.add(decode(bytes.fromhex(KEY), value) and ErrorCode.NONE)
    except Refused as refusal:
        codes.add(refusal.code)
    assert codes <= {ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE}
