"""The members of a group, and the protocols they have in common."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from millstream.groups.admission import metadata_bytes, rebalance_timeout_ms, without_repeats
from millstream.groups.changes import SavedMember
from millstream.groups.config import GroupConfig
from millstream.groups.outcomes import Join

# One that waits in its first join may have died meanwhile, and only its connection would know. It is
# not waited for as long as a group may take.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000


@final
@dataclass(slots=True)
class Member:
    """One member.

    It *is_new* until its first join is answered, and unless it *knows_id* it
    could not come back as itself before that.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    session_deadline_ms: int = 0
    is_new: bool = False
    knows_id: bool = True

    @classmethod
    def new(cls, join: Join, member_id: str, session_deadline_ms: int) -> "Member":
        """Someone who joins for the first time."""
        return cls(
            id=member_id,
            instance_id=join.instance_id,
            client_id=join.client_id,
            client_host=join.client_host,
            session_timeout_ms=join.session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms(join),
            protocols=without_repeats(join.protocols),
            session_deadline_ms=session_deadline_ms,
            is_new=True,
            knows_id=join.member_id != "" or join.instance_id is not None,
        )

    @classmethod
    def restored(cls, saved: SavedMember, protocol: str | None) -> "Member":
        """A member of *protocol* as the log knows it."""
        return cls(
            id=saved.id,
            instance_id=saved.instance_id,
            client_id=saved.client_id,
            client_host=saved.client_host,
            session_timeout_ms=saved.session_timeout_ms,
            rebalance_timeout_ms=saved.rebalance_timeout_ms,
            protocols=((protocol or "", saved.subscription),),
            assignment=saved.assignment,
        )

    def saved(self, protocol: str | None) -> SavedMember:
        """The member as it is to be found after a restart."""
        return SavedMember(
            id=self.id,
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=self.assignment,
        )

    def metadata(self, protocol: str | None) -> bytes:
        """What the member says under *protocol*."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """The first of the member's own protocols that is among *candidates*."""
        return next(name for name, _ in self.protocols if name in candidates)


@final
class Members:
    """Members in the order they came, found by id and by instance id."""

    def __init__(self) -> None:
        self._by_id: dict[str, Member] = {}
        self._ids_by_instance: dict[str, str] = {}
        self._supporters: dict[str, int] = {}
        self._bytes = 0  # of metadata, all members together

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_id.values())

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    def ids(self) -> set[str]:
        return set(self._by_id)

    def id_of_instance(self, instance_id: str) -> str | None:
        """Who goes by *instance_id* at present."""
        return self._ids_by_instance.get(instance_id)

    def add(self, member: Member) -> None:
        assert member.id not in self._by_id, member.id
        assert member.instance_id not in self._ids_by_instance, member.instance_id
        self._by_id[member.id] = member
        if member.instance_id is not None:
            self._ids_by_instance[member.instance_id] = member.id
        self._count(member, 1)

    def remove(self, member: Member) -> None:
        del self._by_id[member.id]
        if member.instance_id is not None:
            del self._ids_by_instance[member.instance_id]
        self._count(member, -1)

    def rename(self, member: Member, new_id: str) -> None:
        """Give *member* another id; its place in the order stays."""
        assert member.instance_id is not None, member.id
        old_id, member.id = member.id, new_id
        self._ids_by_instance[member.instance_id] = new_id
        self._by_id = {new_id if id == old_id else id: each for id, each in self._by_id.items()}

    def update(self, member: Member, join: Join) -> None:
        """*member* may support other protocols than before, and want other times."""
        self._count(member, -1)
        member.protocols = without_repeats(join.protocols)
        self._count(member, 1)
        member.client_id, member.client_host = join.client_id, join.client_host
        member.session_timeout_ms = join.session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms(join)

    def share_any(self, names: Iterable[str]) -> bool:
        """Whether every member supports one of *names*, the same one."""
        return any(self._supporters.get(name, 0) == len(self._by_id) for name in names)

    def elect_protocol(self) -> str:
        """The protocol most members like best, of those all support; the earlier one wins a draw."""
        candidates = {name for name, count in self._supporters.items() if count == len(self._by_id)}
        votes: dict[str, int] = {}
        for member in self:
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def have_room_for(self, join: Join, rejoined: Collection[str], config: GroupConfig) -> bool:
        """Whether who asks may come in, or stay; *rejoined* are those who have been let in again already."""
        id = join.member_id
        if id == "" and join.instance_id is not None:
            id = self._ids_by_instance.get(join.instance_id, "")
        bytes_before = metadata_bytes(self._by_id[id].protocols) if id in self._by_id else 0
        if self._bytes - bytes_before + metadata_bytes(join.protocols) > config.max_bytes:
            return False
        if id not in self._by_id:
            return len(self._by_id) < config.max_size
        # The limit may have been lowered since: then those who are the last to rejoin must go.
        return len(self._by_id) <= config.max_size or id in rejoined or len(rejoined) < config.max_size

    def rebalance_timeout_ms(self) -> int:
        """The most time any member asks for."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def _count(self, member: Member, by: int) -> None:
        self._bytes += by * metadata_bytes(member.protocols)
        for name, _ in member.protocols:
            count = self._supporters.get(name, 0) + by
            if count:
                self._supporters[name] = count
            else:
                del self._supporters[name]
