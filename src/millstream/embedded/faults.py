"""What a test may do to a broker to see how its own code takes it.

Every call takes effect before it returns, from any thread.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar, final

from millstream.embedded.moving import MovingClock, MovingLoop
from millstream.env.memory import MemoryDisk
from millstream.errors import ErrorCode
from millstream.gateways.kafka import faults as kafka
from millstream.gateways.kafka.faults import Delay, Fail, Fault, HangUp
from millstream.node.node import Node

T = TypeVar("T")

_STEPS: Final = 50  # that a jump is made in, at the most
_STEP_SECONDS: Final = 60.0  # of one step, at the least
_TURNS: Final = 5  # of the loop between two steps, for what is due


class Runs(Protocol):
    """Runs a function where the broker lives, and work on its loop."""

    def call(self, function: Callable[[], T], /) -> T: ...

    def run(self, work: Coroutine[Any, Any, T], /) -> "Future[T]": ...


@final
class Faults:
    """Of one broker. A planned fault is returned: *met* counts the requests that it has met so far."""

    def __init__(
        self,
        broker: Runs,
        node: Node,
        planned: kafka.Faults,
        clock: MovingClock,
        loop: MovingLoop,
        disk: MemoryDisk | None,
    ) -> None:
        self._broker = broker
        self._node = node
        self._planned = planned
        self._clock = clock
        self._loop = loop
        self._disk = disk
        self._capacity = 0 if disk is None else disk.capacity

    def fail_produces(
        self,
        times: int | None = 1,
        error: ErrorCode | str = ErrorCode.NOT_LEADER_OR_FOLLOWER,
        *,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """Answer the next *times* Produce requests with *error* and write nothing; None: until `clear`."""
        return self.fail("Produce", error, times, topic=topic, client_id=client_id)

    def delay_fetches(
        self, seconds: float, times: int | None = None, *, client_id: str | None = None
    ) -> Fault:
        """Answer fetches *seconds* late, until `clear` or so many *times*."""
        return self.delay("Fetch", seconds, times, client_id=client_id)

    def fail(
        self,
        api: str,
        error: ErrorCode | str,
        times: int | None = 1,
        *,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """Answer requests of *api*, by Kafka's name of it, with *error*, and do nothing of what they ask."""
        return self._plan(Fault(api, Fail(_code(error)), times, topic, client_id))

    def delay(
        self, api: str, seconds: float, times: int | None = None, *, client_id: str | None = None
    ) -> Fault:
        """Do what requests of *api* ask at once, in order, but answer *seconds* late."""
        return self._plan(Fault(api, Delay(seconds), times, None, client_id))

    def lose_replies(
        self, api: str = "Produce", times: int | None = 1, *, client_id: str | None = None
    ) -> Fault:
        """Do what is asked, then close the connection instead of answering.

        The client cannot know what became of it: does it write a record twice?
        """
        return self._plan(Fault(api, HangUp(done=True), times, None, client_id))

    def hang_up(self, api: str = "Produce", times: int | None = 1, *, client_id: str | None = None) -> Fault:
        """Close the connection when such a request comes, and do nothing of what it asks."""
        return self._plan(Fault(api, HangUp(done=False), times, None, client_id))

    def drop_connections(self, client_id: str | None = None) -> int:
        """Cut off every client now, or those that call themselves *client_id*; how many there were."""
        return self._broker.call(lambda: self._node.drop_connections(client_id))

    def jump(self, seconds: float) -> None:
        """Let so much time have passed: clock, session time-outs, retention, waits, all of it.

        It passes in some steps, so that what is done now and then is done now and then.
        """
        if seconds < 0:
            raise ValueError("time cannot pass backwards; only the clock can be set back: set_clock_back")
        self._broker.run(self._jump(seconds)).result()

    def set_clock_ahead(self, seconds: float) -> None:
        """Move only the wall clock, as an operator would; nothing that waits is affected."""
        self._broker.call(lambda: self._move_clock(seconds))

    def set_clock_back(self, seconds: float) -> None:
        """As `set_clock_ahead`, the other way."""
        self.set_clock_ahead(-seconds)

    def fill_disk(self) -> None:
        """Leave no room: writes are refused until `free_disk`."""
        self._broker.call(self._fill)

    def free_disk(self) -> None:
        """Give back the room that `fill_disk` took."""
        self._broker.call(self._free)

    def clear(self) -> None:
        """Plan nothing any more, and have room again. Time stays where it was moved to."""

        def clear() -> None:
            self._planned.clear()
            if self._disk is not None:
                self._free()

        self._broker.call(clear)

    def _plan(self, fault: Fault) -> Fault:
        self._broker.call(lambda: self._planned.plan(fault))
        return fault

    async def _jump(self, seconds: float) -> None:
        steps = max(1, min(_STEPS, int(seconds / _STEP_SECONDS)))
        for _ in range(steps):
            self._move_clock(seconds / steps)
            self._loop.jump(seconds / steps)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def _move_clock(self, seconds: float) -> None:
        self._clock.ahead_ms += round(seconds * 1000)

    def _fill(self) -> None:
        disk = self._in_memory()
        disk.capacity = disk.used
        self._node.broker.store.space.look()

    def _free(self) -> None:
        self._in_memory().capacity = self._capacity
        self._node.broker.store.space.look()

    def _in_memory(self) -> MemoryDisk:
        if self._disk is None:
            raise ValueError("only a broker in memory can have its disk filled: start it without a directory")
        return self._disk


def _code(error: ErrorCode | str) -> ErrorCode:
    if isinstance(error, ErrorCode):
        return error
    try:
        return ErrorCode[error]
    except KeyError:
        raise ValueError(
            f"there is no error {error!r}; Kafka's names are in millstream.errors.ErrorCode"
        ) from None
