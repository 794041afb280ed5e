"""Sends the rows of one task to their topics, at least once. Runs in the executors."""

import asyncio
from collections.abc import Iterator
from typing import Any

from millstream.client.producer import Producer
from millstream.client.send_queue import Outcome
from millstream.spark.rows import records
from millstream.spark.sink_options import SinkOptions


def send_rows(options: SinkOptions, batches: Iterator[Any]) -> int:
    """Write all rows of the Arrow record batches; how many they were, when all are acknowledged.

    Raises the first failure, and then some rows may have been written: a task
    that is tried again writes them once more.
    """
    return asyncio.run(_send(options, batches))


async def _send(options: SinkOptions, batches: Iterator[Any]) -> int:
    failures: list[Exception] = []

    def note(outcome: Outcome) -> None:
        if outcome.problem is not None:
            failures.append(outcome.problem)

    rows = 0
    async with options.reach.client() as client:
        async with Producer(
            client,
            acks=options.acks,
            codec=options.codec,
            idempotent=options.idempotent,
            batch_bytes=options.batch_bytes,
            delivery_timeout=options.delivery_timeout,
            on_batch=note,
        ) as producer:
            for batch in batches:
                for topic, partition, record in records(batch, options.topic):
                    await producer.post(topic, record, partition)
                rows += batch.num_rows
                if failures:
                    break
        if failures:
            raise failures[0]
    return rows
