"""aiokafka consumes by assignment: where to begin, moving about, pausing, lag."""

import asyncio

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.errors import OffsetOutOfRangeError
from tests.compat.aio.clients import SECONDS, admin, consumer, create, producer, read, read_from, run, send

FIRST_MS = 1_700_000_000_000


async def fill(bootstrap: str, topic: str) -> TopicPartition:
    """Two partitions: twenty records a second apart, in two batches, and an empty one."""
    await create(bootstrap, topic, 2)
    async with producer(bootstrap) as one:
        for start in (0, 10):
            batch = one.create_batch()
            for i in range(start, start + 10):
                batch.append(key=None, value=b"%d" % i, timestamp=FIRST_MS + 1000 * i)
            await (await one.send_batch(batch, topic, partition=0))
    return TopicPartition(topic, 0)


def test_from_any_offset(bootstrap: str, name: str) -> None:
    async def story() -> None:
        place = await fill(bootstrap, name)
        async with consumer(bootstrap) as reader:
            reader.assign([place])
            for offset in (0, 13, 10, 9, 19):
                reader.seek(place, offset)
                assert (await read(reader, 1))[0].value == b"%d" % offset
            await reader.seek_to_beginning(place)
            assert (await read(reader, 20))[-1].offset == 19
            await reader.seek_to_end(place)
            async with producer(bootstrap) as one:
                await send(one, name, b"new")
            assert (await read(reader, 1))[0].value == b"new"

    run(story())


def test_finds_offsets(bootstrap: str, name: str) -> None:
    """By time, and the first and the last."""

    async def story() -> None:
        place = await fill(bootstrap, name)
        empty = TopicPartition(name, 1)
        async with consumer(bootstrap) as reader:
            for time, offset in ((-5, 0), (7000, 7), (7001, 8), (19_000, 19)):
                found = await reader.offsets_for_times({place: FIRST_MS + time})
                assert found[place].offset == offset
            nothing = await reader.offsets_for_times({place: FIRST_MS + 19_001, empty: 0})
            assert nothing == {place: None, empty: None}
            assert await reader.beginning_offsets([place, empty]) == {place: 0, empty: 0}
            assert await reader.end_offsets([place, empty]) == {place: 20, empty: 0}

    run(story())


@pytest.mark.parametrize(("reset", "begins"), [("earliest", 0), ("latest", 20)])
def test_auto_offset_reset(bootstrap: str, name: str, reset: str, begins: int) -> None:
    async def story() -> None:
        place = await fill(bootstrap, name)
        async with consumer(bootstrap, auto_offset_reset=reset) as reader:
            reader.assign([place])
            assert await asyncio.wait_for(reader.position(place), SECONDS) == begins

            reader.seek(place, 1_000)
            async with asyncio.timeout(SECONDS):
                while await reader.position(place) == 1_000:
                    await reader.getmany(timeout_ms=50, max_records=1)
            assert await reader.position(place) - begins in (0, 1)

    run(story())


def test_an_offset_that_is_not_there_is_told_if_one_asks(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await fill(bootstrap, name)
        with pytest.raises(OffsetOutOfRangeError):
            await read_from(bootstrap, name, 1_000, 1, auto_offset_reset="none")

    run(story())


def test_what_was_deleted_is_skipped(bootstrap: str, name: str) -> None:
    async def story() -> None:
        place = await fill(bootstrap, name)
        async with admin(bootstrap) as client:
            assert await client.delete_records({place: RecordsToDelete(before_offset=12)}) == {place: 12}
        got = await read_from(bootstrap, name, 0, 8)
        assert [each.offset for each in got] == list(range(12, 20))

    run(story())
