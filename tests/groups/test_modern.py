"""Whatever happens to a group of the newer protocol, and in whatever order."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.groups.modern_walk import ModernWalk
from tests.groups.transcript import SomeTopic

from millstream.groups.config import GroupConfig
from millstream.groups.group import Group
from millstream.groups.outcomes import Beat, Now, Reconciled

who = st.integers(0, 7)
modern_steps = st.one_of(
    st.tuples(st.just("come"), st.booleans(), st.integers(0, 3), st.just(False)),
    st.tuples(st.just("go_on"), who, st.sampled_from((False, False, False, True)), st.booleans()),
    st.tuples(st.just("go_on"), who, st.just(False), st.just(False)),
    st.tuples(st.just("go_on"), who, st.just(False), st.just(False)),
    st.tuples(st.just("settle")),
    st.tuples(st.just("leave"), who),
    st.tuples(st.just("restart_client"), who),
    st.tuples(st.just("die"), who),
    st.tuples(st.just("tick"), st.sampled_from((1, 5_000, 19_000, 45_000))),
    st.tuples(st.just("change_topics"), st.integers(0, 3)),
    st.tuples(st.just("restart")),
)
mixed_steps = st.one_of(
    modern_steps,
    st.tuples(st.just("come"), st.just(False), st.integers(0, 2), st.just(True)),
    st.tuples(st.just("come"), st.just(False), st.integers(0, 2), st.just(True)),
)
slow = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@slow
@given(st.lists(modern_steps, min_size=10, max_size=50))
def test_what_must_always_hold(steps: list[tuple[Any, ...]]) -> None:
    """`ModernWalk` checks it after every step: see there."""
    walk = ModernWalk()
    for name, *args in steps:
        getattr(walk, name)(*args)
    walk.settle()


@slow
@given(st.lists(mixed_steps, min_size=10, max_size=50))
def test_what_must_hold_while_protocols_change(steps: list[tuple[Any, ...]]) -> None:
    walk = ModernWalk()
    for name, *args in steps:
        getattr(walk, name)(*args)
    walk.settle()


@pytest.mark.parametrize("by", [{"topics": frozenset({"t"})}, {"regex": "t"}])
def test_one_that_says_all_is_told_all(by: dict[str, Any]) -> None:
    """Our last answer may have been lost, and nothing else would ever tell it what it has."""
    topics = {"t": SomeTopic(UUID(int=1), 2)}
    group = Group("g", GroupConfig, lambda: topics)

    def hear(epoch: int) -> Reconciled:
        beat = Beat(member_id="m", epoch=epoch, rebalance_timeout_ms=60_000, owned=frozenset(), **by)
        outcome = group.heard(beat, 1, "m", Now(0, 0))
        for change in outcome.changes:
            group.apply(change)
        ((_, reply),) = outcome.replies
        assert isinstance(reply, Reconciled)
        return reply

    first = hear(0)
    assert first.assigned
    assert hear(first.epoch).assigned == first.assigned
