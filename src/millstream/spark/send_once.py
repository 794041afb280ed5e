"""Sends the rows of one task in one transaction, and with them the word that it has been done.

The word is an offset of a group that belongs to this task of the pipeline: the
number of the batch, plus one. It is committed if and only if the rows are. A
task that runs again becomes the producer of the same transactional id, which
puts an end to any earlier one and to what that had left open; then it reads the
word, and writes only if it is not there. All of this is plain Kafka, so it
holds with any cluster.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from millstream.client.cluster import Client
from millstream.client.group_offsets import Member, fetch_offsets
from millstream.client.topics import TopicPartition
from millstream.client.transactions import TransactionalProducer
from millstream.errors import ErrorCode
from millstream.spark.once import Once
from millstream.spark.rows import records
from millstream.spark.sink_options import SinkOptions


def send_rows_once(options: SinkOptions, once: Once, task: int, batches: Iterator[Any]) -> int:
    """Write all rows of the Arrow record batches, unless this *task* of the batch has done so; how many."""
    return asyncio.run(_send(options, once, task, batches))


def transactional_id(once: Once, task: int) -> str:
    return f"{once.pipeline}.{task}"


def group_of(once: Once, task: int) -> str:
    """Of one query, that is of one checkpoint: another begins anew, and its batches are other batches."""
    return f"{once.pipeline}.{once.query_id}.{task}"


async def _send(options: SinkOptions, once: Once, task: int, batches: Iterator[Any]) -> int:
    assert options.topic is not None
    word = TopicPartition(options.topic, 0)
    group = group_of(once, task)
    async with options.reach.client() as client:
        producer = TransactionalProducer(
            client,
            transactional_id(once, task),
            timeout=options.transaction_timeout,
            codec=options.codec,
            batch_bytes=options.batch_bytes,
            delivery_timeout=options.delivery_timeout,
        )
        async with producer:
            await producer.init()
            if await _done(client, group, word) > once.batch_id:
                return _drained(batches)
            rows = 0
            async with producer.transaction():
                for batch in batches:
                    for topic, partition, record in records(batch, options.topic):
                        await producer.send(
                            topic, record.value, key=record.key, partition=partition, headers=record.headers
                        )
                    rows += batch.num_rows
                if rows:
                    await producer.send_offsets(Member(group), {word: once.batch_id + 1})
            return rows


async def _done(client: Client, group: str, word: TopicPartition) -> int:
    """How many batches this task has written."""

    async def attempt() -> dict[TopicPartition, int]:
        connection = await client.to(await client.coordinator(group))
        return await fetch_offsets(connection, group, [word], stable=True, timeout=client.timeout)

    passing = frozenset({ErrorCode.UNSTABLE_OFFSET_COMMIT})
    found = await client.retry(attempt, group=group, passing=passing)
    return found.get(word, 0)


def _drained(batches: Iterator[Any]) -> int:
    """Nothing written; Spark's worker still wants its input read."""
    for _ in batches:
        pass
    return 0
