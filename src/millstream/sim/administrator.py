"""A simulated administrator: makes topics, lets them grow, deletes them and makes them again.

What was answered must be so ever after: a topic that was made is there, with
its partitions and records; one that was deleted is gone, and if its name comes
back it comes back empty. Where no answer came the name is given up, since a
request may arrive late and change it at any time.
"""

import asyncio
import itertools
from dataclasses import dataclass
from random import Random
from typing import Final, final

from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.env.clock import Clock
from millstream.errors import ErrorCode
from millstream.records.build import NewRecord, build
from millstream.sim.history import History
from millstream.sim.link import FAILURES, Later, Link
from millstream.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsRequestTopic,
    CreatePartitionsResponse,
)
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsRequestTopic,
    DeleteTopicsResponse,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)

_LAST_VERSION_WITH_NAMES: Final = 12  # of Produce
_LATEST: Final = -1


@dataclass(slots=True)
class Known:
    """A topic as it must be: no partitions if it was deleted, or never made."""

    partitions: int = 0
    records: int = 0


@final
class Administrator:
    """Changes one topic after the other until told to `finish`."""

    def __init__(self, link: Link, history: History, clock: Clock, random: Random) -> None:
        self.changes = 0
        self._link = link
        self._history = history
        self._clock = clock
        self._random = random
        self._topics: dict[str, Known] = {}
        self._names = (f"temporary-{i}" for i in itertools.count(1))
        self._finishing = False

    def finish(self) -> None:
        self._finishing = True

    async def run(self) -> None:
        while not self._finishing:
            name = self._pick()
            try:
                await self._check(name)
                await self._change(name)
            except FAILURES as failure:
                if isinstance(failure, Unreachable):
                    self._link.drop()
            await asyncio.sleep(self._random.uniform(0.1, 1.5))

    async def check_all(self) -> None:
        """See that every topic whose fate is known is as it must be."""
        for name in list(self._topics):
            while True:
                try:
                    await self._check(name)
                    break
                except FAILURES:
                    await asyncio.sleep(0.1)

    def _pick(self) -> str:
        if len(self._topics) < 3:
            self._topics[next(self._names)] = Known()
        return self._random.choice(list(self._topics))

    # Changing

    async def _change(self, name: str) -> None:
        known = self._topics.pop(name)  # until an answer comes
        if known.partitions == 0:
            known.partitions = self._random.randint(1, 3)
            await self._create(name, known.partitions)
        else:
            match self._random.choice(("write", "write", "grow", "delete")):
                case "write":
                    known.records += await self._write(name)
                case "grow":
                    known.partitions += self._random.randint(1, 2)
                    await self._grow(name, known.partitions)
                case _:
                    await self._delete(name)
                    known = Known()
        self._topics[name] = known
        self.changes += 1

    async def _create(self, name: str, partitions: int) -> None:
        request = CreateTopicsRequest([CreateTopicsRequestTopic(name, partitions, 1)])
        said = await self._link.ask(request, CreateTopicsResponse)
        self._judge(name, "create", said.topics[0].error_code)

    async def _grow(self, name: str, partitions: int) -> None:
        topic = CreatePartitionsRequestTopic(name, partitions, None)
        said = await self._link.ask(CreatePartitionsRequest([topic]), CreatePartitionsResponse)
        self._judge(name, "grow", said.results[0].error_code)

    async def _delete(self, name: str) -> None:
        request = DeleteTopicsRequest([name], [DeleteTopicsRequestTopic(name)])
        said = await self._link.ask(request, DeleteTopicsResponse)
        self._judge(name, "delete", said.responses[0].error_code)

    async def _write(self, name: str) -> int:
        records = [NewRecord(b"key", b"value") for _ in range(self._random.randint(1, 5))]
        part = ProduceRequestPartitionData(0, build(records, now_ms=self._clock.now_ms()))
        request = ProduceRequest(
            acks=-1, timeout_ms=3000, topic_data=[ProduceRequestTopicData(name, partition_data=[part])]
        )
        said = await self._link.ask(request, ProduceResponse, at_most=_LAST_VERSION_WITH_NAMES)
        self._judge(name, "write", said.responses[0].partition_responses[0].error_code)
        return len(records)

    def _judge(self, name: str, what: str, code: int) -> None:
        """Give the topic up unless *code* says that it was done."""
        named = error_code(code)
        if named is ErrorCode.NONE:
            return
        if not named.retriable or named is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._history.complain("refused-change", name, f"{named.name} to {what}")
        raise Later(named.name)

    # Checking

    async def _check(self, name: str) -> None:
        known = self._topics[name]
        request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        said = await self._link.ask(request, MetadataResponse)
        found = len(said.topics[0].partitions)
        if found != known.partitions:
            kind = "topic-undead" if known.partitions == 0 else "topic-lost"
            self._history.complain(kind, name, f"{found} partitions, not {known.partitions}")
        elif known.partitions:
            end = await self._end_of(name)
            if end != known.records:
                kind = "topic-not-empty" if end > known.records else "topic-lost"
                self._history.complain(kind, name, f"{end} records, not {known.records}")

    async def _end_of(self, name: str) -> int:
        topic = ListOffsetsRequestTopic(name, [ListOffsetsRequestPartition(0, timestamp=_LATEST)])
        said = await self._link.ask(ListOffsetsRequest(topics=[topic]), ListOffsetsResponse)
        partition = said.topics[0].partitions[0]
        if error_code(partition.error_code) is not ErrorCode.NONE:
            raise Later(error_code(partition.error_code).name)
        return partition.offset
