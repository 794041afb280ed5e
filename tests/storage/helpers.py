"""Batches, logs and stores to try things on."""

from collections.abc import Sequence
from random import Random
from uuid import UUID

from millstream.env.disk import Disk
from millstream.records.batch import Batch, split
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.store import Store

TOPIC = "orders"
ID = UUID(int=7)
NOW = 1_750_000_000_000
SMALL = LogConfig(segment_bytes=1024, index_interval_bytes=200)


def sim_disk(seed: int = 0) -> SimDisk:
    return SimDisk(Random(seed))


def open_store(disk: Disk) -> Store:
    store = Store(disk, ballast_bytes=0)
    store.open()
    return store


def open_log(store: Store, config: LogConfig = SMALL, *, id: UUID = ID, topic: str = TOPIC) -> Log:
    return store.open_log(topic, id, 0, config, NOW)


def make_batch(
    offset: int,
    values: Sequence[bytes | None] = (b"value",),
    *,
    keys: Sequence[bytes | None] | None = None,
    times: Sequence[int] | None = None,
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    codec: Codec = Codec.NONE,
    control: bool = False,
    transactional: bool = False,
) -> Batch:
    """A batch for *offset*; *producer* is id, epoch and first sequence."""
    records = [
        NewRecord(
            keys[index] if keys is not None else b"key",
            value,
            timestamp_ms=times[index] if times is not None else NOW + offset + index,
        )
        for index, value in enumerate(values)
    ]
    id, producer_epoch, sequence = producer
    data = build(
        records,
        codec=codec,
        now_ms=NOW,
        producer_id=id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        control=control,
        transactional=transactional,
    )
    batch = Batch(memoryview(data))
    batch.stamp(offset, epoch)
    return batch


def append(log: Log, count: int = 1, *, records: int = 1, size: int = 20, now_ms: int = NOW) -> list[Batch]:
    """Append *count* batches of *records* records each."""
    batches = []
    for _ in range(count):
        batch = make_batch(log.end_offset, [b"v" * size] * records)
        log.append(batch, now_ms)
        batches.append(batch)
    return batches


def sync(log: Log) -> None:
    """Make all of *log* durable."""
    pending = log.unsynced()
    if pending is not None:
        pending.run()
        log.synced(pending)


def contents(log: Log, end_offset: int | None = None) -> list[bytes]:
    """Every batch of *log*, byte for byte, read as a consumer would."""
    end_offset = log.end_offset if end_offset is None else end_offset
    found: list[bytes] = []
    offset = log.start_offset
    while offset < end_offset:
        piece = log.read(offset, 500, end_offset)
        if piece is None:
            break
        before = len(found)
        for batch in split(piece.read()):
            assert batch.last_offset >= offset, (batch, offset)
            found.append(bytes(batch.data))
            offset = batch.last_offset + 1
        assert len(found) > before, offset
    return found
