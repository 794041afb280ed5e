"""Whatever happens to a group, and in whatever order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.groups.walk import CONFIG, Walk

from millstream.groups.classic import ClassicGroup
from millstream.groups.config import GroupConfig
from millstream.groups.outcomes import Join, Joined, MemberIdGiven, Now, State, Sync

who = st.integers(0, 15)
version = st.sampled_from((3, 4, 9))
steps = st.one_of(
    st.tuples(
        st.just("join"),
        who,
        st.booleans(),
        st.just(False),
        st.sampled_from((0, 1, 2)),
        version,
        st.integers(0, 4),
    ),
    st.tuples(
        st.just("join"), who, st.booleans(), st.booleans(), st.integers(0, 4), version, st.integers(0, 5)
    ),
    st.tuples(
        st.just("join"),
        who,
        st.just(False),
        st.just(True),
        st.sampled_from((0, 1, 1, 2)),
        version,
        st.just(1),
    ),
    st.tuples(st.just("settle")),
    st.tuples(st.just("settle")),
    st.tuples(st.just("sync"), who, st.sampled_from((0, 0, 0, 1)), st.booleans()),
    st.tuples(st.just("heartbeat"), who, st.sampled_from((0, 0, 1))),
    st.tuples(st.just("leave"), who, st.booleans()),
    st.tuples(st.just("hang_up"), who),
    st.tuples(st.just("commit"), who, st.sampled_from((0, 0, 1, -1))),
    st.tuples(st.just("tick"), st.sampled_from((0, 0, 0, 1, 500, 3_000, 6_000, 20_000, 60_000, 300_000))),
    st.tuples(st.just("restart")),
    st.tuples(st.just("delete")),
    st.tuples(st.just("check_retention"), st.sampled_from((0, 8))),
)
configs = st.sampled_from((CONFIG, replace(CONFIG, initial_rebalance_delay_ms=0)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(configs, st.lists(steps, min_size=10, max_size=60))
def test_what_must_always_hold(config: GroupConfig, steps: list[tuple[Any, ...]]) -> None:
    """`Walk` checks it after every step: see there."""
    walk = Walk(config)
    for name, *args in steps:
        getattr(walk, name)(*args)


@settings(max_examples=50, deadline=None)
@given(configs, st.lists(steps, min_size=5, max_size=40))
def test_left_alone_a_group_comes_to_rest(config: GroupConfig, steps: list[tuple[Any, ...]]) -> None:
    """Nobody does anything any more: all who wait are answered, and all sessions end."""
    walk = Walk(config)
    for name, *args in steps:
        getattr(walk, name)(*args)
    for _ in range(100):
        if walk.group.members.next_deadline_ms() is None:
            break
        walk.tick(0)
    assert walk.group.members.next_deadline_ms() is None
    assert walk.group.members.is_deserted
    assert not walk.waiting


def test_the_generation_after_the_last_is_the_first() -> None:
    group, now = ClassicGroup(lambda: GroupConfig(initial_rebalance_delay_ms=0)), Now(0, 0)
    group.generation = 2**31 - 1
    outcome = group.joined(_join(), 1, "x", now)
    assert group.generation == 1
    assert outcome.replies


def test_ids_that_nobody_uses_do_not_pile_up() -> None:
    group, now = ClassicGroup(lambda: GroupConfig(max_pending_members=10)), Now(0, 0)
    given = [group.joined(_join(knows_two_steps=True), n, str(n), now).replies[0][1] for n in range(1_000)]
    assert all(isinstance(reply, MemberIdGiven) for reply in given)
    assert len(group._given_ids) == 10

    group.tick(Now(10_000, 0))
    assert group.is_deserted


def test_a_client_id_of_any_length_makes_an_id_that_fits_every_message() -> None:
    group = ClassicGroup(lambda: GroupConfig())
    outcome = group.joined(_join(client_id="ü" * 32_000, knows_two_steps=True), 1, "unique", Now(0, 0))
    (_, reply) = outcome.replies[0]
    assert isinstance(reply, MemberIdGiven)
    assert len(reply.member_id.encode()) < 1_000


@pytest.mark.parametrize(
    "act",
    [
        lambda group: group.joined(_join(protocols=(("range", bytes(1 << 20)),)), 1, "x", Now(0, 0)),
        lambda group: group.joined(
            _join(protocols=tuple((str(n), b"") for n in range(100_000))), 1, "x", Now(0, 0)
        ),
        lambda group: group.joined(_join(protocols=(("r" * 40_000, b""),)), 1, "x", Now(0, 0)),
        lambda group: group.joined(_join(instance_id="i" * 40_000), 1, "x", Now(0, 0)),
    ],
    ids=["metadata", "protocols", "protocol name", "instance id"],
)
def test_what_is_too_large_is_refused_and_leaves_nothing(act: Callable[[ClassicGroup], Any]) -> None:
    group = ClassicGroup(lambda: GroupConfig())
    ((_, reply),) = act(group).replies
    assert reply.code.name in ("MESSAGE_TOO_LARGE", "INVALID_REQUEST")
    assert group.is_deserted


def test_an_assignment_that_is_too_large_is_refused_and_the_leader_may_try_again() -> None:
    group, now = ClassicGroup(lambda: GroupConfig(initial_rebalance_delay_ms=0)), Now(0, 0)
    group.joined(_join(), 1, "x", now)
    huge = Sync(member_id="c-x", generation=1, assignments=(("c-x", bytes((1 << 20) + 1)),))
    ((_, refusal),) = group.synced(huge, 2, now).replies
    assert str(refusal).startswith("MESSAGE_TOO_LARGE")

    group.synced(Sync(member_id="c-x", generation=1, assignments=(("c-x", bytes(1 << 20)),)), 3, now)
    assert group.state is State.STABLE


def test_all_members_together_have_a_limit_too() -> None:
    group, now = ClassicGroup(lambda: GroupConfig(max_bytes=1 << 20, initial_rebalance_delay_ms=0)), Now(0, 0)
    for number in range(2):
        group.joined(_join(protocols=(("range", bytes(500_000)),)), number, str(number), now)
    ((_, refusal),) = group.joined(_join(protocols=(("range", bytes(500_000)),)), 3, "3", now).replies
    assert str(refusal).startswith("GROUP_MAX_SIZE_REACHED")
    assert group.members.ids() == {"c-0", "c-1"}

    group.joined(_join(member_id="c-0", protocols=(("range", bytes(500_001)),)), 4, "", now)
    assert group.generation == 2, "who replaces its own may replace it by more, within the limit"
    huge = tuple((f"m{n}", bytes(500_000)) for n in range(3))
    ((_, refusal),) = group.synced(Sync(member_id="c-0", generation=2, assignments=huge), 5, now).replies
    assert str(refusal).startswith("MESSAGE_TOO_LARGE")
    group.tick(Now(400_000, 0))
    assert group.members._bytes == 0


def test_a_thousand_members_rebalance_without_a_quadratic_bill() -> None:
    """Only the leader is given the list of all."""
    group, now = ClassicGroup(lambda: GroupConfig()), Now(0, 0)
    for number in range(1_000):
        group.joined(_join(), number, str(number), now)
    outcome = group.tick(Now(3_000, 0))
    outcome = outcome if outcome.replies else group.tick(Now(6_000, 0))
    assert len(outcome.replies) == 1_000
    told = [len(reply.members) for _, reply in outcome.replies if isinstance(reply, Joined)]
    assert sorted(told) == [0] * 999 + [1_000]


def _join(**changes: Any) -> Join:
    given: dict[str, Any] = {
        "client_id": "c",
        "protocol_type": "consumer",
        "protocols": (("range", b""),),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "knows_two_steps": False,
    }
    return Join(**(given | changes))
