"""Quotas: which rule holds, how long to wait, and that nobody's memory grows by made-up names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.security.quota import (
    CLIENT_ID,
    CONNECTION,
    CONSUME,
    IP,
    PRODUCE,
    USER,
    Entity,
    Match,
    Quotas,
    entity_of,
    select,
)

ORDER: list[Entity] = [
    entity_of([(USER, "ann"), (CLIENT_ID, "app")]),
    entity_of([(USER, "ann"), (CLIENT_ID, None)]),
    entity_of([(USER, "ann")]),
    entity_of([(USER, None), (CLIENT_ID, "app")]),
    entity_of([(USER, None), (CLIENT_ID, None)]),
    entity_of([(USER, None)]),
    entity_of([(CLIENT_ID, "app")]),
    entity_of([(CLIENT_ID, None)]),
]


@given(present=st.sets(st.integers(0, 7), min_size=1))
def test_the_nearest_rule_holds(present: set[int]) -> None:
    quotas = Quotas()
    quotas.set_rules({ORDER[number]: {PRODUCE: 1000.0 * (number + 1)} for number in present})

    quotas.use(PRODUCE, "ann", "app", 0, 0)
    rate = 1000.0 * (min(present) + 1)
    assert quotas.use(PRODUCE, "ann", "app", rate, 0) == 0
    assert quotas.use(PRODUCE, "ann", "app", rate, 0) == 1001


def test_a_rule_for_another_says_nothing() -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(USER, "bob")]): {PRODUCE: 1.0}})

    assert quotas.use(PRODUCE, "ann", "app", 10**9, 0) == 0
    assert quotas.limits(PRODUCE)
    assert not quotas.limits(CONSUME)


def test_a_default_gives_everyone_a_bucket_of_their_own() -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(USER, None)]): {PRODUCE: 100.0}})

    assert quotas.use(PRODUCE, "ann", "x", 200, 0) == 1001
    assert quotas.use(PRODUCE, "bob", "x", 100, 0) == 0
    assert quotas.use(PRODUCE, "ann", "y", 0, 0) == 1001, "all of one user's clients share"


@given(amounts=st.lists(st.integers(1, 5_000), min_size=1, max_size=60))
def test_whoever_waits_as_told_gets_the_rate_and_one_second_of_burst(amounts: list[int]) -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(CLIENT_ID, "c")]): {CONSUME: 1000.0}})
    now_ms = used = 0
    for amount in amounts:
        wait_ms = quotas.use(CONSUME, "u", "c", amount, now_ms)
        used += amount
        now_ms += wait_ms
        assert used <= 1000 + now_ms * 1000 / 1000 + 1


def test_nobody_is_told_to_wait_longer_than_half_a_minute_or_owes_more() -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(CLIENT_ID, "c")]): {PRODUCE: 1.0}})

    assert quotas.use(PRODUCE, "u", "c", 10**9, 0) == 30_000
    assert quotas.use(PRODUCE, "u", "c", 0, 30_000) == 0


def test_made_up_client_ids_do_not_fill_the_memory() -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(CLIENT_ID, None)]): {PRODUCE: 1000.0}})
    for number in range(30_000):
        quotas.use(PRODUCE, "u", f"client-{number}", 1, 0)
    assert len(quotas._buckets) <= 10_000


def test_connections_are_counted_by_address() -> None:
    quotas = Quotas()
    quotas.set_rules({entity_of([(IP, "10.0.0.1")]): {CONNECTION: 2.0}})

    assert [quotas.connect("10.0.0.1", 0) for _ in range(3)] == [True, True, False]
    assert all(quotas.connect("10.0.0.2", 0) for _ in range(9))
    assert quotas.connect("10.0.0.1", 2000)


@pytest.mark.parametrize("parts", [[], [("host", "x")], [(USER, "a"), (IP, "b")], [(USER, "a"), (USER, "b")]])
def test_there_are_no_quotas_for_anything_else(parts: list[tuple[str, str | None]]) -> None:
    with pytest.raises(ValueError, match="no quotas"):
        entity_of(parts)


def test_questions_match_names_defaults_or_any_strictly_or_not() -> None:
    rules = {entity: {PRODUCE: 1.0} for entity in ORDER}

    assert list(select(rules, [Match(USER, "ann")], strict=True)) == [ORDER[2]]
    assert list(select(rules, [Match(USER, "ann")], strict=False)) == [ORDER[0], ORDER[1], ORDER[2]]
    assert list(select(rules, [Match(CLIENT_ID)], strict=True)) == [ORDER[7]]
    assert list(select(rules, [Match(USER, is_any=True)], strict=True)) == [ORDER[2], ORDER[5]]
    assert len(select(rules, [], strict=False)) == 8
