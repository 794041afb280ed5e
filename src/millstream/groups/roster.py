"""Groups of the simple kind: who is there, and who reads which partitions.

No protocol but a list of names for each topic: partition p belongs to
sorted(members)[p mod n]. A member that has not been heard of for the session
time is gone; a group without members is forgotten.
"""

from collections.abc import Iterator
from typing import Final, final

from millstream.errors import ErrorCode, Refused

SESSION_MS: Final = 10_000
NAME_MAX: Final = 512
MEMBERS_MAX: Final = 50_000  # of all groups together
_RECOUNT_MS: Final = 1_000


@final
class Roster:
    """Every such group by name. Told the time; keeps nothing that must outlive the process."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[str, int]]] = {}  # group, topic, member: until when
        self._joined = 0  # at the most so many are there; counted anew now and then
        self._counted_ms = 0

    def __len__(self) -> int:
        return len(self._groups)

    def join(self, group: str, topic: str, member: str, partitions: int, now_ms: int) -> list[int]:
        """*member* reads *topic* from now on, or goes on to; which of its *partitions* are the member's."""
        for name in (group, member):
            if not 0 < len(name) <= NAME_MAX:
                raise Refused(
                    ErrorCode.INVALID_GROUP_ID, f"a name has 1 to {NAME_MAX} characters, not {len(name)}"
                )
        self._make_room(now_ms)
        members = self._groups.setdefault(group, {}).setdefault(topic, {})
        _expire(members, now_ms)
        members[member] = now_ms + SESSION_MS
        names = sorted(members)
        return [index for index in range(partitions) if names[index % len(names)] == member]

    def leave(self, group: str, member: str, now_ms: int) -> None:
        """*member* reads nothing any more; nothing happens if it did not."""
        for _, members in self._topics(group, now_ms):
            members.pop(member, None)
        self._tidy(group)

    def heartbeat(self, group: str, member: str, now_ms: int) -> None:
        """*member* is still there; Refused if the group or the member is not known, or not any more."""
        known = False
        for _, members in self._topics(group, now_ms):
            if member in members:
                members[member] = now_ms + SESSION_MS
                known = True
        self._tidy(group)
        if group not in self._groups:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "Group not found")
        if not known:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "Consumer not found: join the group again")

    def expire(self, now_ms: int) -> None:
        """Forget all who have not been heard of."""
        for group in list(self._groups):
            for _ in self._topics(group, now_ms):
                pass
            self._tidy(group)

    def topic_deleted(self, topic: str) -> None:
        for group, topics in list(self._groups.items()):
            topics.pop(topic, None)
            self._tidy(group)

    def _make_room(self, now_ms: int) -> None:
        """Make sure that there is room for one more member."""
        counted_ago_ms = now_ms - self._counted_ms
        if counted_ago_ms >= (_RECOUNT_MS if self._joined >= MEMBERS_MAX else SESSION_MS):
            self.expire(now_ms)
            self._counted_ms = now_ms
            self._joined = sum(
                len(members) for topics in self._groups.values() for members in topics.values()
            )
        if self._joined >= MEMBERS_MAX:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, f"there are {MEMBERS_MAX} members already")
        self._joined += 1  # at the most: it may have been there

    def _topics(self, group: str, now_ms: int) -> Iterator[tuple[str, dict[str, int]]]:
        for topic, members in self._groups.get(group, {}).items():
            _expire(members, now_ms)
            yield topic, members

    def _tidy(self, group: str) -> None:
        topics = self._groups.get(group)
        if topics is None:
            return
        for topic in [topic for topic, members in topics.items() if not members]:
            del topics[topic]
        if not topics:
            del self._groups[group]


def _expire(members: dict[str, int], now_ms: int) -> None:
    for member in [member for member, until_ms in members.items() if until_ms <= now_ms]:
        del members[member]
