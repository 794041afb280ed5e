"""Which test shows the effect of which config, and in how many ways a config can be given.

    @shows("retention.ms")
    def test_old_segments_go(way: Way) -> None:
        async def first_offset(stage: Stage) -> int: ...

        assert way.seen(first_offset, {"retention.ms": "1000"}) > 0
        assert way.seen(first_offset, {}) == 0

The test runs once for each way: a topic's own config, when it is made and when
it is changed; the broker's, when it starts and, if it may be changed then,
while it runs. `test_complete.py` fails for a config that no test shows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum
from random import Random
from typing import Any, TypeVar

import pytest
from tests.broker.support import SESSION, running

from millstream.broker.broker import Broker
from millstream.broker.configs import Change, Operation
from millstream.broker.live_config import LiveConfig, broker_name
from millstream.broker.topics import NewTopic
from millstream.errors import ErrorCode, Refused
from millstream.node.config import GROUPS
from millstream.records.batch import Batch, split
from millstream.records.build import NewRecord, build
from millstream.records.read import read
from millstream.settings import settings_of
from millstream.sim.clock import SimClock
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop
from millstream.storage.config import LogConfig
from millstream.storage.log import Log

T = TypeVar("T")
Test = Callable[..., None]

SHOWN: dict[str, set[str]] = {}
_TOPIC_CONFIGS = settings_of(LogConfig)


class Way(Enum):
    """How a config comes to have its value."""

    NEW_TOPIC = "in a topic when it is made"
    CHANGED_TOPIC = "in a topic that is there"
    STARTED = "in the broker when it starts"
    CHANGED = "in the broker while it runs"

    @property
    def is_topics(self) -> bool:
        return self in (Way.NEW_TOPIC, Way.CHANGED_TOPIC)

    def named(self, values: Mapping[str, str]) -> dict[str, str]:
        """*values* by the names they have at the broker, unless they are a topic's own."""
        if self.is_topics:
            return dict(values)
        return {broker_name(name) if name in _TOPIC_CONFIGS else name: v for name, v in values.items()}

    def seen(
        self,
        look: "Callable[[Stage], Awaitable[T]]",
        values: Mapping[str, str],
        *,
        configs: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
        disk: SimDisk | None = None,
    ) -> T:
        """What *look* sees of a broker, with topic t, to which *values* were given in this way.

        *configs* are the topic's besides, *settings* the broker's.
        """

        async def story(loop: SimLoop) -> T:
            given = self.named(values)
            started = {**(settings or {}), **(given if self is Way.STARTED else {})}
            made = {**(configs or {}), **(given if self is Way.NEW_TOPIC else {})}
            clock = SimClock(loop)
            on = disk or SimDisk(Random(1))
            async with running(on, started, clock) as broker:
                await broker.create_topics(SESSION, [NewTopic("t", 1, 1, made)])
                changes = [Change(name, Operation.SET, value) for name, value in given.items()]
                if self is Way.CHANGED_TOPIC:
                    await broker.change_topic_configs(SESSION, "t", changes, False)
                elif self is Way.CHANGED and changes:
                    await broker.change_broker_configs(SESSION, changes, False)
                return await look(Stage(broker, clock, on))

        return played(story)


class Stage:
    """A broker with a topic t of one partition, in simulated time."""

    def __init__(self, broker: Broker, clock: SimClock, disk: SimDisk) -> None:
        self.broker = broker
        self.clock = clock
        self.disk = disk

    @property
    def log(self) -> Log:
        return self.broker.topics.hosted("t", 0).partition.log

    async def write(
        self, key: bytes | None = b"k", value: bytes | None = b"v", *, timestamp_ms: int | None = None
    ) -> int:
        """Write one record; its offset."""
        return await self.send([NewRecord(key, value, timestamp_ms=timestamp_ms)])

    async def send(self, records: Iterable[NewRecord], acks: int = -1, **options: Any) -> int:
        batch = build(list(records), now_ms=self.clock.now_ms(), **options)
        accepted = self.broker.produce(SESSION, "t", 0, memoryview(batch), acks)
        if accepted.safe is not None:
            await accepted.safe
        return accepted.appended.base_offset

    def batches(self) -> Iterator[Batch]:
        log = self.log
        offset = log.start_offset
        while (found := log.read(offset, 1 << 20, log.end_offset)) is not None:
            for batch in split(found.read()):
                yield batch
                offset = batch.last_offset + 1

    def values(self) -> list[bytes | None]:
        """The values of all records that are left, in order."""
        return [record.value for batch in self.batches() for record in read(batch, max_bytes=1 << 24)]


def shows(*names: str) -> Callable[[Test], Test]:
    """The test shows what *names* do, given in each way there is."""

    def note(test: Test) -> Test:
        assert test.__name__.startswith("test_"), "only what is collected shows anything"
        ways = None
        for name in names:
            of_name = _ways(name)
            assert ways in (None, of_name), f"{name} is given in other ways than its neighbours"
            ways = of_name
            SHOWN.setdefault(name, set()).add(test.__name__)
            if name in _TOPIC_CONFIGS:
                SHOWN.setdefault(broker_name(name), set()).add(test.__name__)
        return pytest.mark.parametrize("way", ways or [], ids=lambda way: way.name.lower())(test)

    return note


def _ways(name: str) -> list[Way]:
    if name in _TOPIC_CONFIGS:
        return list(Way)
    changeable = LiveConfig(GROUPS, {}).setting(name).changeable
    return [Way.STARTED, Way.CHANGED] if changeable else [Way.STARTED]


def played(story: Callable[[SimLoop], Awaitable[T]]) -> T:
    """What *story* comes to in simulated time; nothing may be left unhandled."""
    loop = SimLoop(1)
    asyncio.set_event_loop(loop)

    async def to_the_end() -> T:
        return await story(loop)

    try:
        result = loop.run_until_complete(to_the_end())
        assert not loop.mishaps, loop.mishaps
        return result
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def refused(call: Awaitable[object]) -> ErrorCode:
    """The code that *call* is refused with; NONE if it is not."""
    try:
        await call
    except Refused as refusal:
        return refusal.code
    return ErrorCode.NONE
