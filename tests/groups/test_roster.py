"""Groups of the simple kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.groups import roster
from millstream.groups.roster import SESSION_MS, Roster


@given(st.sets(st.text(min_size=1, max_size=3), min_size=1, max_size=6), st.integers(1, 12))
def test_every_partition_has_one_reader(members: set[str], partitions: int) -> None:
    it = Roster()
    for member in members:
        it.join("g", "t", member, partitions, 0)
    shares = {member: it.join("g", "t", member, partitions, 1) for member in members}
    assert sorted(index for share in shares.values() for index in share) == list(range(partitions))
    names = sorted(members)
    for index in range(partitions):
        assert index in shares[names[index % len(names)]]


def test_who_is_not_heard_of_is_gone() -> None:
    it = Roster()
    it.join("g", "t", "a", 4, 0)
    it.join("g", "t", "b", 4, 5_000)
    it.heartbeat("g", "a", SESSION_MS - 1)
    assert it.join("g", "t", "a", 4, 5_000 + SESSION_MS) == [0, 1, 2, 3]
    with pytest.raises(Refused, match="join the group again"):
        it.heartbeat("g", "b", 5_000 + SESSION_MS)
    it.expire(10 * SESSION_MS)
    assert len(it) == 0


def test_topics_of_a_group_have_members_of_their_own() -> None:
    it = Roster()
    it.join("g", "t", "a", 2, 0)
    assert it.join("g", "u", "b", 2, 0) == [0, 1]
    it.topic_deleted("u")
    with pytest.raises(Refused, match="Consumer not found"):
        it.heartbeat("g", "b", 1)
    it.leave("g", "a", 1)
    with pytest.raises(Refused) as refused:
        it.heartbeat("g", "a", 1)
    assert refused.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_there_are_only_so_many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MEMBERS_MAX", 3)
    it = Roster()
    for n in range(3):
        it.join(f"g{n}", "t", "a", 1, 20_000)
    with pytest.raises(Refused, match="3 members already"):
        it.join("g", "t", "b", 1, 21_500)
    it.join("g", "t", "b", 1, 20_000 + SESSION_MS)  # the others have gone by then
    with pytest.raises(Refused, match="1 to 512 characters"):
        it.join("g", "t", "x" * 513, 1, 40_000)
