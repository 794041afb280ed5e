"""Sharing partitions out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.client.assignors import ASSIGNORS, Assignment
from millstream.client.consumer_protocol import Subscription
from millstream.client.topics import TopicPartition

counts = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 7))
wishes = st.dictionaries(
    st.sampled_from([f"m{n}" for n in range(6)]), st.sets(st.sampled_from("abcd")), min_size=1
)


def subscribe(wishes: dict[str, set[str]], held: Assignment | None = None) -> dict[str, Subscription]:
    return {
        member: Subscription(tuple(sorted(topics)), tuple((held or {}).get(member, [])), generation=1)
        for member, topics in wishes.items()
    }


def everything(counts: dict[str, int], wishes: dict[str, set[str]]) -> list[TopicPartition]:
    wanted = set().union(*wishes.values())
    return [TopicPartition(t, i) for t in sorted(counts) if t in wanted for i in range(counts[t])]


def settled(
    counts: dict[str, int], wishes: dict[str, set[str]], held: Assignment | None = None
) -> Assignment:
    """The cooperative assignor asked again until nothing moves: two rebalances, then no change."""
    assignor = ASSIGNORS["cooperative-sticky"]
    first = assignor.assign(counts, subscribe(wishes, held))
    second = assignor.assign(counts, subscribe(wishes, first))
    assert assignor.assign(counts, subscribe(wishes, second)) == second
    return second


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(counts=counts, wishes=wishes)
def test_every_wanted_partition_has_one_member_that_wants_it(
    name: str, counts: dict[str, int], wishes: dict[str, set[str]]
) -> None:
    result = ASSIGNORS[name].assign(counts, subscribe(wishes))

    assert sorted(each for given in result.values() for each in given) == everything(counts, wishes)
    assert all(each.topic in wishes[member] for member, given in result.items() for each in given)
    assert result.keys() == wishes.keys()


@pytest.mark.parametrize("name", ["roundrobin", "cooperative-sticky"])
@given(counts=counts, members=st.integers(1, 6))
def test_members_that_want_the_same_get_the_same_number(
    name: str, counts: dict[str, int], members: int
) -> None:
    wishes = {f"m{n}": set("abcd") for n in range(members)}
    sizes = [len(given) for given in ASSIGNORS[name].assign(counts, subscribe(wishes)).values()]

    assert max(sizes) - min(sizes) <= 1


def test_range_gives_equal_numbers_of_two_topics_to_the_same_member() -> None:
    result = ASSIGNORS["range"].assign({"a": 3, "b": 3}, subscribe({"m1": {"a", "b"}, "m2": {"a", "b"}}))

    assert [f"{each}" for each in result["m1"]] == ["a-0", "a-1", "b-0", "b-1"]
    assert [f"{each}" for each in result["m2"]] == ["a-2", "b-2"]


@given(counts=counts, before=st.integers(1, 6), after=st.integers(1, 6))
def test_cooperation_moves_as_little_as_fairness_asks(
    counts: dict[str, int], before: int, after: int
) -> None:
    everyone = set("abcd")
    old = settled(counts, {f"m{n}": everyone for n in range(before)})
    wishes = {f"m{n}": everyone for n in range(after)}
    new = settled(counts, wishes, old)

    sizes = [len(given) for given in new.values()]
    assert max(sizes) - min(sizes) <= 1
    stayed = sum(len(set(old[member]) & set(new[member])) for member in old.keys() & new.keys())
    fair, odd = divmod(sum(counts.values()), after)
    kept = sorted((len(given) for member, given in old.items() if member in new), reverse=True)
    assert stayed == sum(min(size, fair + (place < odd)) for place, size in enumerate(kept))


@given(counts=counts, wishes=wishes, other=wishes)
def test_cooperation_never_gives_what_another_still_holds(
    counts: dict[str, int], wishes: dict[str, set[str]], other: dict[str, set[str]]
) -> None:
    held = settled(counts, other)
    result = ASSIGNORS["cooperative-sticky"].assign(counts, subscribe(wishes, held))

    holder = {each: member for member, mine in held.items() for each in mine if member in wishes}
    for member, mine in result.items():
        for each in mine:
            still = holder.get(each, member)
            assert still == member or each.topic not in wishes[still]


def test_of_two_that_claim_the_same_the_later_generation_is_believed() -> None:
    it = TopicPartition("a", 0)
    members = {"m1": Subscription(("a",), (it,), 4), "m2": Subscription(("a",), (it,), 5)}

    assert ASSIGNORS["cooperative-sticky"].assign({"a": 1}, members) == {"m1": [], "m2": [it]}
