"""The simulated client who makes the topic at the start and reads everything at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Final, TypeVar, TypeVarTuple, final

from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.sim.fetcher import Fetched, Fetcher, by_topic
from millstream.sim.hand import read_commits
from millstream.sim.history import History, Key, Outcome, Poll
from millstream.sim.link import FAILURES, Later, Link, settle
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)

EARLIEST: Final = -2
LATEST: Final = -1
_LOOKUPS: Final = 4

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@final
class Reader:
    """Patient: every call is tried until it succeeds, so that its caller sets the limit."""

    def __init__(self, name: str, link: Link, history: History, random: Random) -> None:
        self._name = name
        self._link = link
        self._history = history
        self._random = random
        self._fetcher = Fetcher(link, random, sessions=False, hungry=True)

    async def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        configs = [CreateTopicsRequestConfig(*each) for each in settings.items()]
        topic = CreateTopicsRequestTopic(name, partitions, 1, configs=configs)

        async def attempt() -> None:
            said = await self._link.ask(CreateTopicsRequest([topic]), CreateTopicsResponse)
            code = settle(said.topics[0].error_code)
            assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), said

        await self._patiently(attempt)

    async def offsets(self, keys: Sequence[Key], which: int, *, committed: bool = False) -> dict[Key, int]:
        """The first or the next offset of each of *keys*; if *committed*, that of what is decided."""
        request = ListOffsetsRequest(
            isolation_level=int(committed),
            topics=[
                ListOffsetsRequestTopic(
                    topic, [ListOffsetsRequestPartition(index, timestamp=which) for index in indexes]
                )
                for topic, indexes in by_topic(keys).items()
            ],
        )

        async def attempt() -> dict[Key, int]:
            said = await self._link.ask(request, ListOffsetsResponse)
            found: dict[Key, int] = {}
            for topic in said.topics:
                for partition in topic.partitions:
                    code = settle(partition.error_code)
                    assert code is ErrorCode.NONE, code
                    found[topic.name, partition.partition_index] = partition.offset
            return found

        return await self._patiently(attempt)

    async def read_all(
        self, key: Key, start: int, end: int, *, compacted: bool = False, committed: bool = False
    ) -> list[int]:
        """Note everything from *start* to *end* as the final read, then look some of it up again.

        What is read are the values, without those of transactions that were aborted if *committed*.
        """
        poll = Poll(
            process=self._name,
            begun=self._history.tick(),
            key=key,
            position=start,
            final=True,
            committed=committed,
        )
        times: list[tuple[int, int]] = []
        position = start
        while position < end:
            for fetched in await self._patiently(self._fetch, key, position, committed):
                poll.records += fetched.values
                times += [(record.offset, record.timestamp_ms) for record in fetched.records]
                position = fetched.next_offset
        self._history.begin(poll)
        self._history.end(poll, Outcome.OK)
        if times and not compacted and not committed:
            for _ in range(_LOOKUPS):
                await self._look_up_offset(key, self._random.randrange(start, end))
                await self._look_up_time(key, times)
        return [value for _, value in poll.records]

    async def read_on(self, positions: dict[Key, int], found: list[tuple[Key, int, int]]) -> None:
        """Add to *found* what has been committed since *positions*, if anything has."""
        for key in sorted(positions):
            for fetched in await self._patiently(self._fetch, key, positions[key], True):
                found += [(key, offset, value) for offset, value in fetched.values]
                positions[key] = fetched.next_offset

    async def _look_up_offset(self, key: Key, position: int) -> None:
        """Whichever offset is asked for comes first; the history's checks see to that."""
        poll = Poll(process=self._name, begun=self._history.tick(), key=key, position=position)
        for fetched in await self._patiently(self._fetch, key, position, False):
            poll.records += fetched.values
        self._history.begin(poll)
        self._history.end(poll, Outcome.OK)

    async def _look_up_time(self, key: Key, times: list[tuple[int, int]]) -> None:
        """A time leads to the first record that is not older."""
        timestamp_ms = self._random.choice(times)[1] + self._random.randint(-1, 1)
        expected = next((offset for offset, at in times if at >= timestamp_ms), -1)
        found = (await self.offsets([key], timestamp_ms))[key]
        if found != expected:
            self._history.complain("wrong-time", key, f"{timestamp_ms} ms is at {expected}, not {found}")

    async def _fetch(self, key: Key, position: int, committed: bool) -> list[Fetched]:
        self._fetcher.committed = committed
        found = await self._fetcher.fetch({key: position}, wait_s=0.25)
        for fetched in found:
            if settle(fetched.code) is not ErrorCode.NONE:
                self._history.complain("refused-fetch", key, f"{fetched.code.name} at {position}")
                raise Later(fetched.code.name)
        return found

    async def commits(self, group: str, keys: Sequence[Key]) -> dict[Key, int]:
        """Where *group* has got to."""
        return await self._patiently(lambda: read_commits(self._link, self._history, self._name, group, keys))

    async def _patiently(self, attempt: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T:
        while True:
            try:
                return await attempt(*args)
            except FAILURES as failure:
                if isinstance(failure, Unreachable):
                    self._link.drop()
                await asyncio.sleep(0.1)
