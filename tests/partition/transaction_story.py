"""Producers and their transactions in one partition, told as steps and remembered as a list.

The list says what every reader must see; whatever the disk does and wherever
the log is cut, the partition must agree with what is left of the list.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.storage.helpers import ID, NOW, TOPIC, open_store

from millstream.client.isolation import visible
from millstream.partition.partition import Partition
from millstream.records.batch import Batch, split
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker
from millstream.records.read import read
from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.log import Sync
from millstream.storage.producers import Producers
from millstream.storage.store import Store
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction

Step = tuple[str, Any]
CONFIG = LogConfig(segment_bytes=1024, index_interval_bytes=150, file_delete_delay_ms=0)
PRODUCERS = st.integers(0, 2)

WRITES: st.SearchStrategy[Step] = st.tuples(
    st.just("write"), st.tuples(PRODUCERS, st.booleans(), st.integers(1, 3), st.integers(0, 150))
)
ENDS: st.SearchStrategy[Step] = st.tuples(
    st.just("end"), st.tuples(PRODUCERS, st.sampled_from(Marker), st.booleans())
)
SELDOM: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("checkpoint"), st.none()),
    st.tuples(st.just("delete"), st.floats(0, 1)),
    st.tuples(st.just("truncate"), st.floats(0, 1)),
    st.tuples(st.just("spoil"), st.sampled_from(["garbage", "torn", "other"])),
    st.tuples(st.just("stop"), st.booleans()),
    st.tuples(st.just("kill"), st.none()),
    st.tuples(st.just("crash"), st.none()),
)
STEPS: st.SearchStrategy[Step] = st.one_of(
    WRITES,
    WRITES,
    WRITES,
    ENDS,
    ENDS,
    st.tuples(st.just("plain"), st.integers(0, 300)),
    st.tuples(st.just("sync"), st.none()),
    st.tuples(st.just("begin_sync"), st.none()),
    st.tuples(st.just("roll"), st.none()),
    SELDOM,
)


class Transaction(NamedTuple):
    producer: int
    first: int
    marker_at: int | None
    marker: Marker | None


class Story:
    """The partition, and beside it all that it was ever told."""

    config = CONFIG

    def __init__(self, sim: SimDisk) -> None:
        self.sim = sim
        self.batches: list[Batch] = []
        self.ends: dict[int, Marker] = {}  # what the marker at an offset says
        self.pending: Sync | None = None
        self.was_cut = False  # whether the power went on the way
        self.store: Store
        self.it: Partition
        self._open()

    def run(self, steps: list[Step], cut_after: int | None = None, end: str = "crash") -> None:
        """Take the steps; then, or after so many changes to the disk, end, and find out what is left."""
        self.sim.cut_after = cut_after
        self.was_cut = False
        try:
            for name, argument in steps:
                getattr(self, f"_{name}")(argument)
                self.check()
        except PowerCut:
            self.was_cut = True
        self.sim.cut_after = None
        getattr(self, f"_{end}")(None)

    # What must be so

    def check(self) -> None:
        log = self.it.log
        assert log.failure is None, log.failure
        assert self.it.last_stable_offset == self.stable_offset()
        start, end = log.start_offset, log.end_offset
        ended = self._aborted()
        for first, last in ((start, end), (start, (start + end) // 2), ((start + end) // 2, end)):
            found = [each[:3] for each in self.it.aborted(first, last)]
            assert len(found) == len(set(found))
            assert self._within(found, first, last) == self._within(ended, first, last)
        for offset, max_bytes in ((start, 10_000), ((start + self.it.high_watermark) // 2, 300)):
            assert self.seen(offset, max_bytes, True) == self._expected(offset, self.stable_offset(), ended)
            assert self.seen(offset, max_bytes, False) == self._expected(
                offset, self.it.high_watermark, set()
            )
        producers = Producers()
        for batch in self.batches:
            producers.apply(batch, NOW)
        assert log.producers.known() == producers.known()
        assert log.producers.open_transactions() == producers.open_transactions()

    def transactions(self) -> list[Transaction]:
        """All that ever began, by the list."""
        open_: dict[int, int] = {}
        found = []
        for batch in self.batches:
            marker = self.ends.get(batch.base_offset)
            if marker is not None:
                if batch.producer_id in open_:
                    first = open_.pop(batch.producer_id)
                    found.append(Transaction(batch.producer_id, first, batch.base_offset, marker))
            elif batch.is_transactional:
                open_.setdefault(batch.producer_id, batch.base_offset)
        return found + [Transaction(id, first, None, None) for id, first in open_.items()]

    def stable_offset(self) -> int:
        high = self.it.high_watermark
        undecided = [
            max(each.first, self.it.log.start_offset)
            for each in self.transactions()
            if each.marker_at is None or each.marker_at >= high
        ]
        return min([high, *undecided])

    def seen(self, offset: int, max_bytes: int, committed_only: bool) -> list[int]:
        """The offsets of all records that a reader gets who begins at *offset*."""
        found: list[int] = []
        while (piece := self.it.read(offset, max_bytes, committed_only)) is not None:
            told = self.it.aborted(offset, piece.end_offset) if committed_only else []
            aborted = [FetchResponseAbortedTransaction(each.producer_id, each.first_offset) for each in told]
            for batch, shown in visible(split(piece.read()), aborted):
                if shown:
                    found += [each.offset for each in read(batch, max_bytes=1 << 20) if each.offset >= offset]
            assert batch.last_offset < piece.end_offset, (batch, piece.end_offset)
            offset = batch.last_offset + 1
        return found

    def _within(
        self, aborted: Iterable[tuple[int, int, int]], start: int, end: int
    ) -> set[tuple[int, int, int]]:
        """*aborted* by the first offset that is still there: an index made anew knows of no other."""
        oldest = self.it.log.segments[0].base_offset if self.it.log.segments else 0
        found = set()
        for id, first, last in aborted:
            theirs = [each.base_offset for each in self.batches if each.producer_id == id]
            left = [each for each in theirs if max(first, oldest) <= each < last]
            if left and last >= start and left[0] < end:
                found.add((id, left[0], last))
        return found

    def _aborted(self) -> set[tuple[int, int, int]]:
        return {
            (each.producer, each.first, each.marker_at)
            for each in self.transactions()
            if each.marker is Marker.ABORT and each.marker_at is not None
            if each.marker_at >= self.it.log.start_offset
        }

    def _expected(self, start: int, end: int, aborted: set[tuple[int, int, int]]) -> list[int]:
        offsets: list[int] = []
        for batch in self.batches:
            hidden = batch.is_transactional and any(
                id == batch.producer_id and first <= batch.base_offset < last for id, first, last in aborted
            )
            if not hidden and batch.base_offset not in self.ends:
                offsets += range(batch.base_offset, batch.last_offset + 1)
        return [offset for offset in offsets if start <= offset < end]

    # Steps

    def _write(self, argument: tuple[int, bool, int, int]) -> None:
        id, transactional, count, size = argument
        epoch, written = self.it.log.producers.known().get(id, (0, []))
        in_one = self.it.in_transaction(id, epoch)
        assert in_one == (id in self.it.log.producers.open_transactions())
        data = build(
            self._records(count, size),
            now_ms=NOW,
            producer_id=id,
            producer_epoch=epoch,
            base_sequence=written[-1][1] + 1 if written else 0,
            transactional=transactional or in_one,
        )
        self._append(data)

    def _plain(self, size: int) -> None:
        self._append(build(self._records(1, size), now_ms=NOW))

    def _records(self, count: int, size: int) -> list[NewRecord]:
        return [NewRecord(b"k", b"v" * size)] * count

    def _append(self, data: bytearray) -> None:
        batch = Batch(memoryview(data))
        batch.stamp(self.it.log.end_offset, 0)
        self.batches.append(batch)
        self.it.append(memoryview(data), NOW)

    def _end(self, argument: tuple[int, Marker, bool]) -> None:
        id, marker, bumps = argument[0], Marker(argument[1]), argument[2]
        epoch = self.it.log.producers.known().get(id, (0, []))[0] + bumps
        offset = self.it.log.end_offset
        self.ends[offset] = marker
        before = len(self.it.log.segments)
        self.it.append_marker(marker, id, epoch, 0, NOW)
        assert len(self.it.log.segments) - before in (0, 1)
        cursor = self.it.log.segments[-1].cursor(self.it.log.segments[-1].locate(offset))
        assert cursor.step()
        self.batches.append(Batch(bytes(cursor.batch().data)))

    def _begin_sync(self, _: None) -> None:
        """What is appended from here on is not in the next sync."""
        self.pending = self.it.log.unsynced()

    def _sync(self, _: None) -> None:
        sync, self.pending = self.pending or self.it.log.unsynced(), None
        if sync is not None:
            sync.run()
            self.it.log.synced(sync)
        self.it.commit()

    def _checkpoint(self, _: None) -> None:
        self.store.checkpoint()

    def _roll(self, _: None) -> None:
        self.it.log.roll_if_due(NOW + self.config.segment_ms)

    def _delete(self, part: float) -> None:
        start = self.it.log.start_offset
        self.it.delete_before(start + int(part * (self.it.high_watermark - start)))

    def _truncate(self, part: float) -> None:
        """As a follower does: never below what is committed."""
        self.pending = None
        high = self.it.high_watermark
        self.store.truncate(self.it.log, high + int(part * (self.it.log.end_offset - high)))
        self._forget()

    def _spoil(self, how: str) -> None:
        """Stop, and start again with an index of aborted transactions that is not the right one."""
        self.store.close()
        paths = [f"{TOPIC}-0/{name}" for name in self.sim.list(f"{TOPIC}-0")] if self.batches else []
        for path in paths:
            if path.endswith(".txnindex"):
                file = self.sim.open(path)
                if how == "torn":
                    file.truncate(file.size() - 1)
                elif how == "garbage":
                    file.append(b"?" * 34)
                else:
                    entry = file.read(0, 34)
                    file.truncate(0)
                    file.append(entry[:2] + (99).to_bytes(8, "big") + entry[10:])
        self.sim.kill()
        self._open()
        self.check()

    def _nothing(self, _: None) -> None:
        """No end yet."""

    def _stop(self, and_power_goes: bool) -> None:
        self.store.close()
        if and_power_goes:
            self.sim.crash()
        else:
            self.sim.kill()
        self._open()
        self.check()

    def _kill(self, _: None) -> None:
        self.sim.kill()
        self._open()
        self.check()

    def _crash(self, _: None) -> None:
        safe = self.it.high_watermark
        self.sim.crash()
        self._open()
        assert self.it.log.end_offset >= safe
        self.check()

    def _open(self) -> None:
        self.pending = None
        self.store = open_store(self.sim)
        self.it = Partition(TOPIC, 0, self.store.open_log(TOPIC, ID, 0, self.config, NOW, latest_epoch=0))
        self._forget()

    def _forget(self) -> None:
        end = self.it.log.end_offset
        self.batches = [batch for batch in self.batches if batch.last_offset < end]
        self.ends = {offset: marker for offset, marker in self.ends.items() if offset < end}
