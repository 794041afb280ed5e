"""`millstream topic`, against a real node on simulated time."""

import json

import pytest
from tests.cli.shown import shown, text
from tests.client.simulated import Sim, simulate

from millstream.cli.exits import Exit, Failure
from millstream.cli.topic import alter, create, delete, describe, trim
from millstream.cli.topic import list as listing
from millstream.client.topics import Partition, Topic
from millstream.errors import ErrorCode, Refused


def test_creates_lists_and_deletes() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                assert await create.run(client, out, ["b", "a"], partitions=3) == Exit.OK
            assert text(out) == "b: created\na: created\n"
            with shown() as out:
                assert await listing.run(client, out) == Exit.OK
            assert text(out) == "a\t3\t1\tok\nb\t3\t1\tok\n"
            with shown() as out:
                assert await delete.run(client, out, ["a"], yes=True) == Exit.OK
            assert text(out) == "a: deleted\n"
            with shown("json") as out:
                await listing.run(client, out)
            assert [topic["name"] for topic in json.loads(text(out))] == ["b"]

    simulate(story)


def test_creating_twice_is_refused_unless_that_is_fine() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                await create.run(client, out, ["a"], dry_run=True)
                await create.run(client, out, ["a"])
                await create.run(client, out, ["a"], if_missing=True)
                with pytest.raises(Refused) as refusal:
                    await create.run(client, out, ["a"])
            assert refusal.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
            assert text(out) == "a: could be created\na: created\na: exists\n"

    simulate(story)


def test_nothing_is_deleted_if_one_name_is_wrong() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                await create.run(client, out, ["orders"])
                with pytest.raises(Failure, match="no topic 'ordres'; did you mean 'orders'"):
                    await delete.run(client, out, ["orders", "ordres"], yes=True)
                with pytest.raises(Failure, match=r"Delete orders and all records in it\? Add --yes"):
                    await delete.run(client, out, ["orders"])
            assert "orders" in (await client.metadata(None)).topics

    simulate(story)


def test_describes_offsets_sizes_and_changed_settings() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                await create.run(client, out, ["t"], partitions=2, configs={"retention.ms": "1000"})
            async with sim.producer(client) as producer:
                for _ in range(3):
                    await producer.deliver("t", b"x", partition=1)
            with shown("json") as out:
                assert await describe.run(client, out, ["t"]) == Exit.OK
            found = json.loads(text(out))[0]
            assert found["settings"] == {"retention.ms": "1000"}
            assert [(p["partition"], p["leader"], p["start"], p["end"]) for p in found["partitions"]] == [
                (0, 1, 0, 0),
                (1, 1, 0, 3),
            ]
            assert found["partitions"][1]["size_bytes"] > 200
            with shown() as out:
                await describe.run(client, out, ["t"], all_settings=True)
            assert "segment.bytes\t1073741824\tdefault\n" in text(out)

    simulate(story)


def test_a_partition_without_a_leader_is_seen_and_told_by_the_exit_code() -> None:
    led = Partition(0, 1, 5, (1, 2), (1, 2))
    behind = Partition(1, 1, 5, (1, 2), (1,))
    dead = Partition(2, None, 5, (1, 2), ())

    def topic(*partitions: Partition) -> Topic:
        return Topic("t", bytes(16), False, partitions)

    assert listing.health(topic(led)).value == "ok"
    assert listing.health(topic(led, behind)).value == "1 under-replicated"
    assert listing.health(topic(led, behind, dead)).value == "1 without leader"


def test_alters_settings_and_partitions() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                await create.run(client, out, ["t"], partitions=1, configs={"retention.ms": "1000"})
                await alter.run(
                    client, out, "t", partitions=4, set={"segment.bytes": "20000"}, unset=["retention.ms"]
                )
                with pytest.raises(Refused) as refusal:
                    await alter.run(client, out, "t", set={"no.such": "1"})
            assert refusal.value.code is ErrorCode.INVALID_CONFIG
            assert text(out).splitlines()[-1] == "t: segment.bytes=20000, retention.ms unset, 4 partitions"
            with shown("json") as out:
                await describe.run(client, out, ["t"])
            found = json.loads(text(out))[0]
            assert len(found["partitions"]) == 4
            assert found["settings"] == {"segment.bytes": "20000"}

    simulate(story)


def test_trims_what_lies_before() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            with shown() as out:
                await create.run(client, out, ["t"], partitions=2)
            async with sim.producer(client) as producer:
                for n in range(10):
                    await producer.deliver("t", b"x", partition=n % 2)
            with shown() as out:
                assert await trim.run(client, out, "t", "-2", partitions=[1], yes=True) == Exit.OK
            assert text(out) == "1\t3\t3\n"
            with shown("json") as out:
                await trim.run(client, out, "t", "4", yes=True)
            assert json.loads(text(out)) == [
                {"topic": "t", "partition": 0, "deleted": 4, "start": 4},
                {"topic": "t", "partition": 1, "deleted": 1, "start": 4},
            ]
            with pytest.raises(Failure, match="'t' has no partition 7; they are 0 to 1"):
                await trim.run(client, out, "t", "end", partitions=[7], yes=True)

    simulate(story)
