"""Queues' states, kept in `__queue_state`: found again at start, written when they have changed.

A queue has at most one write under way; what changes meanwhile goes into the
next. So the busier a queue is, the more acknowledgements share a write.
"""

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from typing import Final, final

from millstream.broker.change_log import ChangeLog, Logged
from millstream.errors import ErrorCode, Refused
from millstream.queues.changes import QueueKey, decode_key, decode_value, encode_key, encode_value
from millstream.queues.queue import Queue, Saved

log = logging.getLogger(__name__)

_PARTITION: Final = 0
_RECORDS_A_SLICE: Final = 200  # replayed in one go before others get the loop


@final
class Kept:
    """A queue and how much of it is written."""

    __slots__ = ("key", "queue", "safe_revision", "scheduled", "timer", "timer_ms", "waiting", "writing")

    def __init__(self, key: QueueKey, queue: Queue) -> None:
        self.key = key
        self.queue = queue
        self.safe_revision = 0
        self.scheduled = False
        self.writing = False
        self.timer: asyncio.TimerHandle | None = None
        self.timer_ms = 0
        self.waiting: list[tuple[int, asyncio.Future[None]]] = []


@final
class QueueStates:
    def __init__(self, change_log: ChangeLog) -> None:
        self._log = change_log
        self._saved: dict[QueueKey, Saved] = {}  # of queues that nobody has asked for yet
        self._kept: dict[QueueKey, Kept] = {}
        self._loading: asyncio.Task[None] | None = None
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._kept) + len(self._saved)

    def start(self, topic_ids: Iterable[bytes]) -> None:
        """Read all that was written, while other work goes on; what is of no topic any more is forgotten."""
        self._loading = asyncio.create_task(self._load(set(topic_ids)))

    async def ready(self) -> None:
        """Return once all is read; Refused if it cannot be."""
        assert self._loading is not None, "not started"
        try:
            await asyncio.shield(self._loading)
        except OSError as error:
            raise Refused(
                ErrorCode.KAFKA_STORAGE_ERROR, f"queues cannot be read: {error.strerror}"
            ) from error

    def stop(self) -> None:
        """Write what has changed for the last time."""
        for kept in self._kept.values():
            if kept.queue.revision > kept.safe_revision and not kept.writing:
                self._write(kept)
            if kept.timer is not None:
                kept.timer.cancel()
        self._is_stopped = True
        if self._loading is not None:
            self._loading.cancel()

    def find(self, key: QueueKey) -> Kept | None:
        """The queue, if somebody has asked for it."""
        return self._kept.get(key)

    def knows(self, key: QueueKey) -> bool:
        """Whether there is such a queue."""
        return key in self._kept or key in self._saved

    def saved(self, key: QueueKey) -> Saved | None:
        """A queue that nobody has asked for yet, as it was written; None if it never was."""
        return self._saved.get(key)

    def keep(self, key: QueueKey, queue: Queue) -> Kept:
        """See to it that *queue* is written from now on."""
        self._saved.pop(key, None)
        kept = self._kept[key] = Kept(key, queue)
        return kept

    def changed(self, kept: Kept) -> None:
        """Write *kept* soon, with whatever else changes in this turn of the loop."""
        if not kept.scheduled and not self._is_stopped and kept.queue.revision > kept.safe_revision:
            kept.scheduled = True
            asyncio.get_running_loop().call_soon(self._write, kept)

    def safe(self, kept: Kept) -> "asyncio.Future[None] | None":
        """Done once *kept* as it is now is written; None if it is already. Fails with Refused."""
        if kept.queue.revision <= kept.safe_revision:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._is_stopped:
            future.set_exception(Refused(ErrorCode.NOT_COORDINATOR, "the broker is shutting down"))
            future.exception()
            return future
        kept.waiting.append((kept.queue.revision, future))
        self.changed(kept)
        return future

    def forget_strangers(self, topic_ids: Iterable[bytes]) -> None:
        """There are only topics with *topic_ids*: others were deleted, and their queues with them."""
        known = set(topic_ids)
        gone = [key for key in (*self._kept, *self._saved) if key.topic_id not in known]
        for key in gone:
            self._saved.pop(key, None)
            kept = self._kept.pop(key, None)
            if kept is not None and kept.timer is not None:
                kept.timer.cancel()
        self._erase(gone)

    def _write(self, kept: Kept) -> None:
        kept.scheduled = False
        if kept.writing or self._is_stopped or kept.key not in self._kept:
            return
        revision = kept.queue.revision
        try:
            done = self._log.append(_PARTITION, [(encode_key(kept.key), encode_value(kept.queue.saved()))])
        except Refused as refusal:
            log.warning("queue not written group=%r reason=%s", kept.key.group, refusal)
            self._tell(kept, revision, refusal)
            return
        kept.writing = True
        done.add_done_callback(partial(self._written, kept, revision))

    def _written(self, kept: Kept, revision: int, done: "asyncio.Future[None]") -> None:
        kept.writing = False
        error = done.exception()
        if error is None:
            kept.safe_revision = revision
        self._tell(kept, revision, error)
        if error is None:
            self.changed(kept)  # what came while it was being written

    def _tell(self, kept: Kept, revision: int, error: BaseException | None) -> None:
        told = [future for needed, future in kept.waiting if needed <= revision]
        kept.waiting = [each for each in kept.waiting if each[0] > revision]
        for future in told:
            if future.done():
                continue  # who asked has gone
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(
                    Refused(error.code, error.detail) if isinstance(error, Refused) else error
                )
                future.exception()  # seen: whoever asked may have gone

    async def _load(self, topic_ids: set[bytes]) -> None:
        strangers: dict[QueueKey, None] = {}
        for count, found in enumerate(self._log.replay(_PARTITION), 1):
            assert isinstance(found, Logged), "queues are written in no transaction"
            try:
                key = decode_key(found.key)
                if found.value is None:
                    self._saved.pop(key, None)
                    strangers.pop(key, None)
                elif key.topic_id in topic_ids:
                    self._saved[key] = decode_value(found.value)
                else:
                    strangers[key] = None
            except Refused as refusal:
                log.error("record skipped topic=__queue_state reason=%s", refusal)
            if count % _RECORDS_A_SLICE == 0:
                await asyncio.sleep(0)
        self._erase(strangers)

    def _erase(self, keys: Iterable[QueueKey]) -> None:
        erased: list[tuple[bytes, bytes | None]] = [(encode_key(key), None) for key in keys]
        if erased and not self._is_stopped:
            try:
                self._log.append(_PARTITION, erased)
            except Refused as refusal:
                log.warning("queues not erased reason=%s", refusal)  # the next start will see to it
