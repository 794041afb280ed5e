"""aiokafka in groups: members come and go, and go on where the group was."""

from typing import Any

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from tests.compat.aio.clients import consumer, create, poll_until, producer, read, run, send


def share(member: Any) -> set[int]:
    return {each.partition for each in member.assignment()}


async def settle(*members: Any, partitions: int) -> None:
    """Until *members* share all *partitions* among them, and each has some."""

    def settled() -> bool:
        shares = [share(each) for each in members]
        return all(shares) and sorted(p for each in shares for p in each) == list(range(partitions))

    await poll_until(members, settled)


def test_members_come_and_go(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name, 6)
        async with consumer(bootstrap, name, group_id=name) as first:
            await settle(first, partitions=6)
            async with consumer(bootstrap, name, group_id=name) as second:
                await settle(first, second, partitions=6)
                async with consumer(bootstrap, name, group_id=name) as third:
                    await settle(first, second, third, partitions=6)
                    assert {len(share(each)) for each in (first, second, third)} == {2}
                await settle(first, second, partitions=6)
            await settle(first, partitions=6)

    run(story())


def test_every_assignor(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name, 4)
        for assignor in (RoundRobinPartitionAssignor, StickyPartitionAssignor):
            group = f"{name}-{assignor.name}"
            settings = {"group_id": group, "partition_assignment_strategy": [assignor]}
            async with (
                consumer(bootstrap, name, **settings) as first,
                consumer(bootstrap, name, **settings) as second,
            ):
                await settle(first, second, partitions=4)

    run(story())


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Notes what its member is given, each time."""

    def __init__(self) -> None:
        self.given: list[set[int]] = []

    async def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self.given.append({each.partition for each in assigned})


def test_commits_by_itself_when_stopped(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name)
        async with producer(bootstrap) as one:
            await send(one, name, b"a", b"b", b"c")
        async with consumer(bootstrap, name, group_id=name, enable_auto_commit=True) as reader:
            await read(reader, 3)
        async with consumer(bootstrap, group_id=name) as looker:
            looker.assign([TopicPartition(name, 0)])
            assert await looker.committed(TopicPartition(name, 0)) == 3

    run(story())


def test_a_pattern_finds_new_topics(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, f"{name}-a")
        async with consumer(bootstrap, group_id=name, metadata_max_age_ms=300) as reader:
            reader.subscribe(pattern=f"^{name}-.*")
            await poll_until([reader], lambda: len(reader.assignment()) == 1)
            await create(bootstrap, f"{name}-b", 2)
            await poll_until([reader], lambda: len(reader.assignment()) == 3)

    run(story())
