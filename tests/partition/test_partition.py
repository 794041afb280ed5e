"""One partition: what it takes, what it makes of it, and what it shows."""

from random import Random
from uuid import UUID

import pytest

from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Partition
from millstream.records.batch import Batch, split
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.records.read import Record, read
from millstream.records.verify import InvalidRecords
from millstream.settings import parse_settings
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.store import Store

NOW_MS = 1_700_000_000_000


def partition(**configs: str) -> Partition:
    store = Store(SimDisk(Random(1)), ballast_bytes=0, min_free_percent=0)
    store.open()
    named = {name.replace("_", "."): value for name, value in configs.items()}
    config = parse_settings(LogConfig, named)
    return Partition("t", 0, store.open_log("t", UUID(int=1), 0, config, NOW_MS))


def batch(
    *records: NewRecord, codec: Codec = Codec.NONE, producer_id: int = -1, sequence: int = -1
) -> memoryview:
    some = records or (NewRecord(b"k", b"v"),)
    epoch = 0 if producer_id >= 0 else -1
    return memoryview(
        build(
            some,
            codec=codec,
            now_ms=NOW_MS,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
    )


def synced(it: Partition) -> Partition:
    sync = it.log.unsynced()
    if sync is not None:
        sync.run()
        it.log.synced(sync)
    it.commit()
    return it


def records(it: Partition) -> list[Record]:
    found = synced(it).read(0, 1 << 20)
    assert found is not None
    return [record for each in split(found.read()) for record in read(each, max_bytes=1 << 20)]


def code(it: Partition, data: memoryview) -> ErrorCode:
    end = it.log.end_offset
    with pytest.raises(Refused) as refused:
        it.append(data, NOW_MS)
    assert it.log.end_offset == end, "refused, and yet written"
    return refused.value.code


def test_offsets_and_epoch_are_stamped_in_place() -> None:
    it = partition()
    data = batch(NewRecord(b"a", b"1"), NewRecord(b"b", b"2"))

    assert it.append(batch(), NOW_MS).base_offset == 0
    appended = it.append(data, NOW_MS)

    assert (appended.base_offset, appended.end_offset, appended.append_time_ms) == (1, 3, -1)
    assert (Batch(data).base_offset, Batch(data).leader_epoch) == (1, 0)
    assert [(each.offset, each.value) for each in records(it)] == [(0, b"v"), (1, b"1"), (2, b"2")]


def test_nothing_is_shown_before_it_is_committed() -> None:
    it = partition()
    it.append(batch(), NOW_MS)

    assert it.read(0, 1000) is None
    assert synced(it).read(0, 1000) is not None
    assert it.read(1, 1000) is None
    for offset in (-1, 2):
        with pytest.raises(Refused) as refused:
            it.read(offset, 1000)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_sizes_are_limited() -> None:
    it = partition(max_message_bytes="300", segment_bytes="1000000")
    assert code(it, batch(NewRecord(b"k", b"x" * 300))) is ErrorCode.MESSAGE_TOO_LARGE
    it = partition(max_message_bytes="100000", segment_bytes="20000")
    assert code(it, batch(NewRecord(b"k", b"x" * 30_000))) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_time_too_far_ahead_is_refused_and_the_record_named() -> None:
    it = partition()
    late = NewRecord(b"k", b"v", timestamp_ms=NOW_MS + 3_600_001)
    with pytest.raises(InvalidRecords) as refused:
        it.append(batch(NewRecord(b"k", b"v", timestamp_ms=NOW_MS), late), NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [1]
    it.append(batch(NewRecord(b"k", b"v", timestamp_ms=NOW_MS + 3_600_000)), NOW_MS)


def test_a_time_too_far_back_is_refused_only_if_that_is_limited() -> None:
    old = NewRecord(b"k", b"v", timestamp_ms=NOW_MS - 5001)
    partition().append(batch(old), NOW_MS)
    it = partition(message_timestamp_before_max_ms="5000")
    first = NewRecord(b"k", b"v", timestamp_ms=NOW_MS)
    with pytest.raises(InvalidRecords) as refused:
        it.append(batch(first, old), NOW_MS)
    assert [index for index, _ in refused.value.record_errors] == [1]


def test_the_brokers_own_time_can_be_wanted() -> None:
    it = partition(message_timestamp_type="LogAppendTime")

    appended = it.append(batch(NewRecord(b"k", b"v", timestamp_ms=5)), NOW_MS)

    assert appended.append_time_ms == NOW_MS
    assert [each.timestamp_ms for each in records(it)] == [NOW_MS]


@pytest.mark.parametrize("sent", list(Codec))
@pytest.mark.parametrize("wanted", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_kept_compressed_as_the_topic_wants(sent: Codec, wanted: str) -> None:
    it = partition(compression_type=wanted)
    some = [NewRecord(b"key %d" % n, b"value " * n, (("h", b"x"),), NOW_MS - n) for n in range(20)]

    it.append(batch(*some, codec=sent), NOW_MS)

    kept = Batch(memoryview(synced(it).read(0, 1 << 20).read()))  # type: ignore[union-attr]
    names = {"producer": sent, "uncompressed": Codec.NONE}
    assert kept.codec is names.get(
        wanted, Codec[wanted.upper()] if wanted.upper() in Codec.__members__ else sent
    )
    assert [(each.key, each.value, each.headers, each.timestamp_ms) for each in records(it)] == [
        (new.key, new.value, tuple(new.headers), new.timestamp_ms) for new in some
    ]


def test_a_batch_that_grows_too_large_by_that_is_refused() -> None:
    it = partition(compression_type="uncompressed", max_message_bytes="2000")
    assert code(it, batch(NewRecord(b"k", bytes(5000)), codec=Codec.GZIP)) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_compacted_topic_needs_keys_and_says_which_are_missing() -> None:
    it = partition(cleanup_policy="compact")
    with pytest.raises(InvalidRecords) as refused:
        it.append(batch(NewRecord(b"k", b"v"), NewRecord(None, b"v"), NewRecord(None, b"w")), NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in refused.value.record_errors] == [1, 2]
    it.append(batch(NewRecord(b"k", None)), NOW_MS)


def test_what_was_sent_before_is_not_written_again() -> None:
    it = partition()
    first = it.append(batch(producer_id=9, sequence=0), NOW_MS)
    for sequence in range(1, 5):
        it.append(batch(producer_id=9, sequence=sequence), NOW_MS)

    again = it.append(batch(producer_id=9, sequence=0), NOW_MS)

    assert again.base_offset == first.base_offset
    assert it.log.end_offset == 5
    assert code(it, batch(producer_id=9, sequence=7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_behind_a_first_batch_that_was_turned_away_must_wait() -> None:
    """A new producer may begin anywhere; but not with its second batch when its first is still to come."""
    it = partition()
    it.turned_away(batch(producer_id=9, sequence=0), NOW_MS)

    assert code(it, batch(producer_id=9, sequence=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    it.append(batch(producer_id=9, sequence=0), NOW_MS)
    it.append(batch(producer_id=9, sequence=1), NOW_MS)
    it.turned_away(batch(producer_id=9, sequence=0), NOW_MS)
    it.append(batch(producer_id=9, sequence=2), NOW_MS)
    it.append(batch(producer_id=8, sequence=5), NOW_MS)


def test_a_transactional_batch_needs_a_producer() -> None:
    data = build([NewRecord(b"k", b"v")], now_ms=NOW_MS, transactional=True)
    assert code(partition(), memoryview(data)) is ErrorCode.INVALID_RECORD


def test_records_are_given_up_below_an_offset() -> None:
    it = partition()
    for _ in range(5):
        it.append(batch(), NOW_MS)
    synced(it)

    assert it.delete_before(3) == 3
    assert it.delete_before(2) == 3, "nothing comes back, and it is no error"
    for offset in (6, -2):
        with pytest.raises(Refused) as refused:
            it.delete_before(offset)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert it.delete_before(-1) == 5
    compacted = partition(cleanup_policy="compact")
    with pytest.raises(Refused) as refused:
        compacted.delete_before(-1)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


def test_a_client_with_another_view_of_the_leader_is_told() -> None:
    it = Partition("t", 0, partition().log, leader_epoch=3)
    it.check_epoch(-1)
    it.check_epoch(3)
    for epoch, expected in ((2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(Refused) as refused:
            it.check_epoch(epoch)
        assert refused.value.code is expected
