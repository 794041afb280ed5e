"""Records read lately, for those who read the same ones soon after.

Subscribers of a topic mostly are at the same place, and each wants a few
records of a batch that holds many: without this every one of them would
unpack it anew, again and again.
"""

from bisect import bisect_left
from collections import OrderedDict
from operator import attrgetter
from typing import Final, NamedTuple, final

from millstream.broker.read import Read
from millstream.broker.session import Session
from millstream.cluster.image import Topic
from millstream.records.read import Record

CHUNKS: Final = 16
_CHUNK_RECORDS: Final = 1_000
_CHUNK_BYTES: Final = 256 << 10
_SESSION: Final = Session("queues", "")
_OFFSET: Final = attrgetter("offset")


class Chunk(NamedTuple):
    """All the records of a partition from *first* up to *next*."""

    first: int
    next: int
    records: list[Record]


@final
class Shelf:
    """*read* must be free of quotas: who gets the records is charged for them."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._chunks: OrderedDict[tuple[bytes, int, int], Chunk] = OrderedDict()
        self._last: dict[tuple[bytes, int], Chunk] = {}  # the newest of each partition

    async def read(self, topic: Topic, partition: int, offset: int, most: int) -> tuple[list[Record], int]:
        """Up to *most* records from *offset* on, perhaps fewer than there are, and where to go on."""
        chunk = self._find(topic.id.bytes, partition, offset)
        if chunk is None:
            chunk = await self._fetch(topic, partition, offset)
        at = bisect_left(chunk.records, offset, key=_OFFSET)
        records = chunk.records[at : at + most]
        if at + most >= len(chunk.records):
            return records, chunk.next
        return records, records[-1].offset + 1 if records else offset

    def _find(self, topic: bytes, partition: int, offset: int) -> Chunk | None:
        last = self._last.get((topic, partition))
        if last is not None and last.first <= offset < last.next:
            return last
        for key, chunk in self._chunks.items():
            if key[0] == topic and key[1] == partition and chunk.first <= offset < chunk.next:
                self._chunks.move_to_end(key)
                return chunk
        return None

    async def _fetch(self, topic: Topic, partition: int, offset: int) -> Chunk:
        (found,) = await self._read.read(
            _SESSION,
            topic.name,
            {partition: offset},
            max_records=_CHUNK_RECORDS,
            max_bytes=_CHUNK_BYTES,
            max_wait_ms=0,
        )
        chunk = Chunk(offset, found.next_offset, found.records)
        if chunk.next > chunk.first:
            self._chunks[topic.id.bytes, partition, offset] = chunk
            self._last[topic.id.bytes, partition] = chunk
            while len(self._chunks) > CHUNKS:
                (gone, index, _), old = self._chunks.popitem(last=False)
                if self._last.get((gone, index)) is old:
                    del self._last[gone, index]
        return chunk
