"""Groups over a log in memory, on a simulated loop."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from random import Random
from typing import Any, TypeVar, final
from uuid import UUID

from millstream.broker.change_log import ChangeLog, Ended, Logged, Writer
from millstream.broker.groups import Groups
from millstream.cluster.image import Topic
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.groups.outcomes import Join
from millstream.sim.loop import SimLoop

T = TypeVar("T")
Record = tuple[bytes, bytes | None]

PARTITIONS = 4
WALL_MS = 1_700_000_000_000


@final
class MemoryLog(ChangeLog):
    """Records by partition. They commit at once, or when told, and get lost if told so."""

    def __init__(self, delay: Callable[[], float | None] = lambda: 0.0) -> None:
        self.records: list[list[Record]] = [[] for _ in range(PARTITIONS)]
        self.refusal: Refused | None = None
        self._delay = delay
        self._uncommitted: list[tuple[int, int, asyncio.Future[None]]] = []

    @property
    def partitions(self) -> int:
        return PARTITIONS

    def is_empty(self, partition: int) -> bool:
        return not self.records[partition]

    def append(
        self, partition: int, records: list[Record], writer: Writer | None = None
    ) -> "asyncio.Future[None]":
        if self.refusal is not None:
            raise self.refusal
        self.records[partition].extend(records)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        delay = self._delay()
        if delay is None:
            self._uncommitted.append((partition, len(records), future))
        elif delay:
            loop.call_later(delay, _settle, future)
        else:
            future.set_result(None)
        return future

    def replay(self, partition: int) -> Iterator[Logged | Ended]:
        for key, value in list(self.records[partition]):
            yield Logged(key, value)

    def settle_at_once(self) -> None:
        self._delay = lambda: 0.0

    def settle_later(self) -> None:
        """Nothing commits from now on until `commit` is called."""
        self._delay = lambda: None

    def commit(self) -> None:
        for _, _, future in self._uncommitted:
            _settle(future)
        self._uncommitted.clear()

    def lose(self, error: Exception) -> None:
        """What was not committed yet is gone."""
        for partition, count, future in self._uncommitted:
            del self.records[partition][-count:]
            future.set_exception(error)
        self._uncommitted.clear()

    def __len__(self) -> int:
        return sum(map(len, self.records))


@final
class LoopClock(Clock):
    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return WALL_MS + self.ahead_ms + round(asyncio.get_running_loop().time() * 1000)


@final
class SomeTopics:
    """Topics t and u, of four partitions each."""

    def __init__(self) -> None:
        self.known = {name: Topic(name, UUID(int=number), 4) for number, name in enumerate("tu", 1)}

    def by_name(self) -> Mapping[str, Topic]:
        return self.known

    def topic(self, name: str) -> Topic:
        if name not in self.known:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no {name}")
        return self.known[name]


CONFIG = GroupConfig(initial_rebalance_delay_ms=0)


def groups_over(
    log: ChangeLog,
    config: GroupConfig = CONFIG,
    topics: SomeTopics | None = None,
    clock: Clock | None = None,
    random: Random | None = None,
) -> Groups:
    return Groups(log, topics or SomeTopics(), clock or LoopClock(), random or Random(1), lambda: config)


def simulated(main: Callable[[], Coroutine[Any, Any, T]], seed: int = 1) -> T:
    """Run *main* in simulated time; nothing may be left over that nobody heard of."""
    loop = SimLoop(seed)
    asyncio.set_event_loop(loop)

    async def to_the_end() -> T:
        result = await main()
        await asyncio.sleep(0.001)  # what was cancelled last comes to its end
        return result

    try:
        result = loop.run_until_complete(to_the_end())
        assert loop.mishaps == []
        return result
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def started(log: ChangeLog, config: GroupConfig = CONFIG, topics: SomeTopics | None = None) -> Groups:
    """Groups that have been loaded."""
    groups = groups_over(log, config, topics)
    groups.start()
    await groups.ready()
    return groups


def a_join(member_id: str = "", **changes: Any) -> Join:
    """A consumer of version 3, so let in at once, unless *changes* say otherwise."""
    given: dict[str, Any] = {
        "client_id": "c",
        "protocol_type": "consumer",
        "protocols": (("range", b"meta"),),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "knows_two_steps": False,
    }
    return Join(member_id=member_id, **(given | changes))


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
