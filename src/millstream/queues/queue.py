"""One partition as a queue: what its subscribers are still owed.

Two kinds. Of a *shared* queue, which has a name, each message goes to one of
the subscribers; what one leaves unacknowledged goes to any other. Of a queue
that is not shared each message goes to every subscriber there is; what one
leaves unacknowledged goes to the next that comes, since those already there
have had it. A message that comes while nobody is there waits for the first.

Decisions are applied as they are made; `saved` is what must outlive the
process. An acknowledgement is safe once a state of its *revision* or later is
written. Whatever a crash takes back is delivered again, never lost: what was
not acknowledged lies beyond the end that was written, or is in its list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from millstream.queues.ledger import NEVER_MS, Delivery, Ledger

UNBURIED_DELAY_MS: Final = 1_000


@final
@dataclass(frozen=True)
class Saved:
    """A queue as it is written: all below *end* is done with, but what is *held*: offset to deliveries."""

    end: int
    held: Mapping[int, int] = field(default_factory=dict)

    def cut(self, end: int) -> "Saved":
        """The same for a log that ends at *end*, and may have lost what it had beyond."""
        if end >= self.end:
            return self
        return Saved(end, {offset: count for offset, count in self.held.items() if offset < end})


@final
class Queue:
    """Told the time, touches nothing. Subscribers are numbers that the caller makes up."""

    def __init__(self, saved: Saved, *, shared: bool, limit: int = 0, max_held: int) -> None:
        """A message is dead after *limit* deliveries, 0 for never; at most *max_held* are held at once."""
        self.end = saved.end
        self.revision = 0
        self._max_held = max_held
        self._common = Ledger(saved.end, saved.held, limit) if shared else None
        self._ledgers: dict[int, Ledger] = {}
        self._timeouts_ms: dict[int, int] = {}
        # Of a queue that is not shared: what the next one gets, and for each message
        # that anybody is owed by how many, and how often it was delivered.
        self._left: dict[int, int] = {} if shared else dict(saved.held)
        self._owed: dict[int, list[int]] = {offset: [1, count] for offset, count in self._left.items()}

    @property
    def dead(self) -> list[int]:
        """Offsets of messages delivered as often as they may be, to be buried."""
        return [] if self._common is None else list(self._common.dead)

    @property
    def has_dead(self) -> bool:
        return self._common is not None and bool(self._common.dead)

    @property
    def room_left(self) -> int:
        """How many more messages may be held; less than none if those who lag hold many."""
        return self._max_held - len(self._owed if self._common is None else self._common.held)

    def in_flight(self, subscriber: int) -> int:
        """How many messages *subscriber* holds."""
        return self._ledgers[subscriber].in_flight(subscriber)

    def deliveries(self, offset: int) -> int:
        """How often a message of a shared queue was delivered that is still held."""
        assert self._common is not None
        return self._common.held[offset].deliveries

    def begun(self) -> None:
        """The queue is new and does not begin where the log does: that must be written."""
        self.revision += 1

    def joined(self, subscriber: int, timeout_ms: int = 0) -> None:
        """A subscriber has come; it has *timeout_ms* for each message, or with 0 all the time it likes."""
        assert subscriber not in self._ledgers, subscriber
        if self._common is not None:
            self._ledgers[subscriber] = self._common
        else:
            self._ledgers[subscriber] = Ledger(self.end, self._left, 0)
            self._left = {}
        self._timeouts_ms[subscriber] = timeout_ms

    def gone(self, subscriber: int, now_ms: int) -> None:
        """A subscriber has gone, with or without a word."""
        ledger = self._ledgers.pop(subscriber)
        del self._timeouts_ms[subscriber]
        if self._common is not None:
            ledger.release(subscriber, now_ms)
        else:
            for offset, held in ledger.held.items():
                if offset in self._left:
                    self._owed[offset][0] -= 1
                self._left[offset] = max(held.deliveries, self._left.get(offset, 0))
        self.revision += 1

    def position(self, subscriber: int) -> int:
        """Where records that are new to *subscriber* begin."""
        return self._ledgers[subscriber].end

    def room(self, subscriber: int) -> int:
        """How many offsets *subscriber* may be given from its position on."""
        if self._common is not None:
            return max(self.room_left, 0)
        # Who lags behind the others catches up, whatever they hold: it has bounds of its own.
        return max(self.room_left, 0) + self.end - self.position(subscriber)

    def ready(self, subscriber: int) -> bool:
        """Whether there may be messages to be delivered again to *subscriber*."""
        return self._ledgers[subscriber].ready > 0

    def given(self, subscriber: int, offsets: Iterable[int], next_offset: int, now_ms: int) -> None:
        """*subscriber* gets what is new to it: all that there is below *next_offset* is at *offsets*."""
        offsets = list(offsets)
        self._ledgers[subscriber].give(subscriber, offsets, next_offset, self._until_ms(subscriber, now_ms))
        self.end = max(self.end, next_offset)
        if self._common is None:
            for offset in offsets:
                owed = self._owed.setdefault(offset, [0, 1])
                owed[0] += 1

    def take(self, subscriber: int, most: int, now_ms: int) -> list[Delivery]:
        """Messages to be delivered again, to *subscriber*: up to *most*, the oldest first."""
        taken = self._ledgers[subscriber].take(subscriber, most, self._until_ms(subscriber, now_ms))
        if self._common is None:
            for offset, deliveries in taken:
                self._owed[offset][1] = max(self._owed[offset][1], deliveries)
        return taken

    def acked(self, subscriber: int, offset: int) -> bool:
        """*subscriber* is done with a message; False if it does not hold it."""
        if not self._ledgers[subscriber].ack(subscriber, offset):
            return False
        self._settle(offset)
        return True

    def nacked(self, subscriber: int, offset: int, delay_ms: int, now_ms: int) -> bool:
        """*subscriber* gives a message back for so long; False if it does not hold it."""
        if not self._ledgers[subscriber].nack(subscriber, offset, delay_ms, now_ms):
            return False
        self.revision += 1
        return True

    def missing(self, subscriber: int, offset: int) -> bool:
        """A message that *subscriber* holds is no longer in the log; False if it does not hold it by now."""
        return self.acked(subscriber, offset)

    def buried(self, offset: int) -> None:
        """A dead message is where it should be, or is no longer in the log."""
        assert self._common is not None
        if self._common.remove(offset):
            self.revision += 1

    def spared(self, offset: int, now_ms: int) -> None:
        """A dead message could not be buried: deliver it once more."""
        assert self._common is not None
        self._common.spare(offset, UNBURIED_DELAY_MS, now_ms)

    def tick(self, now_ms: int) -> bool:
        """Take back what was held for too long; whether more can be delivered now than before."""
        changed = sum(ledger.expire(now_ms) for ledger in self._distinct())
        self.revision += changed > 0
        return changed > 0

    def next_ms(self) -> int:
        """When `tick` will next have something to do."""
        return min((ledger.next_ms() for ledger in self._distinct()), default=NEVER_MS)

    def saved(self) -> Saved:
        if self._common is not None:
            return Saved(self.end, {o: held.deliveries for o, held in sorted(self._common.held.items())})
        return Saved(self.end, {offset: owed[1] for offset, owed in sorted(self._owed.items())})

    def _distinct(self) -> Iterable[Ledger]:
        return self._ledgers.values() if self._common is None else (self._common,)

    def _settle(self, offset: int) -> None:
        """One of those who were owed *offset* no longer is."""
        if self._common is not None:
            self.revision += 1
            return
        owed = self._owed[offset]
        owed[0] -= 1
        if not owed[0]:
            del self._owed[offset]
            self.revision += 1

    def _until_ms(self, subscriber: int, now_ms: int) -> int:
        timeout_ms = self._timeouts_ms[subscriber]
        return now_ms + timeout_ms if timeout_ms else NEVER_MS
