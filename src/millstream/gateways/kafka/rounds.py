"""Rounds: clients on lanes, served by native code while the loop has nothing else to do.

With one small request in flight, most of the time goes to the way from the loop to
the log and back, which is the same each time. A connection that is on a lane to one
partition, is brisk and waits for nothing is a *guest*, whom the loop does not listen
to. Native code does: it receives, checks, appends and answers as the long way would,
for half a millisecond at the most, and leaves when anybody else wants something.

Nothing is kept in two places. The end of a log is *lent* to a round, and what was
written there is noted in the log when the round is over, before anything else is
done. A log that must be synced before anybody is told is synced by the round, where
the loop would do it too. Where a waiting consumer stands between a write and its
answer, the round ends after the write, and answers when all that is done.
"""

import asyncio
import logging
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol, final

from millstream.broker.broker import Broker
from millstream.broker.produce import Synced
from millstream.broker.waiting import Hosted
from millstream.env.busy_poll import epoll_of
from millstream.env.clock import ticks_us
from millstream.gateways.kafka.lanes import Lane
from millstream.records.runs import NOBODY, Run, Sender
from millstream.wire.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from millstream.gateways.kafka import _native
else:
    try:
        from millstream.gateways.kafka import _native
    except ImportError:
        _native = None

log = logging.getLogger(__name__)

NATIVE: Final[ModuleType | None] = _native  # None where it was not built

_LIMIT_US: Final = 500
_MANY: Final = 8  # requests in a round
_SLOW: Final = 24
_SLOW_STEP: Final = 3  # for one who was slow, against one for each who was not
_PRODUCE: Final = ProduceRequest.KEY


class Guest(Protocol):
    """A connection, as far as rounds know it."""

    def given_back(self, data: bytes | None, unsent: bytes | None) -> None:
        """It is no guest any more: *data* is to be handled, and *unsent* comes before any other reply.

        Without *data*, nobody knows where its requests or its replies begin: it must go. Never raises.
        """
        ...


@final
class Rounds:
    """Of all connections of the doors that one broker is behind."""

    def __init__(self, broker: Broker, calls: dict[int, int], linger_us: int) -> None:
        """*calls* counts requests by API. After an answer the next is awaited for *linger_us*, awake."""
        self._broker = broker
        self.requests = 0  # taken so far
        self.brisk_us = 1000.0  # from an answer to the next request of anybody: beyond it they are slow
        self.brisk_requests = 16  # of one who is to be a guest, in a row, each that soon after an answer
        self._calls = calls
        self._linger_us = linger_us
        self.frame_bytes = _native.FRAME_BYTES  # of the largest request that they take
        self._native = _native.Rounds()
        self._loop = asyncio.get_running_loop()
        self._epoll = epoll_of(self._loop) or -1
        self._syncs = False  # whether the round was lent a log that must be synced
        self._has_readers = False  # or one that a consumer waits for
        self._answered_us = 0.0
        self._lingers = False
        self._slow = 0  # more the more often a guest was not brisk, lately
        self._loop.add_reader(self._native.fileno(), self._ready)

    @classmethod
    def of(cls, broker: Broker, calls: dict[int, int], linger_us: int) -> "Rounds | None":
        """None where there is no native code, or the loop is a simulated one."""
        if _native is None or epoll_of(asyncio.get_running_loop()) is None:
            return None
        return cls(broker, calls, linger_us)

    @property
    def guests(self) -> int:
        """How many there are."""
        return self._native.guests

    @property
    def is_brisk(self) -> bool:
        """Whether a guest was answered just now."""
        return ticks_us() - self._answered_us < self.brisk_us

    def fileno(self) -> int:
        """What tells that a guest has sent something."""
        return self._native.fileno()

    def close(self) -> None:
        self._loop.remove_reader(self._native.fileno())
        self._native.close()

    def admit(self, descriptor: int, guest: Guest, hosted: Hosted, lane: Lane, begun: bytes) -> bool:
        """Look after *guest*, which sends to *hosted* on *lane*, until it is dismissed or given back.

        It may have *begun* to send a frame. False if that is too large for rounds.
        """
        id, epoch = lane.producer or NOBODY[:2]
        index = hosted.partition.index
        return self._native.admit(descriptor, guest, hosted, index, lane.alike, id, epoch, begun)

    def dismiss(self, descriptor: int) -> bytes:
        """Look after a guest no more; what it has begun to send."""
        return self._native.dismiss(descriptor)

    def look(self, descriptor: int) -> tuple[int, int]:
        """How often a guest has sent something since the last look, and for how long it is sending a frame.

        That is in microseconds, 0 if it has begun none.
        """
        return self._native.look(descriptor)

    def _ready(self) -> None:
        """A guest has sent something."""
        after_us = ticks_us() - self._answered_us
        requests = self._make(0)
        if not requests:
            return
        # A round of one request, for which a consumer waits, has saved nothing. One of many has, and if it
        # comes late that may be ours: the loop had others to see to.
        is_brisk = requests >= _MANY or (
            after_us < self.brisk_us and not (requests == 1 and self._has_readers)
        )
        self._slow = max(self._slow - 1, 0) if is_brisk else self._slow + _SLOW_STEP
        if self._slow >= _SLOW:
            self._release()
        elif after_us < self._linger_us and not self._lingers:
            self._lingers = True
            self._loop.call_soon(self._linger)  # behind what others wait for

    def _release(self) -> None:
        """Let the loop listen to all guests again: where it sleeps in between it is quicker at that."""
        self._slow = 0
        for guest, data, unsent in self._native.release():
            guest.given_back(data, unsent)

    def _linger(self) -> None:
        """Wait for the next request awake, as long as they come that soon."""
        self._lingers = self._make(self._linger_us) > 0
        if self._lingers:
            self._loop.call_soon(self._linger)

    def _make(self, idle_us: int) -> int:
        """Make a round, until there is nothing to do for *idle_us*; how many requests it took."""
        native = self._native
        self._syncs = self._has_readers = False
        try:
            taken, error, failed, requests, synced = native.go(
                self._epoll, _LIMIT_US, idle_us, self._lend, self._sequence
            )
            is_safe = self._note(taken, None if failed is None or error is None else (failed, error), synced)
        except Exception:
            # What is in the logs may have been answered, and they do not know of it: the next start will.
            log.exception("a round was lost")
            self._broker.give_up("a round was lost; recovery will find what it wrote")
            requests, is_safe = 0, False
        self._calls[_PRODUCE] += requests
        self.requests += requests
        for guest, data, unsent in native.answer() if is_safe else native.forget():
            guest.given_back(data, unsent)
        if requests:
            self._answered_us = ticks_us()
        return requests

    def _note(
        self,
        taken: "list[_native.Taken]",
        failed: tuple[Hosted, OSError] | None,
        synced: "_native.Synced | None",
    ) -> bool:
        """Tell the logs what was written; whether it is committed, so that whoever waits may be answered."""
        if not taken and failed is None:
            return True
        runs = [
            (hosted, Run(0, (), size, batches, base, end, newest, notes, b"", Sender(*sender), lasts))
            for hosted, sender, base, end, size, batches, newest, notes, lasts in taken
        ]
        self._broker.note_runs(runs, failed, None if synced is None else Synced(*synced))
        return all(run.end_offset <= hosted.partition.high_watermark for hosted, run in runs)

    def _lend(self, hosted: Hosted) -> "_native.Place | None":
        lent = self._broker.lend(hosted)
        if lent is None or (lent.syncs and self._syncs):
            return None  # two syncs one after the other would take longer than side by side
        self._syncs |= lent.syncs
        self._has_readers |= hosted.has_readers_waiting
        file, place, log_start_offset, syncs = lent
        return (
            file,
            place.limits,
            log_start_offset,
            place.base_offset,
            place.position,
            place.indexed_at,
            place.newest_ms,
            place.latest_ms,
            syncs,
            hosted.is_awaited,
        )

    def _sequence(self, hosted: Hosted, producer_id: int, epoch: int) -> int:
        """What the producer must send next; -1 if it takes more than that to tell."""
        sender = hosted.partition.log.producers.sender(producer_id, epoch)
        return -1 if sender is None else sender.sequence
