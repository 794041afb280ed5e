"""The driver of groups: what is written, when it is said, and what a crash or a refusal leaves."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.broker.group_helpers import (
    PARTITIONS,
    LoopClock,
    MemoryLog,
    SomeTopics,
    a_join,
    groups_over,
    simulated,
    started,
)

from millstream.broker.groups import Groups
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import Fetched, Heard, Joined, Leaver, MemberIdGiven, State, Sync, Synced


async def code_of(future: Awaitable[object]) -> ErrorCode:
    """The code *future* is refused with."""
    with pytest.raises(Refused) as refused:
        await future
    return refused.value.code


async def joined(groups: Groups, name: str = "g", **changes: object) -> Joined:
    answer = await groups.join(name, a_join(**changes))  # type: ignore[arg-type]
    assert isinstance(answer, Joined)
    return answer


async def stable(groups: Groups, name: str = "g", **changes: object) -> Joined:
    """One member, alone in a stable group."""
    member = await joined(groups, name, **changes)
    await groups.sync(name, leader_sync(member))
    return member


def leader_sync(leader: Joined) -> Sync:
    given = tuple((each.id, f"for {each.id}".encode()) for each in leader.members)
    return Sync(member_id=leader.member_id, generation=leader.generation, assignments=given)


def commit(*offsets: NewOffset, member: Joined | None = None) -> Commit:
    if member is None:
        return Commit(offsets=offsets)
    return Commit(member_id=member.member_id, generation=member.generation, offsets=offsets)


def offset_of(fetched: Fetched, topic: str = "t", partition: int = 0) -> int | None:
    found = fetched.offsets[topic, partition]
    return None if found is None else found.offset


def test_an_assignment_is_told_only_once_it_is_committed() -> None:
    async def main() -> None:
        log = MemoryLog(delay=lambda: None)
        groups = await started(log)
        first = await joined(groups)

        synced = groups.sync("g", leader_sync(first))
        again = groups.sync("g", Sync(member_id=first.member_id, generation=1))
        await asyncio.sleep(1)
        assert not synced.done()
        assert not again.done(), "a later answer must not rest on what is not committed either"

        log.commit()
        assert (await synced).assignment == (await again).assignment == f"for {first.member_id}".encode()
        groups.stop()

    simulated(main)


def test_fetched_offsets_are_committed_ones() -> None:
    async def main() -> None:
        log = MemoryLog(delay=lambda: None)
        groups = await started(log)
        done = groups.commit_offsets("g", commit(NewOffset("t", 0, 42)))
        fetched = groups.fetch_offsets("g", [("t", 0)])
        await asyncio.sleep(1)
        assert not done.done()
        assert not fetched.done()

        log.commit()
        assert (await done).errors == {}
        assert offset_of(await fetched) == 42
        groups.stop()

    simulated(main)


def test_unknown_partitions_are_refused_one_by_one() -> None:
    async def main() -> None:
        groups = await started(MemoryLog())
        done = await groups.commit_offsets(
            "g", commit(NewOffset("t", 0, 1), NewOffset("t", 9, 1), NewOffset("x", 0, 1))
        )
        assert done.errors == {
            ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        everything = await groups.fetch_offsets("g", None)
        assert list(everything.offsets) == [("t", 0)]
        groups.stop()

    simulated(main)


def test_members_go_on_after_a_restart_as_if_nothing_had_happened() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        member = await stable(before)
        await before.commit_offsets("g", commit(NewOffset("t", 0, 7, 3, "note"), member=member))
        before.stop()

        after = await started(log)
        assert await after.heartbeat("g", member.member_id, None, member.generation) == Heard()
        again = await after.sync("g", Sync(member_id=member.member_id, generation=member.generation))
        assert again == Synced("consumer", "range", f"for {member.member_id}".encode())
        found = (await after.fetch_offsets("g", [("t", 0)])).offsets["t", 0]
        assert found is not None
        assert (found.offset, found.leader_epoch, found.metadata) == (7, 3, "note")

        await asyncio.sleep(9.9)  # the session began anew when the group was loaded
        assert after.describe("g").state is State.STABLE
        await asyncio.sleep(0.2)
        assert after.describe("g").state is State.EMPTY
        after.stop()

    simulated(main)


def test_timers_run_on_the_loop() -> None:
    async def main() -> None:
        groups = await started(MemoryLog(), GroupConfig())
        loop = asyncio.get_running_loop()
        began = loop.time()
        given_id = await groups.join("g", a_join(knows_two_steps=True))
        assert isinstance(given_id, MemberIdGiven)
        member = await joined(groups, member_id=given_id.member_id)
        assert loop.time() - began == pytest.approx(3.0), "the initial rebalance delay"
        await groups.sync("g", leader_sync(member))

        for _ in range(5):
            await asyncio.sleep(9)
            await groups.heartbeat("g", member.member_id, None, 1)
        await asyncio.sleep(10.1)
        assert await code_of(groups.heartbeat("g", member.member_id, None, 1)) is ErrorCode.UNKNOWN_MEMBER_ID
        groups.stop()

    simulated(main)


def test_one_who_hangs_up_leaves_nothing_behind() -> None:
    async def main() -> None:
        groups = await started(MemoryLog(), GroupConfig())
        waiting = groups.join("g", a_join())
        assert len(groups.describe("g").members) == 1
        waiting.cancel()
        await asyncio.sleep(0.001)
        assert groups.describe("g").members == ()
        assert groups.waiting == 0

        await asyncio.sleep(4)  # the initial delay ends, and with it the group
        assert groups.describe("g").state is State.EMPTY
        groups.stop()

    simulated(main)


def test_a_member_that_hangs_up_and_comes_back_keeps_its_place() -> None:
    async def main() -> None:
        groups = await started(MemoryLog(), GroupConfig())
        given_id = await groups.join("g", a_join(knows_two_steps=True))
        assert isinstance(given_id, MemberIdGiven)
        groups.join("g", a_join(given_id.member_id)).cancel()
        await asyncio.sleep(1)
        assert groups.waiting == 0
        again = await joined(groups, member_id=given_id.member_id)
        assert again.member_id == given_id.member_id
        assert groups.waiting == 0
        groups.stop()

    simulated(main)


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_could_not_be_written_has_not_happened(cause: ErrorCode, told: ErrorCode) -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        first = await stable(groups)
        second = groups.join("g", a_join())
        rejoined = groups.join("g", a_join(first.member_id))
        new = await rejoined
        assert isinstance(new, Joined)
        follower = await second
        assert isinstance(follower, Joined)
        waiting = groups.sync("g", Sync(member_id=follower.member_id, generation=2))

        log.refusal = Refused(cause, "no")
        assert await code_of(groups.sync("g", leader_sync(new))) is told
        assert await code_of(waiting) is told
        described = groups.describe("g")
        assert described.state is State.STABLE
        assert [each.id for each in described.members] == [first.member_id], "as it was last written"
        assert await code_of(groups.commit_offsets("g", commit(NewOffset("t", 0, 1), member=first))) in (
            told,
            ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        )

        log.refusal = None
        assert await groups.heartbeat("g", first.member_id, None, 1) == Heard()
        await groups.commit_offsets("g", commit(NewOffset("t", 0, 1), member=first))
        groups.stop()

    simulated(main)


def test_after_a_write_that_may_be_lost_groups_are_read_again() -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        member = await stable(groups)
        await groups.commit_offsets("g", commit(NewOffset("t", 0, 1), member=member))

        log.settle_later()
        lost = groups.commit_offsets("g", commit(NewOffset("t", 0, 2), member=member))
        parked = groups.join("g", a_join())
        log.lose(Refused(ErrorCode.KAFKA_STORAGE_ERROR, "disk"))
        assert await code_of(lost) is ErrorCode.NOT_COORDINATOR
        assert await code_of(parked) is ErrorCode.NOT_COORDINATOR

        log.settle_at_once()
        assert offset_of(await groups.fetch_offsets("g", [("t", 0)])) == 1
        assert await groups.heartbeat("g", member.member_id, None, 1) == Heard()
        assert groups.waiting == 0
        groups.stop()

    simulated(main)


def test_while_groups_are_loaded_only_heartbeats_are_welcome() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        member = await stable(before)
        before.stop()

        groups = groups_over(log)
        groups.start()
        assert await groups.heartbeat("g", member.member_id, None, 1) == Heard()
        assert await code_of(groups.join("g", a_join())) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
            groups.listed()
        with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
            groups.describe("g")
        await asyncio.sleep(1)
        assert [each.name for each in groups.listed()] == ["g"]
        groups.stop()

    simulated(main)


def test_a_record_that_makes_no_sense_is_passed_over() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        await before.commit_offsets("g", commit(NewOffset("t", 0, 5)))
        before.stop()
        for partition in range(PARTITIONS):
            log.records[partition][:0] = [(b"\0\1garbage", b"\0\3"), (b"\0\x09newer", b"?"), (b"", None)]

        after = await started(log)
        assert offset_of(await after.fetch_offsets("g", [("t", 0)])) == 5
        after.stop()

    simulated(main)


def test_offsets_of_a_deleted_topic_are_forgotten_for_good() -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        for name in ("g", "h"):
            await groups.commit_offsets(name, commit(NewOffset("t", 0, 5), NewOffset("u", 1, 6)))
        groups.topic_deleted("t")
        groups.stop()

        after = await started(log)
        for name in ("g", "h"):
            assert list((await after.fetch_offsets(name, None)).offsets) == [("u", 1)]
        after.stop()

    simulated(main)


def test_offsets_of_a_topic_that_was_deleted_just_before_a_crash_are_forgotten_too() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        await before.commit_offsets("g", commit(NewOffset("t", 0, 5), NewOffset("u", 1, 6)))
        before.stop()

        topics = SomeTopics()
        without = topics.known.pop("t")
        (await started(log, topics=topics)).stop()
        topics.known["t"] = without  # created again, and not the same
        after = await started(log, topics=topics)
        assert list((await after.fetch_offsets("g", None)).offsets) == [("u", 1)]
        after.stop()

    simulated(main)


def test_nothing_is_said_between_a_failed_write_and_the_news_of_it() -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        member = await stable(groups)
        log.settle_later()
        lost = groups.commit_offsets("g", commit(NewOffset("t", 0, 2), member=member))
        log.lose(Refused(ErrorCode.KAFKA_STORAGE_ERROR, "disk"))
        hasty = groups.fetch_offsets("g", [("t", 0)])
        assert await code_of(lost) is ErrorCode.NOT_COORDINATOR
        assert await code_of(hasty) is ErrorCode.NOT_COORDINATOR
        groups.stop()

    simulated(main)


def test_offsets_expire_after_the_group_has_become_empty() -> None:
    async def main() -> None:
        config = GroupConfig(
            initial_rebalance_delay_ms=0,
            offsets_retention_minutes=10,
            offsets_retention_check_interval_ms=60_000,
        )
        log = MemoryLog()
        groups = await started(log, config)
        member = await stable(groups)
        await groups.commit_offsets("g", commit(NewOffset("t", 0, 5), member=member))
        for _ in range(3):
            for _ in range(100):
                await asyncio.sleep(9)
                await groups.heartbeat("g", member.member_id, None, 1)
        assert offset_of(await groups.fetch_offsets("g", [("t", 0)])) == 5, "a member may still need it"

        await groups.leave("g", [Leaver(member.member_id)])
        await asyncio.sleep(599)
        assert offset_of(await groups.fetch_offsets("g", [("t", 0)])) == 5
        await asyncio.sleep(62)
        assert offset_of(await groups.fetch_offsets("g", [("t", 0)])) is None
        assert groups.describe("g").state is State.DEAD
        assert len(groups) == 0
        groups.stop()

        after = await started(log, config)
        assert after.listed() == []
        after.stop()

    simulated(main)


def test_a_clock_that_is_set_a_year_ahead_takes_no_offsets() -> None:
    async def main() -> None:
        config = GroupConfig(offsets_retention_minutes=60, offsets_retention_check_interval_ms=60_000)
        clock = LoopClock()
        groups = groups_over(MemoryLog(), config, clock=clock)
        groups.start()
        await groups.ready()
        await groups.commit_offsets("g", commit(NewOffset("t", 0, 5)))
        await asyncio.sleep(1200)
        clock.ahead_ms = 365 * 86_400_000
        await asyncio.sleep(300)
        clock.ahead_ms = 0
        await asyncio.sleep(1200)
        assert offset_of(await groups.fetch_offsets("g", [("t", 0)])) == 5
        groups.stop()

    simulated(main)


def test_a_deleted_group_is_gone_once_that_is_committed() -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        member = await stable(groups)
        assert await code_of(groups.delete("g")) is ErrorCode.NON_EMPTY_GROUP
        assert await code_of(groups.delete("nobody")) is ErrorCode.GROUP_ID_NOT_FOUND
        await groups.commit_offsets("g", commit(NewOffset("t", 0, 5), member=member))
        await groups.leave("g", [Leaver(member.member_id)])

        log.settle_later()
        deleted = groups.delete("g")
        fetched = groups.fetch_offsets("g", None)
        await asyncio.sleep(1)
        assert not deleted.done()
        assert not fetched.done()
        log.commit()
        await deleted
        assert (await fetched).offsets == {}
        assert len(groups) == 0
        groups.stop()

        after = await started(log)
        assert after.listed() == []
        after.stop()

    simulated(main)


def test_only_so_many_groups_are_coordinated() -> None:
    async def main() -> None:
        config = GroupConfig(initial_rebalance_delay_ms=0, max_count=3)
        groups = await started(MemoryLog(), config)
        for number in range(3):
            await groups.commit_offsets(f"g{number}", commit(NewOffset("t", 0, 5)))
        refused = groups.commit_offsets("one more", commit(NewOffset("t", 0, 5)))
        assert await code_of(refused) is ErrorCode.POLICY_VIOLATION
        assert await code_of(groups.join("one more", a_join())) is ErrorCode.POLICY_VIOLATION
        await groups.delete("g0")
        await groups.commit_offsets("one more", commit(NewOffset("t", 0, 5)))
        groups.stop()

    simulated(main)


def test_asking_about_groups_does_not_make_them() -> None:
    async def main() -> None:
        groups = await started(MemoryLog())
        for number in range(100):
            name = f"g{number}"
            assert await code_of(groups.heartbeat(name, "m", None, 1)) is ErrorCode.UNKNOWN_MEMBER_ID
            assert (
                await code_of(groups.sync(name, Sync(member_id="m", generation=1)))
                is ErrorCode.UNKNOWN_MEMBER_ID
            )
            assert await code_of(groups.join(name, a_join("m"))) is ErrorCode.UNKNOWN_MEMBER_ID
            await groups.fetch_offsets(name, None)
            await groups.leave(name, [Leaver("m")])
            assert groups.describe(name).state is State.DEAD
        assert len(groups) == 0
        groups.stop()

    simulated(main)


def test_a_group_needs_a_name_to_have_members_but_not_to_have_offsets() -> None:
    async def main() -> None:
        groups = await started(MemoryLog())
        for asked in (
            groups.join("", a_join()),
            groups.heartbeat("", "m", None, 1),
            groups.sync("", Sync(member_id="m", generation=1)),
            groups.leave("", [Leaver("m")]),
            groups.commit_offsets("g" * 40_000, commit(NewOffset("t", 0, 5))),
        ):
            assert await code_of(asked) is ErrorCode.INVALID_GROUP_ID
        await groups.commit_offsets("", commit(NewOffset("t", 0, 5)))
        assert offset_of(await groups.fetch_offsets("", [("t", 0)])) == 5
        groups.stop()

    simulated(main)


def test_a_node_that_stops_sends_everyone_away() -> None:
    async def main() -> None:
        groups = await started(MemoryLog(), GroupConfig())
        waiting = groups.join("g", a_join())
        groups.stop()
        assert await code_of(waiting) is ErrorCode.NOT_COORDINATOR
        assert await code_of(groups.join("g", a_join())) is ErrorCode.NOT_COORDINATOR
        assert await code_of(groups.heartbeat("g", "m", None, 1)) is ErrorCode.NOT_COORDINATOR
        assert groups.waiting == 0

    simulated(main)


def test_the_first_group_of_all_is_served_at_once() -> None:
    async def main() -> None:
        groups = groups_over(MemoryLog())
        groups.start()
        await groups.ready()

        assert isinstance(await groups.join("g", a_join()), Joined), "there is nothing to be loaded"
        groups.stop()

    simulated(main)


def test_what_is_asked_while_groups_are_loaded_is_to_be_asked_again() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        await before.commit_offsets("g", commit(NewOffset("t", 0, 42)))
        before.stop()

        groups = groups_over(log)
        groups.start()
        assert await code_of(groups.fetch_offsets("g", None)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await groups.ready()
        assert offset_of(await groups.fetch_offsets("g", None)) == 42
        groups.stop()

    simulated(main)


def test_a_node_without_groups_that_stops_takes_none() -> None:
    async def main() -> None:
        groups = await started(MemoryLog())
        groups.stop()
        assert await code_of(groups.join("g", a_join())) is ErrorCode.NOT_COORDINATOR
        assert 0 <= groups.partition_of("g") < PARTITIONS

    simulated(main)
