"""One who reads a topic as a queue, as the broker sees it."""

import asyncio
from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol, final

from millstream.broker.queue_states import Kept
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.records.read import Record


class Message(NamedTuple):
    """A record for a subscriber, and how often it has been delivered with this time."""

    partition: int
    record: Record
    deliveries: int


class Receiver(ABC):
    """Whoever is at the other end of a subscription."""

    @property
    @abstractmethod
    def can_receive(self) -> bool:
        """Whether more messages may be sent; when that changes, call `Subscription.wake`."""

    @abstractmethod
    def receive(self, messages: list[Message]) -> None: ...

    @abstractmethod
    def ended(self, refusal: Refused) -> None:
        """There will be no more messages."""


class Wish(NamedTuple):
    """What a subscriber asks for; None leaves a number to the settings."""

    topic: str
    group: str | None = None
    window: int | None = None
    timeout_ms: int | None = None
    from_latest: bool = False  # where nobody has read the topic in this way before


class Reading(Protocol):
    """One topic as one group reads it; *kept* are its queues, by partition."""

    kept: dict[int, Kept]

    def wake(self, subscription: "Subscription") -> None: ...

    def settled(self, subscription: "Subscription", kept: Kept) -> None: ...

    def given_back(self, kept: Kept, due_ms: int) -> None: ...

    def safe(self, partition: int) -> "asyncio.Future[None] | None": ...

    def leave(self, subscription: "Subscription") -> None: ...


@final
class Subscription:
    """One subscriber. To be closed when it goes, whatever it has said."""

    def __init__(
        self, number: int, session: Session, receiver: Receiver, window: int, timeout_ms: int
    ) -> None:
        self.number = number
        self.session = session
        self.receiver = receiver
        self.window = window
        self.timeout_ms = timeout_ms
        self.held = 0
        self.is_open = True
        self.rests = False
        self.reading: Reading

    @property
    def room(self) -> int:
        return self.window - self.held if not self.rests and self.receiver.can_receive else 0

    def wake(self) -> None:
        """The subscriber can take more."""
        if self.is_open:
            self.reading.wake(self)

    def ack(self, partition: int, offset: int) -> bool:
        """Done with a message, and `safe` tells when that is written; False if it does not hold it."""
        kept = self.reading.kept.get(partition)
        if kept is None or not self.is_open or not kept.queue.acked(self.number, offset):
            return False
        self.held -= 1
        self.reading.settled(self, kept)
        return True

    def nack(self, partition: int, offset: int, delay_ms: int) -> bool:
        """The subscriber gives a message back, for so long; False if it does not hold it."""
        kept = self.reading.kept.get(partition)
        time_ms = now_ms()
        if kept is None or not self.is_open or not kept.queue.nacked(self.number, offset, delay_ms, time_ms):
            return False
        self.held -= 1
        self.reading.given_back(kept, time_ms + delay_ms)
        return True

    def safe(self, partition: int) -> "asyncio.Future[None] | None":
        """Done once all that was acknowledged in *partition* is written; None if it is already."""
        return self.reading.safe(partition)

    def close(self) -> None:
        if self.is_open:
            self.reading.leave(self)


def now_ms() -> int:
    """For what must not jump when the clock is set."""
    return round(asyncio.get_running_loop().time() * 1000)
