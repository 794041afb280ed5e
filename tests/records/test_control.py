"""Markers as Kafka writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, changed

from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker, build_marker, read_marker


@given(
    st.sampled_from(Marker), st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), st.integers(-1, 2**31 - 1)
)
def test_is_read_as_it_was_written(marker: Marker, id: int, epoch: int, coordinator: int) -> None:
    batch = Batch(
        build_marker(
            marker, producer_id=id, producer_epoch=epoch, coordinator_epoch=coordinator, now_ms=NOW_MS
        )
    )
    batch.check()

    assert read_marker(batch) == (marker, coordinator)
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (id, epoch, -1)
    assert (batch.record_count, batch.max_timestamp_ms) == (1, NOW_MS)


def test_kafkas_bytes() -> None:
    data = build_marker(Marker.COMMIT, producer_id=9, producer_epoch=4, coordinator_epoch=7, now_ms=NOW_MS)

    assert data[61:].hex() == "2000000008000000010c00000000000700"


def control(key: bytes | None, value: bytes | None, *, producer_id: int = 9) -> Batch:
    return Batch(
        build([NewRecord(key, value)], now_ms=NOW_MS, producer_id=producer_id, producer_epoch=0, control=True)
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b""),
        (b"\0\0\0\1", b"\0\0\0\0\0"),
        (b"\0\0\1", b"\0\0\0\0\0\0"),
        (b"\0\0\0\2", b"\0\0\0\0\0\0"),  # a leader's change, in a log of the controllers
        (b"\xff\xff\0\1", b"\0\0\0\0\0\0"),
    ],
)
def test_other_control_batches_are_no_markers(key: bytes | None, value: bytes | None) -> None:
    assert read_marker(control(key, value)) is None


def test_of_nobody_it_is_no_marker() -> None:
    assert read_marker(control(b"\0\0\0\1", b"\0\0\0\0\0\0", producer_id=-1)) is None


def test_what_cannot_be_read_is_no_marker() -> None:
    whole = build_marker(Marker.ABORT, producer_id=9, producer_epoch=4, coordinator_epoch=7, now_ms=NOW_MS)

    assert read_marker(Batch(changed(whole, 61, b"\x7f"))) is None
