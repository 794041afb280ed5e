"""Who holds which messages: deliveries of one log that are not acknowledged yet.

A ledger has an *end*: every record below it was given out. Of these, the ones
still held are listed, each with how often it was delivered; all others are
done with. In the words of Kafka's share groups a held record is Acquired
while a subscriber has it and Available while it waits to be delivered again,
and one that is not listed is Acknowledged or Archived. The list is bounded by
whoever gives records out, so it may be written down whole.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

NEVER_MS: Final = 1 << 62


class Delivery(NamedTuple):
    """A message to be delivered, and how often it will have been then."""

    offset: int
    deliveries: int


@final
class Held:
    """One message. Acquired by *holder* until *until_ms*, or available from then on if that is None."""

    __slots__ = ("deliveries", "holder", "until_ms")

    def __init__(self, deliveries: int, holder: int | None, until_ms: int) -> None:
        self.deliveries = deliveries
        self.holder = holder
        self.until_ms = until_ms


@final
class Ledger:
    """Told the time, touches nothing. Holders are numbers that the caller makes up."""

    def __init__(self, end: int, held: Mapping[int, int], limit: int) -> None:
        """*held* are offsets to be delivered again, with their deliveries; of these *limit* are too many."""
        self.end = end
        self.held: dict[int, Held] = {}
        self.dead: dict[int, None] = {}  # delivered as often as they may be: to be buried by the caller
        self._limit = limit
        self._in_flight: dict[int, dict[int, None]] = {}  # by holder, in the order of delivery
        self._ready: list[int] = []
        self._waiting: list[tuple[int, int]] = []
        for offset, deliveries in sorted(held.items()):
            self.held[offset] = Held(deliveries, None, 0)
            self._put_back(offset, self.held[offset], 0, 0)

    @property
    def ready(self) -> int:
        """How many could be delivered again at once, nearly: some may have gone."""
        return len(self._ready)

    def in_flight(self, holder: int) -> int:
        return len(self._in_flight.get(holder, ()))

    def give(self, holder: int, offsets: Iterable[int], next_offset: int, until_ms: int) -> None:
        """*holder* gets *offsets* for the first time; all others below *next_offset* hold nothing."""
        assert next_offset >= self.end, (next_offset, self.end)
        mine = self._in_flight.setdefault(holder, {})
        for offset in offsets:
            assert self.end <= offset < next_offset, (self.end, offset, next_offset)
            self.held[offset] = Held(1, holder, until_ms)
            mine[offset] = None
        self.end = next_offset

    def take(self, holder: int, most: int, until_ms: int) -> list[Delivery]:
        """Messages to be delivered again, to *holder*, the oldest first."""
        taken: list[Delivery] = []
        mine = self._in_flight.setdefault(holder, {})
        while self._ready and len(taken) < most:
            offset = heapq.heappop(self._ready)
            held = self.held.get(offset)
            if held is None or held.holder is not None:
                continue
            held.holder = holder
            held.until_ms = until_ms
            held.deliveries += 1
            mine[offset] = None
            taken.append(Delivery(offset, held.deliveries))
        return taken

    def ack(self, holder: int, offset: int) -> bool:
        """*holder* is done with *offset*; False if it does not hold that."""
        held = self.held.get(offset)
        if held is None or held.holder != holder:
            return False
        del self.held[offset]
        del self._in_flight[holder][offset]
        return True

    def nack(self, holder: int, offset: int, delay_ms: int, now_ms: int) -> bool:
        """*holder* gives *offset* back, to be delivered again in so long; False if it does not hold that."""
        held = self.held.get(offset)
        if held is None or held.holder != holder:
            return False
        del self._in_flight[holder][offset]
        self._put_back(offset, held, now_ms + delay_ms, now_ms)
        return True

    def release(self, holder: int, now_ms: int) -> None:
        """*holder* has gone: what it held is to be delivered again."""
        for offset in self._in_flight.pop(holder, ()):
            self._put_back(offset, self.held[offset], now_ms, now_ms)

    def expire(self, now_ms: int) -> int:
        """Take back what was held for too long, and make ready what has waited; how many changed hands."""
        late = 0
        for mine in self._in_flight.values():
            # Each holder has one time-out for all, so those delivered first are late first.
            expired = []
            for offset in mine:
                if self.held[offset].until_ms > now_ms:
                    break
                expired.append(offset)
            for offset in expired:
                del mine[offset]
                self._put_back(offset, self.held[offset], now_ms, now_ms)
            late += len(expired)
        while self._waiting and self._waiting[0][0] <= now_ms:
            _, offset = heapq.heappop(self._waiting)
            held = self.held.get(offset)
            if held is not None and held.holder is None and offset not in self.dead:
                heapq.heappush(self._ready, offset)
                late += 1
        return late

    def next_ms(self) -> int:
        """When `expire` will next have something to do."""
        soonest = self._waiting[0][0] if self._waiting else NEVER_MS
        for mine in self._in_flight.values():
            for offset in mine:
                soonest = min(soonest, self.held[offset].until_ms)
                break
        return soonest

    def remove(self, offset: int) -> bool:
        """The record at *offset* is no more, or has been buried; False if nobody was owed it."""
        held = self.held.pop(offset, None)
        self.dead.pop(offset, None)
        if held is None:
            return False
        if held.holder is not None:
            del self._in_flight[held.holder][offset]
        return True

    def spare(self, offset: int, delay_ms: int, now_ms: int) -> None:
        """A dead message could not be buried: it waits, and is given one more try."""
        if self.dead.pop(offset, 0) is None:
            self.held[offset].until_ms = now_ms + delay_ms
            heapq.heappush(self._waiting, (now_ms + delay_ms, offset))

    def _put_back(self, offset: int, held: Held, due_ms: int, now_ms: int) -> None:
        held.holder = None
        held.until_ms = due_ms
        if self._limit and held.deliveries >= self._limit:
            self.dead[offset] = None
        elif due_ms > now_ms:
            heapq.heappush(self._waiting, (due_ms, offset))
        else:
            heapq.heappush(self._ready, offset)
