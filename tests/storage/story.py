"""A log's life as a list of steps, and what must be true of it whatever the disk does.

Steps are drawn by hypothesis. Wherever the power goes, the next life must find
every batch that was safe, nothing that was never written, and the same
producers and epochs as if it had never stopped.
"""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.storage.helpers import NOW, contents, make_batch, open_log, open_store, sync

from millstream.env.disk import Disk
from millstream.records.batch import Batch
from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.producers import Producers
from millstream.storage.store import Store

Step = tuple[str, Any]
CONFIG = LogConfig(segment_bytes=1024, index_interval_bytes=150, file_delete_delay_ms=0)

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("append"), st.tuples(st.integers(0, 400), st.integers(-1, 2), st.integers(1, 3))),
    st.tuples(st.just("append"), st.tuples(st.integers(0, 60), st.integers(-1, 2), st.integers(1, 3))),
    st.tuples(st.just("sync"), st.none()),
    st.tuples(st.just("checkpoint"), st.none()),
    st.tuples(st.just("roll"), st.none()),
    st.tuples(st.just("delete"), st.floats(0, 1)),
    st.tuples(st.just("expire"), st.floats(0, 1)),
    st.tuples(st.just("truncate"), st.floats(0, 1)),
    st.tuples(st.just("epoch"), st.none()),
    st.tuples(st.just("sweep"), st.none()),
    st.tuples(st.just("stop"), st.none()),
    st.tuples(st.just("kill"), st.none()),
    st.tuples(st.just("crash"), st.none()),
)


class Story:
    """The log, and beside it all that it was ever told."""

    def __init__(self, sim: SimDisk, disk: Disk | None = None) -> None:
        self.sim = sim
        self.disk = sim if disk is None else disk
        self.batches: list[bytes] = []  # all that was appended, from offset 0, less what was truncated
        self.offsets: list[int] = []  # the offset after each
        self.epochs: list[int] = []
        self.safe = 0  # the offset up to which the log has promised to keep everything
        self.epoch = 0
        self.store: Store
        self.log: Log
        self._open()

    def run(self, steps: list[Step], cut_after: int | None = None, end: str = "crash") -> None:
        """Take the steps; then, or after so many changes to the disk, end, and find out what is left."""
        self.sim.cut_after = cut_after
        try:
            for name, argument in steps:
                getattr(self, f"_{name}")(argument)
        except PowerCut:
            pass
        if end == "crash":
            self._crash(None)
        else:
            self.sim.kill()
            self._open()
            self.check()

    def check(self) -> None:
        """All that was promised is there, and all that is there was written."""
        log = self.log
        assert log.failure is None, log.failure
        assert self.safe <= log.end_offset
        assert log.end_offset in (0, log.start_offset, *self.offsets)
        assert log.synced_offset == log.end_offset
        kept = self._between(log.start_offset, log.end_offset)
        assert contents(log) == [self.batches[index] for index in kept]
        for index in kept:
            assert log.epochs.epoch_of(self.offsets[index] - 1) == self.epochs[index]
        assert log.producers.known() == self._producers(log.end_offset).known()

    def _between(self, start: int, end: int) -> list[int]:
        return [index for index, offset in enumerate(self.offsets) if start < offset <= end]

    def _producers(self, end: int) -> Producers:
        producers = Producers()
        for index in self._between(0, end):
            producers.apply(Batch(self.batches[index]), NOW)
        return producers

    def _open(self) -> None:
        self.store = open_store(self.disk)
        self.log = open_log(self.store, CONFIG)
        self.safe = max(self.safe, self.log.end_offset)
        self._forget_from(self.log.end_offset)

    def _forget_from(self, offset: int) -> None:
        keep = len([end for end in self.offsets if end <= offset])
        del self.batches[keep:], self.offsets[keep:], self.epochs[keep:]

    # Steps

    def _append(self, argument: tuple[int, int, int]) -> None:
        size, producer, records = argument
        known = self.log.producers.known().get(producer)
        sequence = 0 if known is None else known[1][-1][1] + 1
        batch = make_batch(
            self.log.end_offset,
            [b"v" * size] * records,
            epoch=self.epoch,
            producer=(-1, -1, -1) if producer < 0 else (producer, 0, sequence),
        )
        self.batches.append(bytes(batch.data))
        self.offsets.append(batch.last_offset + 1)
        self.epochs.append(self.epoch)
        self.log.append(batch, NOW)

    def _sync(self, _: None) -> None:
        sync(self.log)
        self.safe = max(self.safe, self.log.synced_offset)

    def _checkpoint(self, _: None) -> None:
        self.store.checkpoint()

    def _roll(self, _: None) -> None:
        self.log.roll_if_due(NOW + CONFIG.segment_ms)

    def _epoch(self, _: None) -> None:
        self.epoch += 1

    def _delete(self, part: float) -> None:
        offset = self.log.start_offset + int(part * (self.safe - self.log.start_offset))
        self.log.delete_before(offset)

    def _expire(self, part: float) -> None:
        self.log.config = replace(CONFIG, retention_bytes=int(part * 3000))  # of a log of some kilobytes
        self.log.expire(NOW, self.safe)

    def _truncate(self, part: float) -> None:
        start, end = self.log.start_offset, self.log.end_offset
        offset = start + int(part * (end - start))
        whole = max([each for each in (0, *self.offsets) if each <= offset])
        self.safe = min(self.safe, whole)
        self.store.truncate(self.log, offset)
        self._forget_from(self.log.end_offset)

    def _sweep(self, _: None) -> None:
        sweep = self.store.sweep(NOW)
        if sweep is not None:
            sweep.run()

    def _stop(self, _: None) -> None:
        end, start = self.log.end_offset, self.log.start_offset
        self.store.close()
        self.sim.kill()
        self._open()
        assert (self.log.start_offset, self.log.end_offset) == (start, end)
        self.check()

    def _kill(self, _: None) -> None:
        end = self.log.end_offset
        self.sim.kill()
        self._open()
        assert self.log.end_offset == end
        self.check()

    def _crash(self, _: None) -> None:
        self.sim.crash()
        safe = self.safe
        self._open()
        assert safe <= self.log.end_offset
        self.check()
