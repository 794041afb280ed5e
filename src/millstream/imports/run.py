"""Puts a source into topics of a running cluster, so that it can be run again and nothing comes twice.

Record *n* of a source's partition becomes offset *n* of ours. What is there
already is compared, not trusted: a topic that holds something else is refused,
one that holds the beginning is carried on with, one that holds everything is
left alone. So there is no state to keep, or to lose, between two runs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from millstream.client.admin import Admin
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.producer import Producer
from millstream.client.send_queue import Outcome
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused
from millstream.imports.source import Found, SourcePartition, SourceTopic
from millstream.records.build import NewRecord

Advance = Callable[[int], None]

_POLL_SECONDS: Final = 10.0
_FOREVER_MS: Final = 100 * 366 * 86_400_000  # nobody's membership keeps them alive
_BATCH_BYTES: Final = 700_000  # well below what a producer puts into one batch
_BATCH_RECORDS: Final = 50_000
_PER_RECORD: Final = 24


class Different(Exception):
    """The topic holds something that does not come from the source."""


@final
@dataclass
class Imported:
    """What became of one partition. *read_offset* is None if nothing was to be set, or is set already."""

    topic: str
    partition: int
    written: int = 0
    present: int = 0
    read_offset: int | None = None
    consumer: str = ""


@final
class Import:
    """Imports topics one by one; *configs* are for those that do not exist yet."""

    def __init__(self, client: Client, configs: Mapping[str, str], advance: Advance = lambda _: None) -> None:
        self._client = client
        self._configs = configs
        self._advance = advance

    async def topic(self, source: SourceTopic, name: str, read_group: str | None) -> list[Imported]:
        """Import *source* as topic *name*; how far it was read becomes offsets of *read_group*."""
        await self._have_topic(name, len(source.partitions))
        places = [TopicPartition(name, each.index) for each in source.partitions]
        starts = await list_offsets(self._client, dict.fromkeys(places, EARLIEST))
        ends = await list_offsets(self._client, dict.fromkeys(places, LATEST))
        results = []
        for partition, place in zip(source.partitions, places, strict=True):
            result = Imported(name, partition.index, consumer=partition.consumer)
            await self._partition(partition, place, (starts[place] or 0, ends[place] or 0), result)
            results.append(result)
        if read_group is not None:
            await self._set_offsets(source, read_group, results)
        return results

    async def _have_topic(self, name: str, partitions: int) -> None:
        try:
            existing = await self._client.topic(name)
        except Refused as refusal:
            if refusal.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            await Admin(self._client).create_topic(name, partitions=partitions, configs=self._configs)
            return
        if len(existing.partitions) < partitions:
            raise Different(
                f"topic {name} has {len(existing.partitions)} partitions, the source has {partitions}: "
                f"give it more with 'millstream topic alter {name} --partitions {partitions}'"
            )

    async def _partition(
        self, source: SourcePartition, place: TopicPartition, bounds: tuple[int, int], result: Imported
    ) -> None:
        records = source.records()
        start, end = bounds
        result.present = await self._compare(records, place, start, end)
        if result.present < end:
            return  # the source is there, and others have written since
        await self._write(records, place, result)

    async def _write(self, records: Iterator[Found], place: TopicPartition, result: Imported) -> None:
        problems: list[Exception] = []

        def count(outcome: Outcome) -> None:
            if outcome.problem is not None:
                problems.append(outcome.problem)
            elif outcome.offset != result.present + result.written:
                problems.append(Different(f"somebody else writes to {place} while it is imported"))
            else:
                result.written += outcome.records

        patience = self._client.patience
        async with Producer(self._client, delivery_timeout=patience, on_batch=count) as producer:
            # One batch at a time: behind one that fails nothing may be written, or offsets would shift.
            for some in _batches(records):
                for found in some:
                    await producer.post(place.topic, found.record, place.partition)
                await producer.flush()
                if problems:
                    raise problems[0]
                self._advance(sum(found.size_bytes for found in some))

    async def _compare(self, records: Iterator[Found], place: TopicPartition, start: int, end: int) -> int:
        """Take from *records* what *place* holds already; how many there were."""
        count = 0
        while count < min(start, end):  # deleted by now: it can only be counted
            if not self._take(records):
                return count
            count += 1
        if count == end:
            return count
        async with Consumer(self._client, reset="none") as consumer:
            consumer.assign({place: count})
            while consumer.positions().get(place, count) < end:
                for there in await consumer.poll(_POLL_SECONDS):
                    if there.offset >= end:
                        break
                    found = self._take(records)
                    if found is None:
                        return count
                    if there.offset != count or not _same(found.record, there):
                        raise _other(place, there.offset)
                    count += 1
        if count < end:
            raise _other(place, count)  # such as the end of a transaction
        return count

    def _take(self, records: Iterator[Found]) -> Found | None:
        found = next(records, None)
        if found is not None:
            self._advance(found.size_bytes)
        return found

    async def _set_offsets(self, source: SourceTopic, group: str, results: list[Imported]) -> None:
        """Let *group* go on where the source was read to, unless it has gone on by itself since."""
        admin = GroupAdmin(self._client)
        known = await admin.offsets(group)
        offsets: dict[TopicPartition, int] = {}
        for partition, result in zip(source.partitions, results, strict=True):
            place = TopicPartition(result.topic, result.partition)
            if partition.read_offset and place not in known:
                result.read_offset = min(partition.read_offset, result.present + result.written)
                offsets[place] = result.read_offset
        if offsets:
            await admin.set_offsets(group, offsets, retention_ms=_FOREVER_MS)


def _other(place: TopicPartition, offset: int) -> Different:
    return Different(
        f"{place} holds something else at offset {offset}: "
        "import into a topic that is new, or under another name with --rename"
    )


def _batches(records: Iterator[Found]) -> Iterator[list[Found]]:
    """*records* in runs that a producer sends as one batch each."""
    run: list[Found] = []
    size = 0
    for found in records:
        more = _PER_RECORD + len(found.record.key or b"") + len(found.record.value or b"")
        if run and (size + more > _BATCH_BYTES or len(run) == _BATCH_RECORDS):
            yield run
            run, size = [], 0
        run.append(found)
        size += more
    if run:
        yield run


def _same(record: NewRecord, there: Consumed) -> bool:
    if (record.key, record.value) != (there.key, there.value):
        return False
    return record.timestamp_ms is None or record.timestamp_ms == there.timestamp_ms
