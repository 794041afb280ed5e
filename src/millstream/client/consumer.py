"""Reading a cluster: of partitions one chooses, or as a member of a group."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, Self, final

from millstream.client.assignors import ASSIGNORS
from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.fetcher import FetchConfig, Fetcher
from millstream.client.group_offsets import Member, commit_offsets, fetch_offsets
from millstream.client.membership import GroupConfig, Membership
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused

log = logging.getLogger(__name__)

Reset = Literal["earliest", "latest", "none"]
Listener = Callable[[list[TopicPartition]], Awaitable[None]]

_RESETS: Final[Mapping[Reset, int]] = {"earliest": EARLIEST, "latest": LATEST}


async def _ignore(_: list[TopicPartition]) -> None:
    """Nobody wants to know."""


@final
class Consumer:
    """Reads records. Use as `async with Consumer(client, ...) as consumer`.

    With *group* and *topics* it is a member of that group: each `poll` may take
    part in a rebalance, and what earlier polls returned counts as dealt with
    when offsets are committed, every *commit_interval* seconds (None: only by
    `commit`). Without a group, say what to read by `assign`.

    *reset* says where to begin in a partition without a committed offset, or
    whose position is no longer in the log.
    """

    def __init__(
        self,
        client: Client,
        *,
        group: str | None = None,
        topics: Sequence[str] = (),
        reset: Reset = "latest",
        assignors: Sequence[str] = ("range",),
        commit_interval: float | None = 5.0,
        fetch: FetchConfig | None = None,
        membership: GroupConfig | None = None,
        on_assigned: Listener = _ignore,
        on_revoked: Listener = _ignore,
    ) -> None:
        chosen = [ASSIGNORS[name] for name in assignors]
        self._client = client
        self._reset: Reset = reset
        self._commit_interval = commit_interval
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._fetcher = Fetcher(client, fetch)
        self._committed_only = (fetch or FetchConfig()).committed_only
        self._cooperative = all(each.cooperative for each in chosen)
        self._member: Membership | None = None
        if group is not None:
            config = membership or GroupConfig()
            self._member = Membership(client, group, topics, chosen, config, self._fetcher.wake)
        self._owned: set[TopicPartition] = set()
        self._unplaced: set[TopicPartition] = set()
        self._committed: dict[TopicPartition, int] = {}
        self._commit_at = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Consumed]:
        while True:
            for record in await self.poll():
                yield record

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions we read."""
        return sorted(self._owned)

    @property
    def generation(self) -> int:
        """How often the group had been shared out anew when we last joined; -1 outside a group."""
        return self._member.member.generation if self._member else -1

    @property
    def member(self) -> Member | None:
        """Who we are in the group, for a producer that commits our offsets in its transaction."""
        return self._member.member if self._member else None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, from these offsets."""
        self._fetcher.drop(self._owned)
        self._owned = set(positions)
        self._unplaced.clear()
        self._fetcher.read_from(positions)

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no longer."""
        going = list(partitions)
        self._fetcher.drop(going)
        self._owned.difference_update(going)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read *partition*, one of ours, from *offset*."""
        assert partition in self._owned, partition
        self._unplaced.discard(partition)
        self._fetcher.read_from({partition: offset})

    def positions(self) -> dict[TopicPartition, int]:
        """The offset after the last record that was returned, by partition."""
        readings = self._fetcher.readings
        return {each: readings[each].position for each in sorted(readings)}

    def high_watermark(self, partition: TopicPartition) -> int | None:
        """Where *partition* ended when it was last fetched."""
        reading = self._fetcher.readings.get(partition)
        return None if reading is None else reading.high_watermark

    async def poll(self, timeout: float = 1.0, most: int = 500) -> list[Consumed]:
        """Up to *most* records, waiting for the first up to *timeout* seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            await self._keep_up()
            records = await self._fetcher.take(most, max(0.0, deadline - loop.time()))
            if records or loop.time() >= deadline:
                return records

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Have the group remember *offsets*, or all positions; Refused if we are no longer its member."""
        assert self._member is not None, "only a member of a group commits"
        member = self._member
        wanted = self.positions() if offsets is None else offsets
        changed = {each: at for each, at in wanted.items() if self._committed.get(each) != at}
        if not changed:
            return

        async def attempt() -> None:
            await commit_offsets(
                await member.connection(), member.member, changed, timeout=self._client.timeout
            )

        await self._client.retry(attempt, group=member.member.group)
        self._committed.update(changed)

    async def close(self) -> None:
        """Commit, if that is ours to do, leave the group, and let go of everything."""
        try:
            await self._commit_quietly()
        finally:
            if self._member is not None:
                await self._member.leave()
            await self._fetcher.close()

    async def _keep_up(self) -> None:
        """What must be done before records may be returned."""
        if self._member is not None:
            await self._commit_if_due()
            while self._member.must_join:
                await self._rebalance(self._member)
        for partition, reading in self._fetcher.readings.items():
            if reading.lost:
                await self._reset_position(partition)
        if self._unplaced:
            await self._place()

    async def _rebalance(self, member: Membership) -> None:
        if member.lost or not self._cooperative:
            await self._revoke(self._owned, lost=member.lost)
        member.lost = False
        given = set(await member.join(sorted(self._owned)))
        if member.lost:
            await self._revoke(self._owned, lost=True)
            member.lost = False
        gone = self._owned - given
        if gone:
            await self._revoke(gone, lost=False)
            member.must_join = True  # once more, to tell that these are free to be given on
        new = given - self._owned
        self._owned |= new
        self._unplaced |= new
        await self._on_assigned(sorted(new))

    async def _revoke(self, partitions: Iterable[TopicPartition], *, lost: bool) -> None:
        going = sorted(partitions)
        if not going:
            return
        if not lost:
            await self._commit_quietly()
        await self._on_revoked(going)
        self._fetcher.drop(going)
        self._owned.difference_update(going)
        self._unplaced.difference_update(going)
        for partition in going:
            self._committed.pop(partition, None)

    async def _place(self) -> None:
        """Find where to begin: at the committed offset, or as *reset* says."""
        partitions = sorted(self._unplaced)
        committed: dict[TopicPartition, int] = {}
        if self._member is not None:
            member = self._member

            async def attempt() -> dict[TopicPartition, int]:
                connection = await member.connection()
                return await fetch_offsets(
                    connection,
                    member.member.group,
                    partitions,
                    stable=self._committed_only,
                    timeout=self._client.timeout,
                )

            committed = await self._client.retry(attempt, group=member.member.group)
            self._committed.update(committed)
        fresh = [each for each in partitions if each not in committed]
        positions = committed | await self._by_reset(fresh)
        self._unplaced.difference_update(positions)
        self._fetcher.read_from(positions)

    async def _reset_position(self, partition: TopicPartition) -> None:
        log.warning("position outside the log partition=%s reset=%s", partition, self._reset)
        self._fetcher.read_from(await self._by_reset([partition]))

    async def _by_reset(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        if self._reset == "none":
            where = ", ".join(map(str, partitions))
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"no valid offset to begin at in {where}")
        wanted = dict.fromkeys(partitions, _RESETS[self._reset])
        found = await list_offsets(self._client, wanted, committed_only=self._committed_only)
        return {partition: offset or 0 for partition, offset in found.items()}

    async def _commit_if_due(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._commit_interval is not None and now >= self._commit_at:
            self._commit_at = now + self._commit_interval
            await self._commit_quietly()

    async def _commit_quietly(self) -> None:
        """Commit positions; if that fails they are read again, as a group that has not committed expects."""
        if self._member is None or self._commit_interval is None or not self._member.member.id:
            return
        try:
            await self.commit()
        except (Refused, Unreachable) as problem:
            log.warning("offsets not committed group=%s reason=%s", self._member.member.group, problem)
