"""The topic that consumer groups are written to, as Kafka keeps it: `__consumer_offsets`, compacted."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, final

from millstream.broker.groups import GroupLog
from millstream.broker.produce import Produce
from millstream.broker.topics import NewTopic, Topics
from millstream.cluster.image import OFFSETS_TOPIC
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.read import read

_READ_BYTES: Final = 1 << 20
_DECOMPRESSED_MAX: Final = 64 << 20


@final
class OffsetsTopic(GroupLog):
    name: Final = OFFSETS_TOPIC

    def __init__(
        self, topics: Topics, produce: Produce, clock: Clock, config: Callable[[], GroupConfig]
    ) -> None:
        self._topics = topics
        self._produce = produce
        self._clock = clock
        self._config = config

    async def ensure(self) -> None:
        """Create the topic when a group first needs it."""
        if self.name in self._topics:
            return
        config = self._config()
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        }
        (made,) = await self._topics.create(
            [NewTopic(self.name, config.offsets_topic_num_partitions, 1, configs)]
        )
        if isinstance(made, Refused) and made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, made.detail)

    @property
    def partitions(self) -> int:
        """How many partitions the topic has, or will have."""
        if self.name in self._topics:
            return self._topics.topic(self.name).partitions
        return self._config().offsets_topic_num_partitions

    def append(self, partition: int, records: list[tuple[bytes, bytes | None]]) -> "asyncio.Future[None]":
        now_ms = self._clock.now_ms()
        try:
            hosted = self._topics.hosted(self.name, partition)
        except Refused as refusal:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.detail) from None
        batch = build([NewRecord(key, value) for key, value in records], now_ms=now_ms)
        appended = self._produce.append_own(hosted, batch)
        safe = hosted.acked(appended.end_offset)
        if safe is None:
            safe = asyncio.get_running_loop().create_future()
            safe.set_result(None)
        return safe

    def replay(self, partition: int) -> Iterator[tuple[bytes, bytes | None]]:
        if self.name not in self._topics:
            return
        log = self._topics.hosted(self.name, partition).partition.log
        offset = log.start_offset
        while (found := log.read(offset, _READ_BYTES, log.end_offset)) is not None:
            for batch in split(found.read()):
                if not batch.is_control:
                    for record in read(batch, max_bytes=_DECOMPRESSED_MAX):
                        if record.key is not None and record.offset >= offset:
                            yield record.key, record.value
                offset = batch.last_offset + 1
