"""When a record has had its time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.records.expiry import TTL_HEADER, expires_at, is_expired
from millstream.records.read import Record

NOW_MS = 1_700_000_000_000


def record(*ttls: bytes | None, timestamp_ms: int = NOW_MS) -> Record:
    headers = (("other", b"5"), *[(TTL_HEADER, ttl) for ttl in ttls])
    return Record(3, timestamp_ms, b"k", b"v", headers)


@given(st.integers(0, 10**15 - 1), st.integers(0, 2**42))
def test_counts_from_the_records_own_time(ttl_ms: int, timestamp_ms: int) -> None:
    it = record(b"%d" % ttl_ms, timestamp_ms=timestamp_ms)

    assert expires_at(it) == timestamp_ms + ttl_ms
    assert not is_expired(it, timestamp_ms + ttl_ms - 1)
    assert is_expired(it, timestamp_ms + ttl_ms)


@pytest.mark.parametrize(
    "value", [None, b"", b"-1", b"+1", b" 1", b"1 ", b"1.5", b"0x1", b"1_0", "١".encode(), b"9" * 16, b"soon"]
)
def test_what_is_no_number_means_no_expiry(value: bytes | None) -> None:
    assert expires_at(record(value)) is None
    assert not is_expired(record(value), 1 << 62)


def test_no_header_and_no_time_mean_no_expiry() -> None:
    assert expires_at(record()) is None
    assert expires_at(record(b"5", timestamp_ms=-1)) is None


def test_the_last_of_several_counts() -> None:
    assert expires_at(record(b"5", b"7")) == NOW_MS + 7
    assert expires_at(record(b"5", b"never")) is None
