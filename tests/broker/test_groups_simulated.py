"""Consumers that behave as clients do, over groups that crash."""

import asyncio
from random import Random
from typing import final

import pytest
from tests.broker.group_helpers import MemoryLog, a_join, groups_over, simulated

from millstream.broker.groups import Groups
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import Joined, Leaver, MemberIdGiven, State, Sync

CONFIG = GroupConfig(initial_rebalance_delay_ms=1_000)
PARTITIONS = 4
TROUBLE_SECONDS = 240
QUIET_SECONDS = 180
EXPECTED = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


@final
class World:
    """One node that can crash, with the log it leaves."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._ids = Random(1)  # goes on when the node crashes: no two members get the same
        self.log = MemoryLog(delay=self._commit_delay)
        self.groups = groups_over(self.log, CONFIG, random=self._ids)
        self.acked: dict[int, int] = {}
        self.last_offset = 0
        self.trouble = True

    def _commit_delay(self) -> float:
        return self.random.choice((0.0, 0.001, 0.02, 0.5)) if self.trouble else 0.001

    def crash(self) -> None:
        """The process is gone, and callers with it; of what was appended, all happens to be there."""
        self.groups.stop()
        self.groups = groups_over(self.log, CONFIG, random=self._ids)
        self.groups.start()


@final
class Consumer:
    """A client with a small memory: who it is, in which generation, and what its part is."""

    def __init__(self, world: World, name: str, static: bool) -> None:
        self._world = world
        self._name = name
        self._instance = name if static else None
        self.member_id = ""
        self.generation = -1
        self.part: list[int] = []

    async def run(self) -> None:
        while True:
            try:
                await self._join()
                await self._work()
            except Refused as refusal:
                if refusal.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                    self.member_id = ""
                if refusal.code not in EXPECTED:
                    raise
                await asyncio.sleep(0.1)

    async def _join(self) -> None:
        answer: Joined | MemberIdGiven = MemberIdGiven(self.member_id)
        while isinstance(answer, MemberIdGiven):
            join = a_join(
                answer.member_id, instance_id=self._instance, client_id=self._name, knows_two_steps=True
            )
            async with asyncio.timeout(70):
                answer = await self._groups.join("g", join)
        self.member_id, self.generation = answer.member_id, answer.generation
        given: dict[str, list[str]] = {each.id: [] for each in answer.members}
        for index in range(PARTITIONS if given else 0):
            given[sorted(given)[index % len(given)]].append(str(index))
        sync = Sync(
            member_id=self.member_id,
            instance_id=self._instance,
            generation=self.generation,
            assignments=tuple((to, ",".join(part).encode()) for to, part in given.items()),
        )
        synced = await self._groups.sync("g", sync)
        self.part = [int(index) for index in synced.assignment.decode().split(",") if index]

    async def _work(self) -> None:
        world = self._world
        while True:
            await asyncio.sleep(world.random.uniform(0.5, 3))
            if world.trouble and world.random.random() < 0.02:
                await asyncio.sleep(world.random.uniform(1, 15))
            if world.trouble and world.random.random() < 0.02:
                await self._groups.leave("g", [Leaver(self.member_id, self._instance)])
                self.member_id = ""
                await asyncio.sleep(world.random.uniform(0, 20))
                return
            await self._groups.heartbeat("g", self.member_id, self._instance, self.generation)
            await self._commit()

    async def _commit(self) -> None:
        world = self._world
        world.last_offset += 1
        offset = world.last_offset
        commit = Commit(
            member_id=self.member_id,
            instance_id=self._instance,
            generation=self.generation,
            offsets=tuple(NewOffset("t", index, offset) for index in self.part),
        )
        done = await self._groups.commit_offsets("g", commit)
        assert done.errors == {}
        for index in self.part:
            world.acked[index] = max(world.acked.get(index, 0), offset)

    @property
    def _groups(self) -> Groups:
        return self._world.groups


@pytest.mark.parametrize("seed", range(12))
def test_everyone_ends_up_with_a_part_and_nothing_acked_is_lost(seed: int) -> None:
    async def main() -> None:
        random = Random(seed)
        world = World(random)
        world.groups.start()
        consumers = [Consumer(world, f"c{number}", static=number % 3 == 0) for number in range(1 + seed % 5)]
        tasks = [asyncio.ensure_future(each.run()) for each in consumers]
        loop = asyncio.get_running_loop()
        while loop.time() < TROUBLE_SECONDS:
            await asyncio.sleep(random.expovariate(1 / 40))
            world.crash()
        world.trouble = False
        await asyncio.sleep(QUIET_SECONDS)

        for task in tasks:
            assert not task.done(), task.exception()
        described = world.groups.describe("g")
        assert described.state is State.STABLE
        assert {each.id for each in described.members} == {each.member_id for each in consumers}
        assert len({each.generation for each in consumers}) == 1
        assert sorted(index for each in consumers for index in each.part) == list(range(PARTITIONS))
        offsets = (await world.groups.fetch_offsets("g", None)).offsets
        for index, acked in world.acked.items():
            found = offsets["t", index]
            assert found is not None
            assert found.offset >= acked
        for task in tasks:
            task.cancel()
        world.groups.stop()
        await asyncio.sleep(0)
        assert world.groups.waiting == 0

    simulated(main, seed)
