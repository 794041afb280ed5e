"""A topic that the broker writes for itself: what groups and transactions decide, kept as Kafka keeps it."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, final

from millstream.broker.change_log import NOBODY, ChangeLog, Ended, Logged, Writer, done
from millstream.broker.produce import Produce
from millstream.broker.topics import NewTopic, Topics
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker, read_marker
from millstream.records.read import read

_READ_BYTES: Final = 1 << 20
_DECOMPRESSED_MAX: Final = 64 << 20


class Layout(NamedTuple):
    """What the topic is to be when it is created."""

    partitions: int
    segment_bytes: int


@final
class InternalTopic(ChangeLog):
    """One of the broker's own topics: compacted, and created when it is first needed."""

    def __init__(
        self, name: str, topics: Topics, produce: Produce, clock: Clock, layout: Callable[[], Layout]
    ) -> None:
        self.name = name
        self._topics = topics
        self._produce = produce
        self._clock = clock
        self._layout = layout

    async def ensure(self) -> None:
        """Create the topic unless it is there."""
        if self.name in self._topics:
            return
        layout = self._layout()
        configs: Mapping[str, str] = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(layout.segment_bytes),
        }
        (made,) = await self._topics.create([NewTopic(self.name, layout.partitions, 1, configs)])
        if isinstance(made, Refused) and made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, made.detail)

    @property
    def partitions(self) -> int:
        if self.name in self._topics:
            return self._topics.topic(self.name).partitions
        return self._layout().partitions

    def is_empty(self, partition: int) -> bool:
        if self.name not in self._topics:
            return True
        try:
            log = self._topics.hosted(self.name, partition).partition.log
        except Refused:  # nobody knows: whoever reads it is told why
            return False
        return log.start_offset == log.end_offset

    def append(
        self, partition: int, records: list[tuple[bytes, bytes | None]], writer: Writer | None = None
    ) -> "asyncio.Future[None]":
        now_ms = self._clock.now_ms()
        try:
            hosted = self._topics.hosted(self.name, partition)
        except Refused as refusal:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.detail) from None
        batch = build(
            [NewRecord(key, value) for key, value in records],
            now_ms=now_ms,
            producer_id=NOBODY if writer is None else writer.producer_id,
            producer_epoch=NOBODY if writer is None else writer.epoch,
            transactional=writer is not None,
        )
        appended = self._produce.append_own(hosted, batch)
        return hosted.acked(appended.end_offset) or done()

    def replay(self, partition: int) -> Iterator[Logged | Ended]:
        if self.name not in self._topics:
            return
        log = self._topics.hosted(self.name, partition).partition.log
        offset = log.start_offset
        while (found := log.read(offset, _READ_BYTES, log.end_offset)) is not None:
            for batch in split(found.read()):
                if batch.is_control:
                    marker = read_marker(batch)
                    if marker is not None:
                        yield Ended(batch.producer_id, marker[0] is Marker.COMMIT)
                else:
                    producer_id = batch.producer_id if batch.is_transactional else NOBODY
                    for record in read(batch, max_bytes=_DECOMPRESSED_MAX):
                        if record.key is not None and record.offset >= offset:
                            yield Logged(record.key, record.value, producer_id)
                offset = batch.last_offset + 1
