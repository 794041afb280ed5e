"""Reads partitions from their leaders, each from its own place onward.

One fetch is under way to each leader; what it brings is kept until it is asked
for, and a partition is fetched again when nothing of it is left. So the next
fetch runs while the caller works, and no partition can fill the memory.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.isolation import visible
from millstream.client.refusals import check, error_code
from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import split
from millstream.records.compression import MAX_UNPACKED
from millstream.records.read import read
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)

_BY_NAME: Final = 12  # the last Fetch version that names topics
_UNKNOWN: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


@final
@dataclass(frozen=True, kw_only=True)
class FetchConfig:
    """How much to ask for at once, and how long a leader may wait for it to be there."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 << 20
    partition_max_bytes: int = 1 << 20
    committed_only: bool = False


@final
class Reading:
    """One partition being read: *position* is the next to hand out, *fetch_at* the next to ask for."""

    __slots__ = ("fetch_at", "high_watermark", "kept", "lost", "partition", "position")

    def __init__(self, partition: TopicPartition, position: int) -> None:
        self.partition = partition
        self.position = position
        self.fetch_at = position
        self.high_watermark: int | None = None
        self.lost = False  # the position is outside the log
        self.kept: deque[Consumed] = deque()


@final
class Fetcher:
    """Give it positions, then `take` what arrives."""

    def __init__(self, client: Client, config: FetchConfig | None = None) -> None:
        self._client = client
        self._config = config or FetchConfig()
        self._lane = client.lane()
        self._readings: dict[TopicPartition, Reading] = {}
        self._flights: dict[int | None, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._problem: Exception | None = None
        self._turn = 0

    @property
    def readings(self) -> Mapping[TopicPartition, Reading]:
        """The partitions being read."""
        return self._readings

    def read_from(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions too, or from here on."""
        for partition in sorted(positions):
            self._readings[partition] = Reading(partition, positions[partition])
        self._news.set()

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these no longer; what was fetched of them is forgotten."""
        for partition in partitions:
            self._readings.pop(partition, None)

    def wake(self) -> None:
        """Make whoever waits in `take` look around."""
        self._news.set()

    async def take(self, most: int, timeout: float) -> list[Consumed]:
        """Up to *most* records; none if none arrives within *timeout* seconds, or on `wake`."""
        self._launch()
        if not any(reading.kept for reading in self._readings.values()):
            self._news.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._news.wait()
            except TimeoutError:
                pass
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        taken = self._hand_out(most)
        self._launch()
        return taken

    async def close(self) -> None:
        """Stop; fetches under way are given up."""
        flights = [self._flights[node] for node in sorted(self._flights, key=str)]
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self._client.retire(self._lane)

    def _hand_out(self, most: int) -> list[Consumed]:
        taken: list[Consumed] = []
        for reading in self._in_turn():
            while reading.kept and len(taken) < most:
                record = reading.kept.popleft()
                reading.position = record.offset + 1
                taken.append(record)
            if not reading.kept and not reading.lost:
                reading.position = reading.fetch_at
        self._turn += 1
        return taken

    def _in_turn(self) -> list[Reading]:
        """All readings, another one first each time, so that none starves behind a busy one."""
        readings = list(self._readings.values())
        first = self._turn % len(readings) if readings else 0
        return readings[first:] + readings[:first]

    def _launch(self) -> None:
        """Send a fetch to every leader that has none under way and of whose partitions nothing is left."""
        wanted: dict[int | None, list[Reading]] = {}
        for reading in self._in_turn():
            if not reading.kept and not reading.lost:
                leader = self._client.known.leader(reading.partition)
                wanted.setdefault(leader, []).append(reading)
        for node, readings in wanted.items():
            if node not in self._flights:
                self._flights[node] = asyncio.create_task(self._fly(node, readings))

    async def _fly(self, node: int | None, readings: list[Reading]) -> None:
        try:
            await (self._scout(readings) if node is None else self._fetch(node, readings))
        except Exception as problem:  # `take` raises it: it must not be lost with the task
            self._problem = problem
        finally:
            self._flights.pop(node, None)
            self._news.set()

    async def _scout(self, readings: list[Reading]) -> None:
        """Find out who leads."""
        for reading in readings:
            await self._client.retry(partial(self._client.leader, reading.partition), passing=_UNKNOWN)

    async def _fetch(self, node: int, readings: list[Reading]) -> None:
        asked = {reading.partition: (reading, reading.fetch_at) for reading in readings}
        try:
            connection = await self._lane.to(node)
            said = await connection.request(
                self._request(readings),
                FetchResponse,
                at_most=_BY_NAME,
                timeout=self._config.max_wait_ms / 1000 + self._client.timeout,
            )
            check(said.error_code, f"fetch from broker {node}")
            troubled = False
            for topic in said.responses:
                for answer in topic.partitions:
                    reading, fetch_at = asked[TopicPartition(topic.topic, answer.partition_index)]
                    if self._readings.get(reading.partition) is reading and reading.fetch_at == fetch_at:
                        troubled |= not self._arrived(reading, answer)
        except Unreachable:
            troubled = True
        if troubled:
            self._client.forget()
            await asyncio.sleep(self._client.backoff(0))

    def _request(self, readings: list[Reading]) -> FetchRequest:
        topics: dict[str, list[FetchRequestPartition]] = {}
        for reading in readings:
            one = FetchRequestPartition(
                partition=reading.partition.partition,
                fetch_offset=reading.fetch_at,
                partition_max_bytes=self._config.partition_max_bytes,
            )
            topics.setdefault(reading.partition.topic, []).append(one)
        return FetchRequest(
            max_wait_ms=self._config.max_wait_ms,
            min_bytes=self._config.min_bytes,
            max_bytes=self._config.max_bytes,
            isolation_level=int(self._config.committed_only),
            topics=[FetchRequestTopic(topic=name, partitions=each) for name, each in topics.items()],
        )

    def _arrived(self, reading: Reading, answer: FetchResponsePartition) -> bool:
        """Keep what came for *reading*; False if the leader must be looked for again."""
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            reading.lost = True
            return True
        if answer.error_code:
            code = error_code(answer.error_code)
            if not code.retriable:
                raise Refused(code, f"fetch of {reading.partition}")
            return False
        reading.high_watermark = answer.high_watermark
        if answer.records:
            self._keep(reading, answer)
        return True

    def _keep(self, reading: Reading, answer: FetchResponsePartition) -> None:
        assert isinstance(answer.records, memoryview), type(answer.records)
        aborted = (answer.aborted_transactions or []) if self._config.committed_only else []
        for batch, shown in visible(split(answer.records), aborted):
            if batch.last_offset < reading.fetch_at:
                continue
            if shown:
                batch.check(allow_empty=True)
                # A leader sends whole batches, so the first may begin before what we asked for.
                reading.kept.extend(
                    Consumed(
                        *reading.partition, each.offset, each.timestamp_ms, each.key, each.value, each.headers
                    )
                    for each in read(batch, max_bytes=MAX_UNPACKED)
                    if each.offset >= reading.fetch_at
                )
            reading.fetch_at = batch.last_offset + 1
