"""A log and its role: what may be appended, and what may be read.

On one node the role is always that of leader, and the in-sync set is this
node alone, so what is safe here is committed: the high watermark is how far
the log is synced, or its end where a topic leaves syncing to the system.

Below the last stable offset every transaction is decided, for good: a reader of
committed records sees that far, and leaves out what was aborted.
"""

from itertools import islice
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.records.compression import Codec
from millstream.records.control import Marker, build_marker
from millstream.records.read import read
from millstream.records.runs import NOBODY, Frames, Joiner, Place, Run
from millstream.records.verify import InvalidRecords, recompress, verify_records
from millstream.storage.config import LogConfig
from millstream.storage.log import Log, Slice
from millstream.storage.producers import Described
from millstream.storage.txn_index import AbortedTransaction

_DECOMPRESSED_MAX: Final = 64 << 20
_INT64_MAX: Final = (1 << 63) - 1
_ERRORS_MAX: Final = 1000  # told to the client; the rest is wrong in the same way
_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


@final
class Appended:
    """Where a batch went. *end_offset* must be committed before anyone is told."""

    __slots__ = ("append_time_ms", "base_offset", "end_offset")

    def __init__(self, base_offset: int, end_offset: int, append_time_ms: int) -> None:
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.append_time_ms = append_time_ms


@final
class Partition:
    """One partition, led by this node."""

    __slots__ = ("_ordinary", "high_watermark", "index", "leader_epoch", "log", "topic")

    def __init__(self, topic: str, index: int, log: Log, leader_epoch: int = 0) -> None:
        self.topic = topic
        self.index = index
        self.log = log
        self.leader_epoch = leader_epoch
        # All that recovery kept was checked and synced by it.
        self.high_watermark = log.end_offset
        self._ordinary: LogConfig | None = None  # the last that asks nothing of a batch

    @property
    def last_stable_offset(self) -> int:
        """No transaction is undecided below this offset, and none ever will be."""
        first = self.log.first_unstable_offset
        return self.high_watermark if first is None else min(first, self.high_watermark)

    def append(self, records: memoryview, now_ms: int) -> Appended:
        """Check the one batch in *records*, stamp it and write it to the log.

        A batch that an idempotent producer has sent before is not written again:
        the answer is where it went the first time. That a transactional batch
        belongs to a transaction under way is for the caller to know.
        """
        log = self.log
        if log.offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{log.name} is offline")
        batch = Batch(records)
        self._check_size(batch)
        batch.check()
        batch.check_from_client()
        if batch.is_transactional and batch.producer_id < 0:
            raise Refused(ErrorCode.INVALID_RECORD, "a transactional batch of no producer")
        if batch.producer_id >= 0:
            earlier = log.producers.check(batch)
            if earlier is not None:
                last_offset = earlier.base_offset + batch.last_offset_delta
                return Appended(earlier.base_offset, last_offset + 1, earlier.append_time_ms)
        return self._write(self._prepared(batch, now_ms), now_ms)

    def append_run(
        self, joiner: Joiner, frames: Frames, producer: tuple[int, int] | None, now_ms: int
    ) -> Run | None:
        """Write all ordinary batches of *frames* from the first on; None if each must be looked at by itself.

        They are of nobody, or of the *producer* of that id and epoch.
        """
        log = self.log
        place = self.place(now_ms)
        sender = NOBODY if producer is None else log.producers.sender(*producer)
        if place is None or sender is None:
            return None
        return log.append_run(joiner, frames, place, sender)

    def place(self, now_ms: int) -> Place | None:
        """Where ordinary batches may go now; None if each must be looked at by itself. See `Log.place`."""
        log = self.log
        config = log.config
        if config is not self._ordinary:
            if not _is_ordinary(config):
                return None
            self._ordinary = config
        latest_ms = now_ms + config.message_timestamp_after_max_ms
        return log.place(self.leader_epoch, now_ms, latest_ms if latest_ms < _INT64_MAX else _INT64_MAX)

    def turned_away(self, records: memoryview, now_ms: int) -> None:
        """The batch in *records* cannot be taken now, and will come again.

        If it is its producer's first, what the producer has sent behind it must
        not be taken for the first instead.
        """
        batch = Batch(records)
        if batch.producer_id >= 0 and batch.base_sequence == 0:
            self.log.producers.expect(batch.producer_id, batch.producer_epoch, now_ms)

    def append_own(self, records: bytearray, now_ms: int) -> Appended:
        """Write a batch that we built ourselves, and so need not check."""
        return self._write(Batch(memoryview(records)), now_ms)

    def append_marker(
        self, marker: Marker, producer_id: int, producer_epoch: int, coordinator_epoch: int, now_ms: int
    ) -> Appended:
        """End the transaction of this producer here, if it has one open; the marker is written anyway."""
        log = self.log
        if log.offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{log.name} is offline")
        log.producers.check_marker(producer_id, producer_epoch, coordinator_epoch)
        data = build_marker(
            marker,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            now_ms=now_ms,
        )
        return self._write(Batch(memoryview(data)), now_ms)

    def in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer, in this very epoch, has a transaction open here."""
        return self.log.producers.in_transaction(producer_id, producer_epoch)

    def producers_described(self) -> list[Described]:
        """All producers that are remembered here."""
        return self.log.producers.described()

    def read(self, offset: int, max_bytes: int, committed_only: bool = False) -> Slice | None:
        """Committed batches from *offset*; None if there is none yet.

        With *committed_only*, those of undecided transactions and what lies
        behind them do not count as committed.
        """
        log = self.log
        if log.offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{log.name} is offline")
        limit = self.limit(committed_only)
        if offset >= limit:
            if offset > log.end_offset:
                raise self._out_of_range(offset)
            return None
        if offset < log.start_offset:
            raise self._out_of_range(offset)
        return log.read(offset, max_bytes, limit)

    def limit(self, committed_only: bool) -> int:
        """How far a reader sees."""
        return self.last_stable_offset if committed_only else self.high_watermark

    def aborted(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The transactions of which a reader of committed records must leave out what it finds."""
        return self.log.aborted(start_offset, end_offset)

    def check_in_sync(self) -> None:
        """Refuse a write that more replicas must have than there are: this node is the only one."""
        needed = self.log.config.min_insync_replicas
        if needed > 1:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"{self.log.name} has 1 replica; min.insync.replicas={needed}"
            )

    def check_epoch(self, epoch: int) -> None:
        """Refuse a client whose view of who leads is not ours; -1 means it has none."""
        if epoch < 0 or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"epoch {epoch} is over, now {self.leader_epoch}")
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"epoch {epoch} is not known, now {self.leader_epoch}")

    def commit(self) -> bool:
        """Move the high watermark as far as the log is safe; whether it moved."""
        log = self.log
        safe_offset = log.safe_offset
        if safe_offset <= self.high_watermark:
            return False
        self.high_watermark = safe_offset
        log.settle(safe_offset)
        return True

    def delete_before(self, offset: int) -> int:
        """Give up all records below *offset* (-1: all that is committed); return the new first offset."""
        if offset == -1:
            offset = self.high_watermark
        if not self.log.config.deletes:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"{self.topic} is compacted, not deleted from")
        if offset < 0 or offset > self.high_watermark:
            raise self._out_of_range(offset)
        if offset > self.log.start_offset:
            self.log.delete_before(offset)
        return self.log.start_offset

    def _prepared(self, batch: Batch, now_ms: int) -> Batch:
        """*batch* as this topic's configs want it."""
        config = self.log.config
        if config.message_timestamp_type == "LogAppendTime":
            batch.stamp_append_time(now_ms)
        else:
            self._check_timestamps(batch, now_ms)
        codec = _CODECS.get(config.compression_type, batch.codec)
        if config.compacts or codec != batch.codec:
            verify_records(batch, max_bytes=self._decompressed_max(), need_keys=config.compacts)
        if codec != batch.codec:
            batch = Batch(memoryview(recompress(batch, codec, self._decompressed_max())))
            self._check_size(batch)
        return batch

    def _check_size(self, batch: Batch) -> None:
        config = self.log.config
        if batch.size > config.max_message_bytes:
            raise Refused(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch of {batch.size} bytes; {self.log.name} takes {config.max_message_bytes}",
            )
        if batch.size > config.segment_bytes:
            raise Refused(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"a batch of {batch.size} bytes; segments hold {config.segment_bytes}",
            )

    def _check_timestamps(self, batch: Batch, now_ms: int) -> None:
        config = self.log.config
        latest = now_ms + config.message_timestamp_after_max_ms
        unbounded = config.message_timestamp_before_max_ms == _INT64_MAX
        if batch.max_timestamp_ms <= latest and unbounded:
            return
        # The header tells the latest time only: whatever else is limited, each record must be asked.
        earliest = 0 if unbounded else now_ms - config.message_timestamp_before_max_ms
        wrong = (
            (index, f"its time, {record.timestamp_ms}, is not within {earliest} to {latest}")
            for index, record in enumerate(read(batch, max_bytes=self._decompressed_max()))
            if record.timestamp_ms > latest or (record.timestamp_ms < earliest and not unbounded)
        )
        errors = tuple(islice(wrong, _ERRORS_MAX))
        # A header that claims a later time than its records have would spoil every look-up by time.
        if errors or batch.max_timestamp_ms > latest:
            raise InvalidRecords(
                ErrorCode.INVALID_TIMESTAMP, "a record's time is too far from the broker's", errors
            )

    def _decompressed_max(self) -> int:
        return min(self.log.config.max_message_bytes * 20, _DECOMPRESSED_MAX)

    def _write(self, batch: Batch, now_ms: int) -> Appended:
        log = self.log
        base_offset = log.end_offset
        batch.stamp(base_offset, self.leader_epoch)
        log.append(batch, now_ms)
        return Appended(base_offset, log.end_offset, now_ms if batch.log_append_time else -1)

    def _out_of_range(self, offset: int) -> Refused:
        return Refused(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{offset} is not within {self.log.start_offset} to {self.high_watermark} of {self.log.name}",
        )


def _is_ordinary(config: LogConfig) -> bool:
    """Whether batches may be appended by their headers alone, whatever acks are asked for."""
    return (
        config.min_insync_replicas <= 1
        and not config.compacts
        and config.compression_type == "producer"
        and config.message_timestamp_type == "CreateTime"
        and config.message_timestamp_before_max_ms == _INT64_MAX
    )
