"""`millstream produce` and `consume`, against a real node on simulated time."""

import asyncio
import json
from collections.abc import AsyncIterator

import click
import pytest
from tests.cli.shown import raw, shown, text
from tests.client.simulated import Sim, simulate

from millstream.cli import consume, produce
from millstream.cli.encoding import ENCODINGS
from millstream.cli.exits import Exit, Failure
from millstream.cli.incoming import JsonLines, PlainLines
from millstream.cli.output import Output
from millstream.cli.printing import printer
from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.fetcher import FetchConfig
from millstream.errors import Refused
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.records.control import Marker

PLAIN = printer("plain", None, "utf-8", "utf-8")
WHERE = printer("plain", "%p:%o ", "utf-8", "utf-8")
# The command takes the wall clock's word, which simulated topics must not mind.
ANY_TIME = {"log.message.timestamp.after.max.ms": str((1 << 63) - 1)}


async def feed(*lines: bytes) -> AsyncIterator[list[bytes]]:
    for line in lines:
        yield [line]


async def fill(client: Client, topic: str, partitions: int, records: int) -> None:
    await Admin(client).create_topic(topic, partitions=partitions)
    with shown() as out:
        for index in range(partitions):
            lines = feed(*(b"%d" % n for n in range(records)))
            await produce.run(client, out, topic, lines, PlainLines(), partition=index)


async def consumed(client: Client, topic: str, **options: object) -> str:
    with shown() as out:
        arguments = {"how": WHERE, "follow": False, **options}
        assert await consume.run(client, out, topic, **arguments) == Exit.OK  # type: ignore[arg-type]  # as given
    return text(out).strip()


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_lines_go_in_and_come_out(codec: Codec, acks: int) -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                lines = feed(b"a", b"", b"\xff")
                assert (
                    await produce.run(client, out, "t", lines, PlainLines(), acks=acks, codec=codec)
                    == Exit.OK
                )
            assert text(out) == "3 records delivered to t (2 B)\n"
            await asyncio.sleep(1)
            with shown() as out:
                await consume.run(client, out, "t", PLAIN, follow=False)
            assert raw(out) == b"a\n\n\xff\n"

    simulate(story, settings={"num.partitions": 1, **ANY_TIME})


def test_counts_are_told_by_partition() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await Admin(client).create_topic("t", partitions=3)
            with shown("json") as out:
                lines = feed(
                    b'{"value":"1","partition":2}',
                    b'{"value":"2","partition":0}',
                    b'{"value":null,"partition":2}',
                )
                parser = JsonLines(ENCODINGS["utf-8"], ENCODINGS["utf-8"])
                await produce.run(client, out, "t", lines, parser)
            assert json.loads(text(out)) == {
                "topic": "t",
                "records": 3,
                "bytes": 2,
                "partitions": {"0": 1, "2": 2},
            }

    simulate(story, settings=ANY_TIME)


def test_a_bad_line_is_named_and_ends_it() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out, pytest.raises(Failure, match="line 2: no separator ':'") as failure:
                await produce.run(client, out, "t", feed(b"k:v", b"kv"), PlainLines(separator=b":"))
            assert failure.value.code == Exit.USAGE

    simulate(story, settings=ANY_TIME)


def test_a_record_that_is_refused_ends_it() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out, pytest.raises(Refused, match="MESSAGE_TOO_LARGE"):
                await produce.run(client, out, "t", feed(b"x" * 2_000_000), PlainLines())
            with pytest.raises(Refused, match="'t' has partitions 0 to 0, not 5"):
                await produce.run(client, out, "t", feed(b"x"), PlainLines(), partition=5)

    simulate(story, settings={"num.partitions": 1, **ANY_TIME})


def test_the_offset_says_what_is_read() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 2, 5)
            for offset, expected in {
                "start": "0:0 0:1 0:2 0:3 0:4 1:0 1:1 1:2 1:3 1:4",
                "-2": "0:3 0:4 1:3 1:4",
                "3": "0:3 0:4 1:3 1:4",
                "1:3": "0:1 0:2 1:1 1:2",
                ":1": "0:0 1:0",
                "end": "",
                "99": "",
                "@now": "",
                "@1000": "0:0 0:1 0:2 0:3 0:4 1:0 1:1 1:2 1:3 1:4",
                "@1000:2000": "",
            }.items():
                found = await consumed(client, "t", offset=offset)
                assert " ".join(sorted(found.split())) == expected, offset
            assert await consumed(client, "t", offset="start", partitions=[1], count=2) == "1:0 1:1"

    simulate(story, settings=ANY_TIME)


def test_follows_until_it_has_enough() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 1, 2)
            waiting = asyncio.create_task(consumed(client, "t", follow=True, count=5))
            await asyncio.sleep(30)
            assert not waiting.done()
            with shown() as out:
                await produce.run(client, out, "t", feed(b"a", b"b", b"c", b"d"), PlainLines())
            assert await waiting == "0:0 0:1 0:2 0:3 0:4"

    simulate(story, settings=ANY_TIME)


def test_waits_for_the_end_of_a_range_that_is_yet_to_come() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 1, 2)
            waiting = asyncio.create_task(consumed(client, "t", follow=True, offset="1:4"))
            await asyncio.sleep(30)
            with shown() as out:
                await produce.run(client, out, "t", feed(b"a", b"b", b"c", b"d"), PlainLines())
            assert await waiting == "0:1 0:2 0:3"

    simulate(story, settings=ANY_TIME)


def test_a_group_takes_up_where_it_left() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 1, 5)

            async def read(**options: object) -> str:
                with shown() as out:
                    await consume.run_group(client, out, "t", "g", WHERE, follow=False, **options)  # type: ignore[arg-type]  # as given
                return text(out).strip()

            assert await read(count=2) == "0:0 0:1"
            assert await read() == "0:2 0:3 0:4"
            assert await read() == ""

    simulate(story, settings=ANY_TIME)


def test_a_new_group_may_begin_at_the_end_but_nowhere_else() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 1, 5)
            with shown() as out:
                await consume.run_group(client, out, "t", "g", WHERE, offset="end", follow=False)
                assert text(out) == ""
                with pytest.raises(click.UsageError, match="--offset is start or end"):
                    await consume.run_group(client, out, "t", "g", WHERE, offset="3")

    simulate(story, settings=ANY_TIME)


def test_a_topic_that_is_not_there_is_told_at_once() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with pytest.raises(Failure, match="no topic 't'; 'millstream topic list' shows what is there"):
                await consumed(client, "t")

    simulate(story)


def test_copies_a_topic_byte_for_byte() -> None:
    """What consume prints as JSON in base64, produce writes elsewhere: the same, whatever the bytes."""

    async def story(sim: Sim) -> None:
        base64 = ENCODINGS["base64"]
        async with sim.client() as client:
            await Admin(client).create_topic("a", partitions=2)
            await Admin(client).create_topic("b", partitions=2)
            async with sim.producer(client) as producer:
                await (
                    await producer.send("a", b"\x00\xff", key=b"\xfe", headers=(("h", b"\x80"), ("n", None)))
                )
                await (await producer.send("a", None, key=b"", partition=1))

            async def dump(topic: str) -> Output:
                with shown() as out:
                    how = printer("json", None, "base64", "base64")
                    await consume.run(client, out, topic, how, follow=False)
                return out

            copied = text(await dump("a"))
            with shown() as out:
                lines = feed(*copied.encode().splitlines())
                await produce.run(client, out, "b", lines, JsonLines(base64, base64))
            again = text(await dump("b"))
            assert again.replace('"topic":"b"', '"topic":"a"') == copied

    simulate(story, settings=ANY_TIME)


def test_committed_ends_before_what_is_not_decided() -> None:
    """And does not wait for it, unless it is to follow; what was aborted is left out."""

    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(client, "t", 1, 2)
            assert sim.host.node is not None
            broker = sim.host.node.broker
            hosted = broker.topics.hosted("t", 0)
            partition = hosted.partition
            now_ms = sim.host.clock.now_ms()
            for id, count in ((7, 1), (8, 2)):
                records = [NewRecord(b"k", b"v")] * count
                batch = build(
                    records,
                    now_ms=now_ms,
                    producer_id=id,
                    producer_epoch=0,
                    base_sequence=0,
                    transactional=True,
                )
                partition.append(memoryview(batch), now_ms)
            partition.append_marker(Marker.ABORT, 7, 0, 0, now_ms)
            await fill_more(client)

            committed = FetchConfig(committed_only=True)
            assert await consumed(client, "t") == "0:0 0:1 0:2 0:3 0:4 0:6"
            assert await consumed(client, "t", fetch=committed) == "0:0 0:1"
            partition.append_marker(Marker.COMMIT, 8, 0, 0, now_ms)
            await fill_more(client)
            assert await consumed(client, "t", fetch=committed) == "0:0 0:1 0:3 0:4 0:6 0:8"

    async def fill_more(client: Client) -> None:
        with shown() as out:
            await produce.run(client, out, "t", feed(b"x"), PlainLines(), partition=0)

    simulate(story, settings=ANY_TIME)
