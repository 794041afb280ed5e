"""The producer, against a real node on simulated time."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.simulated import Sim, simulate

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.send_queue import Delivered, Outcome
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused
from millstream.records.build import NewRecord
from millstream.records.compression import Codec
from millstream.records.keys import partition_of_key


async def everything(client: Client, topic: str, partitions: int) -> list[Consumed]:
    """All records, partition by partition."""
    names = [TopicPartition(topic, index) for index in range(partitions)]
    ends = await list_offsets(client, dict.fromkeys(names, LATEST))
    found: list[Consumed] = []
    async with Consumer(client) as consumer:
        starts = await list_offsets(client, dict.fromkeys(names, EARLIEST))
        consumer.assign({name: starts[name] or 0 for name in names})
        while consumer.positions() != ends:
            found += await consumer.poll()
    return sorted(found, key=lambda record: (record.partition, record.offset))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("acks", [-1, 1])
def test_what_is_sent_can_be_read(codec: Codec, acks: int) -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, sim.producer(client, codec=codec, acks=acks) as producer:
            headers = (("h", b"1"), ("h", None))
            first = await (await producer.send("t", b"v", key=b"k", headers=headers, timestamp_ms=5))
            second = await producer.deliver("t", None, key=b"k")
            assert (first.offset, second.offset) == (0, 1)
            assert first.partition == second.partition
            found = await everything(client, "t", 1)
            assert found[0] == Consumed("t", 0, 0, 5, b"k", b"v", headers)
            assert (found[1].key, found[1].value) == (b"k", None)

    simulate(story, settings={"num.partitions": 1})


def test_keys_go_where_all_clients_put_them_and_in_order() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await Admin(client).create_topic("t", partitions=5)
            async with sim.producer(client) as producer:
                for n in range(200):
                    await producer.send("t", b"%d" % n, key=b"key-%d" % (n % 11))
            found = await everything(client, "t", 5)

        assert len(found) == 200
        for record in found:
            assert record.key is not None
            assert record.partition == partition_of_key(record.key, 5)
        for key in {record.key for record in found}:
            values = [int(record.value or b"") for record in found if record.key == key]
            assert values == sorted(values)

    simulate(story)


def test_keyless_records_are_spread_in_whole_batches() -> None:
    async def story(sim: Sim) -> None:
        outcomes: list[Outcome] = []
        async with sim.client() as client:
            await Admin(client).create_topic("t", partitions=3)
            async with sim.producer(client, batch_bytes=2000, on_batch=outcomes.append) as producer:
                for n in range(600):
                    await producer.post("t", NewRecord(None, b"%06d" % n))
            found = await everything(client, "t", 3)

        assert sorted(int(record.value or b"") for record in found) == list(range(600))
        assert {outcome.partition.partition for outcome in outcomes} == {0, 1, 2}
        assert len(outcomes) < 60
        assert producer.records_delivered == 600
        assert producer.bytes_delivered == 600 * 6

    simulate(story)


def test_a_full_buffer_makes_the_sender_wait() -> None:
    async def story(sim: Sim) -> None:
        async with (
            sim.client() as client,
            sim.producer(client, buffer_bytes=5_000, batch_bytes=1_000) as producer,
        ):
            for n in range(300):
                await producer.send("t", b"x" * 100, key=b"%d" % n)
                assert producer.buffered_bytes <= 5_200
        assert producer.records_delivered == 300

    simulate(story)


def test_a_batch_whose_answer_is_lost_is_sent_again_but_not_kept_twice() -> None:
    """The node dies again and again while we send; every record is there, once and in order."""

    async def story(sim: Sim) -> list[Consumed]:
        async with sim.client(timeout=1.0) as client:
            await Admin(client).create_topic("t", partitions=2)
            async with sim.producer(client) as producer:
                sent = []
                for n in range(400):
                    sent.append(await producer.send("t", b"%d" % n, partition=n % 2))
                    if n % 50 == 25:
                        sim.host.kill(back_after=0.3)
                    await asyncio.sleep(0.01)
                delivered: list[Delivered] = await asyncio.gather(*sent)
            found = await everything(client, "t", 2)
        for n, place in enumerate(delivered):
            record = next(r for r in found if (r.partition, r.offset) == (place.partition, place.offset))
            assert record.value == b"%d" % n
        return found

    for seed in range(3):
        found = simulate(story, seed=seed)
        assert [int(record.value or b"") for record in found] == [*range(0, 400, 2), *range(1, 400, 2)]


def test_a_record_that_is_refused_fails_alone() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, sim.producer(client) as producer:
            await producer.deliver("t", b"before")
            with pytest.raises(Refused) as refusal:
                await producer.deliver("t", b"x" * 2_000_000)
            assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
            await producer.deliver("t", b"after")
            assert [record.value for record in await everything(client, "t", 1)] == [b"before", b"after"]

    simulate(story, settings={"num.partitions": 1})


def test_what_cannot_be_delivered_in_time_fails() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client(timeout=1.0) as client:
            producer = sim.producer(client, delivery_timeout=5.0)
            await producer.deliver("t", b"1")
            began = sim.loop.time()
            sim.host.kill()
            with pytest.raises(ConnectionError):
                await producer.deliver("t", b"2")
            assert 5 <= sim.loop.time() - began < 10
            await sim.up()
            assert (await producer.deliver("t", b"3")).offset == 1
            await producer.close()

    simulate(story, settings={"num.partitions": 1})


def test_a_batch_of_unknown_fate_does_not_swallow_the_next() -> None:
    """It was written but nobody told us; under its sequence the next one would pass for the same."""

    async def story(sim: Sim) -> None:
        async with sim.client(timeout=1.0) as client:
            producer = sim.producer(client, delivery_timeout=3.0)
            await producer.deliver("t", b"1")
            sim.loop.network.cut("broker", "outside", both=False)
            with pytest.raises(ConnectionError):
                await producer.deliver("t", b"2")
            sim.loop.network.heal()
            await producer.deliver("t", b"3")
            await producer.close()
            assert [r.value for r in await everything(client, "t", 1)] == [b"1", b"2", b"3"]

    simulate(story, settings={"num.partitions": 1})


def test_closing_without_flushing_says_so_to_who_waits() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            producer = sim.producer(client)
            await producer.deliver("t", b"1")
            waiting = await producer.send("t", b"2")
            await producer.close(flush=False)
            with pytest.raises(ConnectionError, match="the producer was closed"):
                await waiting

    simulate(story)


def test_unknown_topics_and_partitions_are_refused_at_once() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, sim.producer(client) as producer:
            with pytest.raises(Refused, match="no topic 'missing'"):
                await producer.send("missing", b"")
            await Admin(client).create_topic("t", partitions=2)
            with pytest.raises(Refused, match="'t' has partitions 0 to 1, not 2"):
                await producer.send("t", b"", partition=2)

    simulate(story, settings={"auto.create.topics.enable": "false"})


def test_acks_0_asks_for_no_answer() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, sim.producer(client, acks=0) as producer:
            assert (await producer.deliver("t", b"1")).offset == -1
            await asyncio.sleep(1)
            assert [record.value for record in await everything(client, "t", 1)] == [b"1"]

    simulate(story, settings={"num.partitions": 1})


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    values=st.lists(st.binary(max_size=40), min_size=1, max_size=30),
    batch_bytes=st.integers(1, 200),
)
def test_whatever_the_batches_the_order_is_kept(seed: int, values: list[bytes], batch_bytes: int) -> None:
    async def story(sim: Sim) -> list[bytes | None]:
        async with sim.client() as client:
            async with sim.producer(client, batch_bytes=batch_bytes) as producer:
                for value in values:
                    await producer.send("t", value)
            return [record.value for record in await everything(client, "t", 1)]

    assert simulate(story, seed=seed, settings={"num.partitions": 1}) == values
