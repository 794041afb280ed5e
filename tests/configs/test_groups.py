"""What each config of groups does, given when the broker starts and, where that is allowed, while it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

import pytest
from tests.broker.support import SESSION
from tests.configs.showing import Stage, Way, refused, shows

from millstream.broker.configs import Change, Operation
from millstream.client.consumer_protocol import Subscription
from millstream.cluster.image import OFFSETS_TOPIC
from millstream.errors import ErrorCode
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import Beat, Join, Joined, MemberIdGiven, Sync
from millstream.sim.disk import SimDisk

T = TypeVar("T")
AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}
CONSUMER = Subscription(("t",)).encode()


def seen(
    way: Way,
    look: Callable[[Stage], Awaitable[T]],
    values: dict[str, str],
    settings: dict[str, str] = AT_ONCE,
) -> T:
    async def once_there(stage: Stage) -> T:
        await stage.broker.coordinator(SESSION)
        await stage.broker.groups.ready()
        return await look(stage)

    return way.seen(once_there, values, settings={k: v for k, v in settings.items() if k not in values})


def a_join(**given: Any) -> Join:
    usual: dict[str, Any] = {
        "client_id": "c",
        "protocol_type": "consumer",
        "protocols": (("range", CONSUMER),),
        "session_timeout_ms": 10_000,
        "knows_two_steps": False,
    }
    return Join(**(usual | given))


def a_beat(member: str = "m", epoch: int = 0, **given: Any) -> Beat:
    usual: dict[str, Any] = {}
    if epoch == 0:
        usual = {"rebalance_timeout_ms": 60_000, "topics": frozenset({"t"}), "owned": {}}
    return Beat(member_id=member, epoch=epoch, client_id="c", **(usual | given))


def a_commit(topic: str = "t", metadata: str = "") -> Commit:
    return Commit(offsets=(NewOffset(topic, 0, 5, metadata=metadata),))


@shows("group.min.session.timeout.ms", "group.max.session.timeout.ms")
@pytest.mark.parametrize(
    ("name", "value"), [("group.min.session.timeout.ms", "10001"), ("group.max.session.timeout.ms", "9999")]
)
def test_which_session_timeouts_are_allowed(way: Way, name: str, value: str) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.broker.groups.join("g", a_join()))

    assert seen(way, code, {name: value}) is ErrorCode.INVALID_SESSION_TIMEOUT
    assert seen(way, code, {}) is ErrorCode.NONE


@shows("group.initial.rebalance.delay.ms")
def test_how_long_an_empty_group_waits_for_more_members(way: Way) -> None:
    async def seconds(stage: Stage) -> int:
        begun = asyncio.get_running_loop().time()
        await stage.broker.groups.join("g", a_join())
        return round(asyncio.get_running_loop().time() - begun)

    assert seen(way, seconds, {"group.initial.rebalance.delay.ms": "7000"}, {}) == 7
    assert seen(way, seconds, {}, {}) == 3


@shows("group.max.size")
def test_how_many_members_a_group_may_have(way: Way) -> None:
    async def codes(stage: Stage) -> list[ErrorCode]:
        joins = [refused(stage.broker.groups.join("g", a_join(client_id=f"c{n}"))) for n in range(3)]
        return await asyncio.gather(*joins)

    assert seen(way, codes, {"group.max.size": "2"}).count(ErrorCode.GROUP_MAX_SIZE_REACHED) == 1
    assert seen(way, codes, {}) == [ErrorCode.NONE] * 3


@shows("group.max.pending.members")
def test_how_many_ids_may_be_given_and_not_used(way: Way) -> None:
    async def first_is_known(stage: Stage) -> bool:
        given = [await stage.broker.groups.join("g", a_join(knows_two_steps=True)) for _ in range(3)]
        assert isinstance(given[0], MemberIdGiven)
        again = a_join(member_id=given[0].member_id, knows_two_steps=True)
        return await refused(stage.broker.groups.join("g", again)) is ErrorCode.NONE

    assert not seen(way, first_is_known, {"group.max.pending.members": "2"})
    assert seen(way, first_is_known, {})


@shows("group.max.count")
def test_how_many_groups_there_may_be(way: Way) -> None:
    async def codes(stage: Stage) -> list[ErrorCode]:
        return [await refused(stage.broker.groups.commit_offsets(f"g{n}", a_commit())) for n in range(3)]

    assert seen(way, codes, {"group.max.count": "2"}) == [ErrorCode.NONE] * 2 + [ErrorCode.POLICY_VIOLATION]
    assert seen(way, codes, {}) == [ErrorCode.NONE] * 3


@shows("group.member.max.bytes")
def test_how_much_a_member_may_say_of_itself(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.broker.groups.join("g", a_join(protocols=(("range", bytes(5000)),))))

    assert seen(way, code, {"group.member.max.bytes": "4000"}) is ErrorCode.MESSAGE_TOO_LARGE
    assert seen(way, code, {}) is ErrorCode.NONE


@shows("group.max.bytes")
def test_how_much_the_members_of_a_group_may_be_given(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        joined = await stage.broker.groups.join("g", a_join())
        assert isinstance(joined, Joined)
        shares = tuple((name, bytes(700_000)) for name in (joined.member_id, "other"))
        sync = Sync(member_id=joined.member_id, generation=joined.generation, assignments=shares)
        return await refused(stage.broker.groups.sync("g", sync))

    assert seen(way, code, {"group.max.bytes": str(1 << 20)}) is ErrorCode.MESSAGE_TOO_LARGE
    assert seen(way, code, {}) is ErrorCode.NONE


async def seconds_of_silence(stage: Stage) -> int:
    """How long a member that says nothing more stays in its group."""
    await stage.broker.groups.hear("g", a_beat())
    begun = asyncio.get_running_loop().time()
    while stage.broker.groups.describe_modern("g").members:  # noqa: ASYNC110  # nobody says, and this time is free
        await asyncio.sleep(1)
    return round(asyncio.get_running_loop().time() - begun)


@shows(
    "group.consumer.session.timeout.ms",
    "group.consumer.min.session.timeout.ms",
    "group.consumer.max.session.timeout.ms",
)
def test_how_long_a_member_of_the_newer_protocol_may_be_silent(way: Way) -> None:
    timeout, least, most = (f"group.consumer.{which}session.timeout.ms" for which in ("", "min.", "max."))
    assert seen(way, seconds_of_silence, {}) == 45
    assert seen(way, seconds_of_silence, {timeout: "50000"}) == 50
    assert seen(way, seconds_of_silence, {timeout: "20000"}) == 45
    assert seen(way, seconds_of_silence, {timeout: "20000", least: "10000"}) == 20
    assert seen(way, seconds_of_silence, {timeout: "90000"}) == 60
    assert seen(way, seconds_of_silence, {timeout: "90000", most: "80000"}) == 80


@shows(
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
)
def test_how_often_a_member_of_the_newer_protocol_is_to_be_heard(way: Way) -> None:
    async def interval_ms(stage: Stage) -> int:
        return (await stage.broker.groups.hear("g", a_beat())).interval_ms

    interval, least, most = (f"group.consumer.{which}heartbeat.interval.ms" for which in ("", "min.", "max."))
    assert seen(way, interval_ms, {}) == 5000
    assert seen(way, interval_ms, {interval: "9000"}) == 9000
    assert seen(way, interval_ms, {interval: "2000"}) == 5000
    assert seen(way, interval_ms, {interval: "2000", least: "1000"}) == 2000
    assert seen(way, interval_ms, {interval: "20000"}) == 15_000
    assert seen(way, interval_ms, {interval: "20000", most: "30000"}) == 20_000


@shows("group.consumer.max.size")
def test_how_many_members_a_group_of_the_newer_protocol_may_have(way: Way) -> None:
    async def codes(stage: Stage) -> list[ErrorCode]:
        return [await refused(stage.broker.groups.hear("g", a_beat(f"m{n}"))) for n in range(3)]

    full = [ErrorCode.NONE] * 2 + [ErrorCode.GROUP_MAX_SIZE_REACHED]
    assert seen(way, codes, {"group.consumer.max.size": "2"}) == full
    assert seen(way, codes, {}) == [ErrorCode.NONE] * 3


@shows("group.consumer.assignors")
def test_how_partitions_may_be_shared_out(way: Way) -> None:
    async def told(stage: Stage) -> tuple[str, ErrorCode]:
        await stage.broker.groups.hear("g", a_beat())
        default = stage.broker.groups.describe_modern("g").assignor
        return default, await refused(stage.broker.groups.hear("h", a_beat(assignor="uniform")))

    range_only = {"group.consumer.assignors": "range"}
    assert seen(way, told, range_only) == ("range", ErrorCode.UNSUPPORTED_ASSIGNOR)
    assert seen(way, told, {}) == ("uniform", ErrorCode.NONE)


@shows("group.consumer.migration.policy")
def test_whether_a_group_with_members_may_change_its_protocol(way: Way) -> None:
    async def changes(stage: Stage) -> tuple[bool, bool]:
        """Whether a classic group lets a modern member in, and becomes classic again when that has left."""
        groups = stage.broker.groups
        joined = await groups.join("up", a_join())
        assert isinstance(joined, Joined)
        await groups.sync("up", Sync(member_id=joined.member_id, generation=joined.generation))
        up = await refused(groups.hear("up", a_beat())) is ErrorCode.NONE
        await groups.hear("down", a_beat())
        await groups.join("down", a_join())
        await groups.hear("down", a_beat(epoch=-1))
        (down,) = (group.type == "classic" for group in groups.listed() if group.name == "down")
        return up, down

    policy = "group.consumer.migration.policy"
    assert seen(way, changes, {}) == (True, True)
    assert seen(way, changes, {policy: "upgrade"}) == (True, False)
    assert seen(way, changes, {policy: "downgrade"}) == (False, True)
    assert seen(way, changes, {policy: "disabled"}) == (False, False)


@shows("offset.metadata.max.bytes")
def test_how_long_a_note_beside_an_offset_may_be(way: Way) -> None:
    async def errors(stage: Stage) -> int:
        return len((await stage.broker.groups.commit_offsets("g", a_commit(metadata="x" * 100))).errors)

    assert seen(way, errors, {"offset.metadata.max.bytes": "99"}) == 1
    assert seen(way, errors, {}) == 0


async def hours_until_forgotten(stage: Stage) -> int:
    """How long an offset is kept that nobody needs."""
    await stage.broker.groups.commit_offsets("g", a_commit())
    begun = asyncio.get_running_loop().time()
    while stage.broker.groups.listed():  # noqa: ASYNC110  # likewise
        await asyncio.sleep(600)
    return round((asyncio.get_running_loop().time() - begun) / 3600)


@shows("offsets.retention.minutes")
def test_how_long_offsets_are_kept(way: Way) -> None:
    assert seen(way, hours_until_forgotten, {"offsets.retention.minutes": "60"}) == 1
    assert seen(way, hours_until_forgotten, {"offsets.retention.minutes": "120"}) == 2


@shows("offsets.retention.check.interval.ms")
def test_how_often_expired_offsets_are_looked_for(way: Way) -> None:
    often = {"offsets.retention.check.interval.ms": "1800000"}
    rarely = {"offsets.retention.check.interval.ms": "5400000"}
    short = {**AT_ONCE, "offsets.retention.minutes": "1"}
    assert seen(way, hours_until_forgotten, often, short) < seen(way, hours_until_forgotten, rarely, short)


@shows("offsets.topic.num.partitions", "offsets.topic.segment.bytes")
def test_how_the_topic_of_groups_is_made(way: Way) -> None:
    async def made(stage: Stage) -> tuple[int, int]:
        topic = stage.broker.topics.topic(OFFSETS_TOPIC)
        log = stage.broker.topics.hosted(OFFSETS_TOPIC, 0).partition.log
        return topic.partitions, log.config.segment_bytes

    given = {"offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "5000"}
    assert seen(way, made, given) == (3, 5000)
    assert seen(way, made, {}) == (50, 100 << 20)


@pytest.mark.parametrize("is_back", [False, True])
def test_what_a_group_has_of_its_own(is_back: bool) -> None:
    """Its session timeout and interval, at once and after a restart; other groups keep the broker's."""
    disk = SimDisk(Random(1))
    session, interval = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"

    async def seen(stage: Stage) -> list[int]:
        groups = stage.broker.groups
        await stage.broker.coordinator(SESSION)
        await groups.ready()
        own, other = await groups.hear("own", a_beat()), await groups.hear("other", a_beat())
        await asyncio.sleep(48)
        here = [name for name in ("own", "other") if groups.describe_modern(name).members]
        assert here == ["own"]
        return [own.interval_ms, other.interval_ms]

    async def given(stage: Stage) -> list[int]:
        changes = [Change(session, Operation.SET, "50000"), Change(interval, Operation.SET, "7000")]
        await stage.broker.change_group_configs(SESSION, "own", changes, False)
        return [] if is_back else await seen(stage)

    intervals = Way.STARTED.seen(given, {}, disk=disk)
    if is_back:
        intervals = Way.STARTED.seen(seen, {}, disk=disk)
    assert intervals == [7000, 5000]
