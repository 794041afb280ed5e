"""aiokafka lives through the end of its broker, be it a restart or kill -9."""

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import TopicPartition
from tests.compat.aio.clients import consumer, create, producer, read, read_from, run, send
from tests.compat.node import Node

ENDS: dict[str, Callable[[Node], None]] = {"stop": Node.stop, "kill": Node.kill}


@pytest.mark.parametrize("end", ENDS)
def test_clients_find_everything_again(mortal: Node, name: str, end: str) -> None:
    async def story() -> None:
        await create(mortal.bootstrap, name)
        async with (
            producer(mortal.bootstrap, enable_idempotence=True, retry_backoff_ms=20) as one,
            consumer(mortal.bootstrap, name, group_id=name) as reader,
        ):
            await send(one, name, b"before")
            await read(reader, 1)
            await reader.commit()

            await asyncio.to_thread(ENDS[end], mortal)
            await asyncio.to_thread(mortal.start)

            assert (await send(one, name, b"after"))[0].offset == 1
            assert (await read(reader, 1))[0].value == b"after"
            assert await reader.committed(TopicPartition(name, 0)) == 1

    run(story())


@pytest.mark.parametrize("end", ENDS)
def test_what_is_sent_while_the_broker_is_away_arrives_once_and_in_order(
    mortal: Node, name: str, end: str
) -> None:
    async def story() -> None:
        await create(mortal.bootstrap, name)
        async with producer(mortal.bootstrap, enable_idempotence=True, retry_backoff_ms=20) as one:
            futures = []
            for i in range(300):
                futures.append(await one.send(name, b"%d" % i, partition=0))
                if i == 150:
                    await asyncio.to_thread(ENDS[end], mortal)
            await asyncio.to_thread(mortal.start)
            reports = await asyncio.gather(*futures)
        assert [report.offset for report in reports] == list(range(300))
        got = await read_from(mortal.bootstrap, name, 0, 300)
        assert [int(each.value) for each in got] == list(range(300))

    run(story())
