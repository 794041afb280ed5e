"""Transactions in a compacted partition, and beside it everything that was ever written.

Compaction may take out what was replaced or aborted, and nothing else: every
reader of committed records must learn of each key what the list says.
"""

from random import Random
from typing import Any

from hypothesis import strategies as st
from tests.partition.transaction_story import ENDS, WRITES, Story
from tests.storage.helpers import NOW, TOPIC

from millstream.client.isolation import visible
from millstream.records.batch import Batch, split
from millstream.records.build import NewRecord
from millstream.records.expiry import TTL_HEADER, is_expired
from millstream.records.read import Record, read
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction

HOUR = 3_600_000
Step = tuple[str, Any]

STEPS: st.SearchStrategy[Step] = st.one_of(
    WRITES,
    WRITES,
    WRITES,
    ENDS,
    ENDS,
    st.tuples(st.just("plain"), st.integers(0, 300)),
    st.tuples(st.just("sync"), st.none()),
    st.tuples(st.just("roll"), st.none()),
    st.tuples(st.just("compact"), st.sampled_from([0, 1000, 1 << 20])),
    st.tuples(st.just("compact"), st.just(1 << 20)),
    st.tuples(st.just("wait"), st.sampled_from([HOUR // 4, HOUR, 3 * HOUR])),
    st.one_of(
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("truncate"), st.floats(0, 1)),
        st.tuples(st.just("stop"), st.booleans()),
        st.tuples(st.just("kill"), st.none()),
        st.tuples(st.just("crash"), st.none()),
        st.tuples(st.just("lose"), st.none()),
    ),
)


class CompactedStory(Story):
    config = LogConfig(
        cleanup_policy=("compact",),
        segment_bytes=1024,
        index_interval_bytes=150,
        file_delete_delay_ms=0,
        min_cleanable_dirty_ratio=0.0,
        delete_retention_ms=HOUR,
    )

    def __init__(self, sim: SimDisk, random: Random) -> None:
        self.random = random
        self.now_ms = NOW
        super().__init__(sim)

    # What must be so

    def check(self) -> None:
        log = self.it.log
        assert log.failure is None, log.failure
        assert self.it.last_stable_offset == self.stable_offset()
        aborted = self._aborted()
        written = self._written(aborted)
        stable = self.stable_offset()
        left = self._read(log.start_offset, 10_000)
        self._check_left(left, [each for each in written if each.offset < stable])
        middle = (log.start_offset + stable) // 2
        assert self._read(middle, 300) == [each for each in left if each.offset >= middle]
        assert self._positions() == self._expected_positions()

    def _check_left(self, left: list[Record], written: list[Record]) -> None:
        """Of *written*, which nobody has aborted, the readers must see *left*, and need not see more."""
        offsets = [each.offset for each in left]
        assert offsets == sorted(set(offsets))
        by_offset = {each.offset: each for each in written}
        assert all(by_offset.get(each.offset) == each for each in left)
        last = {each.key: each for each in written}
        for each in last.values():
            may_go = each.value is None or is_expired(each, self.now_ms)
            assert each.offset in offsets or may_go, each
        cleaned = self.it.log.cleaned_offset
        keys = [each.key for each in left if each.offset < cleaned]
        assert len(keys) == len(set(keys))
        for each in left:
            if each.offset < cleaned:
                assert all(
                    later.offset <= each.offset or later.offset >= cleaned
                    for later in written
                    if later.key == each.key
                )
        expected = [each for each in written if each.offset >= cleaned]
        assert [each for each in left if each.offset >= cleaned] == expected

    def _written(self, aborted: set[tuple[int, int, int]]) -> list[Record]:
        """All records that were ever written and not aborted."""
        shown = set(self._expected(0, self.it.log.end_offset, aborted))
        found = []
        for batch in self.batches:
            if batch.base_offset not in self.ends:
                found += [each for each in read(batch, max_bytes=1 << 20) if each.offset in shown]
        return found

    def _read(self, offset: int, max_bytes: int) -> list[Record]:
        """All records that a reader of committed ones gets who begins at *offset*."""
        found: list[Record] = []
        while (piece := self.it.read(offset, max_bytes, True)) is not None:
            told = self.it.aborted(offset, piece.end_offset)
            aborted = [FetchResponseAbortedTransaction(each.producer_id, each.first_offset) for each in told]
            for batch, shown in visible(split(piece.read()), aborted):
                batch.check(allow_empty=True)
                if shown:
                    found += [each for each in read(batch, max_bytes=1 << 20) if each.offset >= offset]
            offset = batch.last_offset + 1
        return found

    def _positions(self) -> dict[int, tuple[int, int, int]]:
        """Epoch, next sequence and transaction of each producer."""
        return {
            each.producer_id: (each.epoch, each.last_sequence, each.transaction_start)
            for each in self.it.producers_described()
        }

    def _expected_positions(self) -> dict[int, tuple[int, int, int]]:
        found: dict[int, tuple[int, int, int]] = {}
        for batch in self.batches:
            id = batch.producer_id
            if id >= 0:
                epoch, sequence, start = found.get(id, (batch.producer_epoch, -1, -1))
                if epoch != batch.producer_epoch:
                    sequence = -1
                if batch.base_offset in self.ends:
                    start = -1
                else:
                    sequence = batch.last_sequence
                    if batch.is_transactional and start < 0:
                        start = batch.base_offset
                found[id] = (batch.producer_epoch, sequence, start)
        return found

    # Steps

    def _records(self, count: int, size: int) -> list[NewRecord]:
        return [self._record(size) for _ in range(count)]

    def _record(self, size: int) -> NewRecord:
        random = self.random
        key = random.choice([b"a", b"b", b"c", b"d", b"key" * 7])
        value = None if random.random() < 0.15 else random.randbytes(4) + b"v" * size
        ttl = ((TTL_HEADER, b"%d" % random.choice([0, HOUR, 2 * HOUR])),) if random.random() < 0.1 else ()
        return NewRecord(key, value, ttl, NOW)

    def _compact(self, budget: int) -> None:
        log = self.it.log
        cleaned = log.cleaned_offset
        compaction = log.compaction(self.now_ms, self.it.last_stable_offset, budget)
        if compaction is not None:
            compaction.run()
            log.compacted(compaction)
            assert log.cleaned_offset >= cleaned
            self._check_cleaned()

    def _check_cleaned(self) -> None:
        """Nothing of what was aborted is left, of whoever might ask, nor anything that has had its time."""
        log = self.it.log
        aborted = self._aborted()
        for segment in log.segments:
            if segment.base_offset < log.cleaned_offset and segment is not log.segments[-1]:
                for each in segment.aborted.all() if segment.aborted is not None else ():
                    # A reader would else take what this producer wrote later for aborted.
                    marker = segment.cursor(segment.locate(each.last_offset))
                    assert marker.step()
                    assert (marker.last_offset, marker.producer_id) == (each.last_offset, each.producer_id)
                cursor = segment.cursor()
                while cursor.step():
                    self._check_batch(cursor.batch(), aborted)

    def _check_batch(self, batch: Batch, aborted: set[tuple[int, int, int]]) -> None:
        if batch.last_offset >= self.it.log.cleaned_offset or batch.base_offset in self.ends:
            return
        if batch.is_transactional and batch.record_count:
            id = batch.producer_id
            assert not any(id == each[0] and each[1] <= batch.base_offset < each[2] for each in aborted)
        for record in read(batch, max_bytes=1 << 20):
            assert not is_expired(record, self.now_ms)

    def _wait(self, ms: int) -> None:
        self.now_ms += ms

    def _lose(self, _: None) -> None:
        """The next life finds no snapshot: batches alone must tell who wrote what."""
        self.sim.kill()
        if self.sim.exists(f"{TOPIC}-0"):
            for name in self.sim.list(f"{TOPIC}-0"):
                if name.endswith(".snapshot"):
                    self.sim.remove(f"{TOPIC}-0/{name}")
        self._open()
        self.check()
