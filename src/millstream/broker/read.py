"""Read: records, rather than batches, out of partitions.

For doors whose clients know of no batches. Only what is committed is seen,
transactions included. Stepped over is what is not for consumers: the markers of
transactions, what was aborted, records past their time to live; and a batch
whose bytes do not make records: nobody looked into it when it was written, and
one such must not stop a reader for good.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, final

from millstream.broker.fetch import Found, Wanted
from millstream.broker.session import Session
from millstream.broker.topics import Topics
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import CODEC_BITS, Batch, split
from millstream.records.compression import unpack_limit
from millstream.records.expiry import is_expired
from millstream.records.read import Record, read
from millstream.storage.log import Log
from millstream.storage.txn_index import AbortedTransaction

_KEPT_RECORDS: Final = 20_000
_KEPT_BYTES: Final = 4 << 20
_THREAD_BYTES: Final = 64 << 10  # a packed batch of more is unpacked in a thread: it may become 64 MiB

Key = tuple[Log, int, int]  # base offset and checksum of a batch
FetchCall = Callable[
    [Session, Sequence[Wanted], int, int, int], "list[Found] | Awaitable[list[Found]]"
]  # Broker.fetch: max_bytes, min_bytes and max_wait_ms are the numbers


@final
class Records:
    """What one partition gave. Go on at *next_offset*, which may lie beyond the last record."""

    __slots__ = ("high_watermark", "next_offset", "partition", "records", "start_offset")

    def __init__(
        self, partition: int, records: list[Record], next_offset: int, start_offset: int, high_watermark: int
    ) -> None:
        self.partition = partition
        self.records = records
        self.next_offset = next_offset
        self.start_offset = start_offset
        self.high_watermark = high_watermark

    def __repr__(self) -> str:
        return f"Records({self.partition}, {self.records!r}, {self.next_offset})"


@final
class Read:
    """Turns fetched batches into records, within bounds.

    *unpacked* counts batches, *unreadable* those that had to be stepped over.
    """

    def __init__(self, fetch: FetchCall, topics: Topics, clock: Clock) -> None:
        self.unpacked = 0
        self.unreadable = 0
        self._unpacked_lately = Lately()
        self._fetch = fetch
        self._topics = topics
        self._clock = clock

    async def read(
        self,
        session: Session,
        topic: str,
        offsets: Mapping[int, int],
        *,
        max_records: int,
        max_bytes: int,
        max_wait_ms: int,
    ) -> list[Records]:
        """What there is from *offsets*, by partition, and in their order; waits for the first record.

        *max_records* and *max_bytes* are for all together; a first record is given
        whatever its size. Once the wait is over, nothing is found, but how far to
        go on. Refused if one of the partitions cannot be read.
        """
        offsets = dict(offsets)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max_wait_ms / 1000
        while True:
            wanted = [
                Wanted(topic, index, offset, max_bytes, read_committed=True)
                for index, offset in offsets.items()
            ]
            left_ms = max(round((deadline - loop.time()) * 1000), 0)
            found = self._fetch(session, wanted, max_bytes, 1, left_ms)
            if not isinstance(found, list):
                found = await found
            results = await self._decoded(topic, wanted, found, max_records, max_bytes)
            if any(result.records for result in results):
                return results
            moved = {result.partition: result.next_offset for result in results}
            if moved == offsets:
                return results  # the fetch has waited as long as it may
            offsets = moved
            await asyncio.sleep(0)  # what was stepped over may have been much

    async def _decoded(
        self,
        topic: str,
        wanted: Sequence[Wanted],
        found: Sequence[Found],
        max_records: int,
        max_bytes: int,
    ) -> list[Records]:
        results: list[Records] = []
        for asked, got in zip(wanted, found, strict=True):
            if got.error:
                raise _refusal(got, asked)
            records: list[Record] = []
            next_offset = asked.offset
            if got.records is not None and max_records > 0 and (max_bytes > 0 or not results):
                records, next_offset = await self._records(got, asked, max_records, max_bytes)
                max_records -= len(records)
                max_bytes -= sum(map(size_of, records))
            results.append(Records(asked.index, records, next_offset, got.start_offset, got.high_watermark))
        return results

    async def _records(
        self, found: Found, wanted: Wanted, max_records: int, max_bytes: int
    ) -> tuple[list[Record], int]:
        """The records that were found, and the offset after all that was looked at."""
        assert found.records is not None
        log = self._topics.hosted(wanted.topic, wanted.index).partition.log
        limit = unpack_limit(log.config.max_message_bytes)
        now_ms = self._clock.now_ms()
        records: list[Record] = []
        size = 0
        offset = wanted.offset
        for batch in split(found.records.read()):
            if batch.last_offset < offset:
                continue
            if not batch.is_control and not _is_aborted(batch, found.aborted or ()):
                for record in await self._unpacked(log, batch, limit):
                    if record.offset < offset or (record.headers and is_expired(record, now_ms)):
                        continue
                    if records and (len(records) >= max_records or size >= max_bytes):
                        return records, records[-1].offset + 1
                    records.append(record)
                    size += size_of(record)
            offset = batch.last_offset + 1
        return records, offset

    async def _unpacked(self, log: Log, batch: Batch, limit: int) -> Sequence[Record]:
        """The records of *batch*, unpacked anew or kept from the last time."""
        key = (log, batch.base_offset, batch.crc)
        records = self._unpacked_lately.get(key)
        if records is not None:
            return records
        self.unpacked += 1
        try:
            if batch.attributes & CODEC_BITS and batch.size > _THREAD_BYTES:
                loop = asyncio.get_running_loop()
                records = await loop.run_in_executor(None, lambda: read(batch, max_bytes=limit))
            else:
                records = read(batch, max_bytes=limit)
        except Refused:
            self.unreadable += 1
            return ()
        if len(records) > 1:
            self._unpacked_lately.keep(key, records)
        return records


@final
class Lately:
    """Records of a few batches: whoever takes them one by one would unpack them all each time."""

    def __init__(self, max_records: int = _KEPT_RECORDS, max_bytes: int = _KEPT_BYTES) -> None:
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, tuple[list[Record], int]] = OrderedDict()
        self._records = 0
        self._bytes = 0

    def get(self, key: Key) -> list[Record] | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def keep(self, key: Key, records: list[Record]) -> None:
        """Keep *records* in the place of what was not asked for the longest."""
        size = sum(map(size_of, records))
        if len(records) > self._max_records or size > self._max_bytes or key in self._kept:
            return
        self._kept[key] = (records, size)
        self._records += len(records)
        self._bytes += size
        while self._records > self._max_records or self._bytes > self._max_bytes:
            _, (gone, gone_size) = self._kept.popitem(last=False)
            self._records -= len(gone)
            self._bytes -= gone_size


def size_of(record: Record) -> int:
    """What *record* takes up, nearly."""
    size = len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += len(name) + len(value or b"")
    return size


def _is_aborted(batch: Batch, aborted: Sequence[AbortedTransaction]) -> bool:
    return batch.is_transactional and any(
        each.producer_id == batch.producer_id and each.first_offset <= batch.base_offset <= each.last_offset
        for each in aborted
    )


def _refusal(found: Found, wanted: Wanted) -> Refused:
    name = f"{wanted.topic}-{wanted.index}"
    if found.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return Refused(found.error, f"there is no {name}")
    if found.error is ErrorCode.OFFSET_OUT_OF_RANGE:
        return Refused(
            found.error,
            f"{wanted.offset} is not within {found.start_offset} to {found.high_watermark} of {name}",
        )
    return Refused(found.error, f"{name} cannot be read")
