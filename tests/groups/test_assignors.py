"""Every partition to one member that reads it, evenly, and with little moved."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.groups.assignors import ASSIGNORS, Assignor, Reading, range_, uniform
from millstream.groups.modern_changes import Share, TopicPartition

TOPICS = [bytes([number]) * 16 for number in range(4)]
topics = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), min_size=1)
subsets = st.frozensets(st.sampled_from(TOPICS))
partitions = st.frozensets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 13)), max_size=20)
ids = st.text("abcdefgh", min_size=1, max_size=2)
members = st.dictionaries(ids, st.builds(Reading, subsets, partitions), min_size=1, max_size=8)
alike = st.sets(ids, min_size=1, max_size=8)
every_assignor = pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)


@every_assignor
@settings(max_examples=60)
@given(members=members, topics=topics)
def test_every_partition_goes_to_one_who_reads_it(
    assign: Assignor, members: Mapping[str, Reading], topics: Mapping[bytes, int]
) -> None:
    shares = assign(members, topics)
    assert shares.keys() == members.keys()
    given = sorted(each for share in shares.values() for each in share)
    assert given == sorted(_readable(members, topics)), "each once, and none that nobody reads"
    for id, share in shares.items():
        assert {topic for topic, _ in share} <= members[id].topics


@every_assignor
@settings(max_examples=60)
@given(members=members, topics=topics)
def test_the_same_group_gets_the_same_answer(
    assign: Assignor, members: Mapping[str, Reading], topics: Mapping[bytes, int]
) -> None:
    backwards = dict(reversed(list(members.items())))
    assert assign(backwards, dict(reversed(list(topics.items())))) == assign(members, topics)


@settings(max_examples=60)
@given(members=members, topics=topics)
def test_uniform_is_even(members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> None:
    """Nobody has two more than another who could take one of them."""
    shares = uniform(members, topics)
    for id, share in shares.items():
        for topic in {topic for topic, _ in share}:
            for other, reading in members.items():
                if topic in reading.topics:
                    assert len(share) - len(shares[other]) <= 1, (id, other)


@settings(max_examples=60)
@given(ids=alike, topics=topics, had=st.dictionaries(ids, partitions))
def test_uniform_moves_no_more_than_it_must(
    ids: set[str], topics: Mapping[bytes, int], had: Mapping[str, Share]
) -> None:
    """Of members that read alike, each keeps what it had, up to the most that anybody may have."""
    free = _readable({"": Reading(frozenset(topics))}, topics)
    owned: dict[str, Share] = {}
    for id in sorted(ids):
        owned[id] = had.get(id, frozenset()) & free
        free -= owned[id]
    members = {id: Reading(frozenset(topics), owned[id]) for id in ids}
    shares = uniform(members, topics)

    quota, extra = divmod(sum(topics.values()), len(ids))
    kept = sum(len(shares[id] & owned[id]) for id in ids)
    larger = sum(len(share) > quota for share in owned.values())
    assert kept == sum(min(len(share), quota) for share in owned.values()) + min(larger, extra)


@settings(max_examples=60)
@given(ids=alike, topics=topics, gone=st.data())
def test_uniform_stays_as_it_is_when_somebody_leaves(
    ids: set[str], topics: Mapping[bytes, int], gone: st.DataObject
) -> None:
    before = uniform({id: Reading(frozenset(topics)) for id in ids}, topics)
    assert uniform({id: Reading(frozenset(topics), before[id]) for id in ids}, topics) == before
    left = ids - {gone.draw(st.sampled_from(sorted(ids)))}
    after = uniform({id: Reading(frozenset(topics), before[id]) for id in left}, topics)
    for id in left:
        assert before[id] <= after[id], "who stays gives nothing up"


@settings(max_examples=60)
@given(members=members, topics=topics)
def test_range_gives_runs_and_the_first_members_more(
    members: Mapping[str, Reading], topics: Mapping[bytes, int]
) -> None:
    shares = range_(members, topics)
    for topic, count in topics.items():
        runs = [
            sorted(index for t, index in shares[id] if t == topic)
            for id in sorted(members)
            if topic in members[id].topics
        ]
        if runs:
            assert [index for run in runs for index in run] == list(range(count))
            sizes = [len(run) for run in runs]
            assert sizes == sorted(sizes, reverse=True)
            assert sizes[0] - sizes[-1] <= 1


@settings(max_examples=60)
@given(ids=alike, topics=topics)
def test_range_follows_instance_ids(ids: set[str], topics: Mapping[bytes, int]) -> None:
    """A static member that is back under another id has what it had."""
    reading = Reading(frozenset(topics))
    before = {id: replace(reading, instance_id=id) for id in ids}
    after = {f"{99 - place}-{id}": replace(reading, instance_id=id) for place, id in enumerate(sorted(ids))}
    shares = range_(after, topics)
    assert {id.split("-")[1]: share for id, share in shares.items()} == range_(before, topics)


def test_a_large_group_is_quickly_shared_out() -> None:
    topics = {bytes([n]) * 16: 1_000 for n in range(10)}
    members = {f"m{n}": Reading(frozenset(topics)) for n in range(1_000)}
    before = uniform(members, topics)
    members = {id: Reading(frozenset(topics), before[id]) for id in members}
    members["late"] = Reading(frozenset(list(topics)[:5]))
    after = uniform(members, topics)
    assert len(after["late"]) in (9, 10)
    assert sum(len(before[id] - after[id]) for id in before) == len(after["late"])


def _readable(members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> frozenset[TopicPartition]:
    read = {topic for member in members.values() for topic in member.topics}
    return frozenset(
        (topic, index) for topic, count in topics.items() if topic in read for index in range(count)
    )
