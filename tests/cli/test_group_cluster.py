"""`millstream group` and `cluster`, against a real node on simulated time."""

import asyncio
import json

import pytest
from tests.cli.shown import shown, text
from tests.client.simulated import Sim, simulate

from millstream.cli.cluster import health, info
from millstream.cli.exits import Exit, Failure
from millstream.cli.group import delete, describe, reset
from millstream.cli.group import list as listing
from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.consumer import Consumer
from millstream.errors import ErrorCode, Refused


async def fill(sim: Sim, client: Client) -> None:
    await Admin(client).create_topic("t", partitions=2)
    async with sim.producer(client) as producer:
        for n in range(10):
            await producer.deliver("t", b"%d" % n, partition=n % 2)


async def read(client: Client, count: int) -> None:
    """Group g reads so many."""
    async with Consumer(client, group="g", topics=["t"], reset="earliest") as consumer:
        taken = 0
        while taken < count:
            taken += len(await consumer.poll(30.0, most=count - taken))


def test_shows_how_far_a_group_is_behind() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            await read(client, 7)
            with shown() as out:
                assert await listing.run(client, out) == Exit.OK
            assert text(out) == "g\tEmpty\tclassic\tconsumer\t1\n"
            with shown("json") as out:
                assert await describe.run(client, out, ["g"]) == Exit.OK
            found = json.loads(text(out))[0]
            assert (found["state"], found["lag"], found["members"]) == ("Empty", 3, [])
            assert sum(row["committed"] for row in found["offsets"]) == 7
            assert all(row["lag"] == row["end"] - row["committed"] for row in found["offsets"])
            assert await describe.run(client, out, ["g"], max_lag=3) == Exit.OK
            assert await describe.run(client, out, ["g"], max_lag=2) == Exit.NO

    simulate(story)


def test_shows_who_holds_what() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            async with Consumer(client, group="g", topics=["t"], commit_interval=None) as consumer:
                await consumer.poll(10.0)
                with shown("json") as out:
                    await describe.run(client, out, ["g"])
                found = json.loads(text(out))[0]
                assert (found["state"], found["assignor"], len(found["members"])) == ("Stable", "range", 1)
                assert [row["committed"] for row in found["offsets"]] == [None, None]
                assert {row["member"] for row in found["offsets"]} == {found["members"][0]["id"]}

    simulate(story)


def test_resets_to_any_place_of_the_grammar() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            await read(client, 10)
            with shown() as out:
                assert await reset.run(client, out, "g", "-2", dry_run=True) == Exit.OK
            assert text(out) == "t\t0\t5\t3\t-2\nt\t1\t5\t3\t-2\n"
            with shown("json") as out:
                await describe.run(client, out, ["g"])
            assert json.loads(text(out))[0]["lag"] == 0, "a dry run changes nothing"
            with shown() as out:
                await reset.run(client, out, "g", "start", [("t", [1])], yes=True)
            assert text(out) == "t\t1\t5\t0\t-5\n"
            with shown("json") as out:
                await describe.run(client, out, ["g"])
            assert [row["committed"] for row in json.loads(text(out))[0]["offsets"]] == [5, 0]
            with shown() as out, pytest.raises(Failure, match="Add --yes"):
                await reset.run(client, out, "g", "start")

    simulate(story)


def test_a_group_may_be_placed_before_it_first_reads() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            with shown() as out:
                with pytest.raises(Failure, match="has read nothing yet; name topics with --topic"):
                    await reset.run(client, out, "new", "start", yes=True)
                await reset.run(client, out, "new", "3", [("t", [])], yes=True)
            assert text(out) == "t\t0\t-\t3\t-\nt\t1\t-\t3\t-\n"

    simulate(story)


def test_a_group_with_members_is_left_alone() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            async with Consumer(client, group="g", topics=["t"], commit_interval=0.1) as consumer:
                await consumer.poll(10.0)
                await asyncio.sleep(1)
                await consumer.poll(1.0)
                with shown() as out:
                    with pytest.raises(
                        Failure, match="'g' is Stable with 1 member; stop them first"
                    ) as failure:
                        await reset.run(client, out, "g", "start", [("t", [])], yes=True)
                    assert failure.value.code == Exit.REFUSED
                    with pytest.raises(Refused) as refusal:
                        await delete.run(client, out, ["g"], yes=True)
                    assert refusal.value.code is ErrorCode.NON_EMPTY_GROUP

    simulate(story)


def test_deletes_a_group() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            await read(client, 1)
            with shown() as out:
                await delete.run(client, out, ["g"], yes=True)
                with pytest.raises(Refused) as refusal:
                    await describe.run(client, out, ["g"])
            assert text(out) == "g: deleted\n"
            assert refusal.value.code is ErrorCode.GROUP_ID_NOT_FOUND

    simulate(story)


def test_tells_who_is_in_the_cluster() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client)
            with shown("json") as out:
                assert await info.run(client, out) == Exit.OK
            found = json.loads(text(out))
            assert (found["topics"], found["partitions"], found["controller"]) == (1, 2, 1)
            broker = found["brokers"][0]
            assert (broker["id"], broker["host"], broker["port"], broker["leads"]) == (1, "broker", 9092, 2)
            assert broker["size_bytes"] > 500
            with shown() as out:
                assert await health.run(client, out) == Exit.OK
            assert text(out) == "healthy: 2 partitions on 1 broker\n"

    simulate(story)
