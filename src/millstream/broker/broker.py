"""One short method per thing a client may ask, whichever door it came in by."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, final

from millstream.broker.checkpoints import Checkpoints
from millstream.broker.chores import Chores
from millstream.broker.commit import Commit
from millstream.broker.config import BrokerConfig
from millstream.broker.configs import Change, Configs, Described
from millstream.broker.dead_letters import DeadLetters
from millstream.broker.disk_errors import GuardedRegistry, refusal_of
from millstream.broker.fetch import Fetch, Found, Wanted
from millstream.broker.follow import follow
from millstream.broker.group_configs import GroupConfigs
from millstream.broker.groups import Groups
from millstream.broker.internal_topic import InternalTopic, Layout
from millstream.broker.live_config import LiveConfig
from millstream.broker.produce import ACKS_ALL, Lent, Produce, Synced, check_acks
from millstream.broker.producer_ids import ProducerIds
from millstream.broker.queue_states import QueueStates
from millstream.broker.queues import Queues
from millstream.broker.quotas import BrokerQuotas
from millstream.broker.read import Read, Records
from millstream.broker.registrations import Registrations
from millstream.broker.session import Session
from millstream.broker.shelf import Shelf
from millstream.broker.subscription import Receiver, Subscription, Wish
from millstream.broker.topics import NewTopic, Topics, check_name
from millstream.broker.traffic import Meter, Traffic
from millstream.broker.transaction_desk import TransactionDesk
from millstream.broker.waiting import Hosted
from millstream.broker.write import Placed, Waiter, Write
from millstream.cluster.image import INTERNAL_TOPICS, OFFSETS_TOPIC, QUEUES_TOPIC, Topic
from millstream.env.environment import Env
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.groups.roster import Roster
from millstream.partition.partition import Appended
from millstream.queues.config import QueueConfig
from millstream.records.batch import is_transactional
from millstream.records.build import NewRecord
from millstream.records.keys import partition_of_key
from millstream.records.runs import Frames, Joiner, Run
from millstream.security.quota import Entity, Match
from millstream.storage.config import LogConfig
from millstream.storage.store import Store
from millstream.transactions.config import TransactionConfig

log = logging.getLogger(__name__)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

_QUEUES_LAYOUT: Final = Layout(partitions=1, segment_bytes=16 << 20)
_FOREVER_MS: Final = 100 * 366 * 86_400_000


@final
class Broker:
    """The node's one desk. Every door comes here with plain values and a `Session`.

    *broken* is done, with the error, when the disk has failed: nothing is
    acknowledged from then on, and the node must end.
    """

    def __init__(self, env: Env, live: LiveConfig, store: Store, cluster_id: str, data_dir: str) -> None:
        self.cluster_id = cluster_id
        self.data_dir = data_dir
        self.live = live
        self.clock = env.clock
        self.disk = env.disk
        self.store = store
        self.broken: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
        config = self.config
        env = replace(env, registry=GuardedRegistry(env.registry, store.space, self._fail))
        self.topics = Topics(env, store, config, lambda: live.get(LogConfig))
        self.configs = Configs(env.registry, self.topics, live)
        self.quotas = BrokerQuotas(env.registry)
        self._commit = Commit(self._fail, lambda: self.config().sync_on_loop_us, store.space.may_take)
        self._checkpoints = Checkpoints(store)
        self._produce = Produce(env.clock, self._commit, store.space, self._fail)
        self._fetch = Fetch(self.topics, config)
        self.writes = Write(self._produce, env.clock)
        self.reads = Read(self.fetch, self.topics, env.clock)
        self.sent = Meter()
        self.registrations = Registrations(env.registry, self.topics)
        self._next_partition: dict[str, int] = {}  # of records without a key, by topic
        self._producer_ids = ProducerIds(env.registry)
        self._offsets = InternalTopic(
            OFFSETS_TOPIC, self.topics, self._produce, env.clock, self._offsets_layout
        )
        self.group_configs = GroupConfigs(env.registry, live)
        self.groups = Groups(
            self._offsets,
            self.topics,
            env.clock,
            env.random,
            lambda: live.get(GroupConfig),
            self.group_configs.of,
        )
        self._roster = Roster()
        self._queue_log = InternalTopic(
            QUEUES_TOPIC, self.topics, self._produce, env.clock, lambda: _QUEUES_LAYOUT
        )
        self.queues = Queues(
            QueueStates(self._queue_log),
            Shelf(Read(self._fetch_unmetered, self.topics, env.clock)),
            self.topics,
            self.quotas,
            env.clock,
            lambda: live.get(QueueConfig),
            DeadLetters(self.topics, self.writes, lambda: live.get(QueueConfig)),
        )
        self.transactions = TransactionDesk(
            self.topics,
            self._produce,
            self.groups,
            self._offsets,
            self._producer_ids,
            env.clock,
            lambda: live.get(TransactionConfig),
        )
        self._chores = Chores(
            env, store, self.topics, self._commit, self._checkpoints, self.groups, config, self._fail
        )
        self.topics.settled = self._chores.settled

    def config(self) -> BrokerConfig:
        return self.live.get(BrokerConfig)

    def _offsets_layout(self) -> Layout:
        config = self.live.get(GroupConfig)
        return Layout(config.offsets_topic_num_partitions, config.offsets_topic_segment_bytes)

    @property
    def node_id(self) -> int:
        return self.config().node_id

    async def start(self) -> None:
        await self.configs.start()
        await self.group_configs.start()
        await self.quotas.start()
        await self.topics.start()
        await self.registrations.start()
        self.groups.start()
        self.queues.start()
        self.transactions.coordinator.start()
        self.topics.deleted = self._topic_deleted
        self._chores.start()

    async def stop(self) -> None:
        """Stop upkeep, answer all who wait, and finish every sync that is under way."""
        await self._chores.stop()
        self.writes.flush()
        self.transactions.coordinator.stop()
        self.groups.stop()
        self.queues.stop()
        self._fetch.stop()
        if not self.broken.done():
            for hosted in self.topics.all_hosted():
                self._commit.sync(hosted)
            await self._commit.drained()
        await self._checkpoints.settled()

    def produce(
        self,
        session: Session,
        topic: str,
        index: int,
        records: memoryview,
        acks: int,
        *,
        in_transaction: bool = False,
    ) -> "Accepted":
        """Append one batch now; what is returned tells where, and when it is safe.

        One that belongs to a transaction is taken only if the caller has made sure that it does.
        """
        check_acks(acks)
        if not in_transaction and is_transactional(records):
            raise Refused(ErrorCode.INVALID_TXN_STATE, "a transactional batch outside any transaction")
        hosted = self.open_to_clients(topic, index)
        if acks == ACKS_ALL:
            hosted.partition.check_in_sync()
        self.quotas.produced(session, len(records))
        appended = self._produce.append(hosted, records)
        return Accepted(
            appended, hosted.partition.log.start_offset, hosted.acked(appended.end_offset) if acks else None
        )

    def open_to_clients(self, topic: str, index: int) -> Hosted:
        """The partition, if clients may write to it: for good, unless it is dropped or a disk fails."""
        hosted = self.topics.hosted(topic, index)
        self._check_open_to_clients(topic)
        return hosted

    def produce_run(
        self, hosted: Hosted, joiner: Joiner, frames: Frames, producer: tuple[int, int] | None
    ) -> Run | None:
        """Append what *frames* begin with to *hosted* as one, if that is possible.

        If not, nothing has changed: batch by batch it can be told why. Whoever sent them waits for acks.
        """
        if self.quotas.any or hosted.dropped or self.broken.done():
            return None
        return self._produce.append_run(hosted, joiner, frames, producer)

    def lend(self, hosted: Hosted) -> Lent | None:
        """Where somebody else may write to *hosted*, while the loop does nothing else; None if nowhere.

        `note_runs` must follow before anything else happens.
        """
        if self.quotas.any or hosted.dropped or self.broken.done():
            return None
        return self._produce.lend(hosted)

    def note_runs(
        self,
        runs: Sequence[tuple[Hosted, Run]],
        failed: tuple[Hosted, OSError] | None = None,
        synced: Synced | None = None,
    ) -> None:
        """*runs* are in their logs, whose places were lent; they are committed now, unless the disk fails.

        A write that *failed* behind them leaves nothing. One log may be *synced* by now.
        """
        self._produce.note_runs(runs, failed, synced)

    def give_up(self, reason: str) -> None:
        """What is in a log is not known any more: stop, and let the next start find out."""
        self._fail(OSError(errno.EIO, reason))

    def write(
        self, session: Session, topic: str, records: Sequence[NewRecord], partition: int | None = None
    ) -> "asyncio.Future[list[Placed]]":
        """Take *records* in; where each went, once all of them are durable.

        What arrives in the same turn of the loop is written together. Without
        *partition* a key settles it as Kafka's clients do, and records without
        one take turns. For doors of records; never called for a batch.
        """
        count = self.topics.topic(topic).partitions
        placed = []
        open_to: dict[int, Hosted] = {}  # looked up once: a call may bring many records for few partitions
        for record in records:
            if partition is not None:
                index = partition
            elif record.key is not None:
                index = partition_of_key(record.key, count)
            else:
                index = self._next_partition.get(topic, 0) % count
                self._next_partition[topic] = index + 1
            hosted = open_to.get(index)
            if hosted is None:
                hosted = open_to[index] = self.open_to_clients(topic, index)
                hosted.partition.check_in_sync()
            placed.append((hosted, record))
        size, done = self.writes.add(placed)
        self.quotas.produced(session, size)
        return done

    def write_one(self, session: Session, hosted: Hosted, waiter: Waiter) -> None:
        """Take *waiter*'s record in; *waiter* is told when it is durable, or that it cannot be.

        As `write` for one record, without what a future costs.
        """
        self._check_open_to_clients(hosted.partition.topic)
        hosted.partition.check_in_sync()
        self.quotas.produced(session, self.writes.add_one(hosted, waiter))

    async def read(
        self,
        session: Session,
        topic: str,
        partition: int,
        offset: int,
        *,
        max_records: int,
        max_bytes: int = 1 << 20,
        max_wait_ms: int = 0,
    ) -> Records:
        """Committed records from *offset* on, and where to go on; waits so long for the first.

        At least one record if there is any, whatever its size. An offset that the
        partition does not have is refused.
        """
        (found,) = await self.reads.read(
            session,
            topic,
            {partition: offset},
            max_records=max_records,
            max_bytes=max_bytes,
            max_wait_ms=max_wait_ms,
        )
        return found

    def follow(
        self, session: Session, topic: str, offsets: Mapping[int, int] | None = None
    ) -> AsyncIterator[Records]:
        """Records of *topic* for as long as they are taken: from *offsets* on, in those partitions only.

        Without *offsets*, all that comes from now on, in every partition there is and will be.
        """
        new_partitions = offsets is None
        if offsets is None:
            offsets = {
                index: self.topics.hosted(topic, index).partition.high_watermark
                for index in range(self.topics.topic(topic).partitions)
            }
        return follow(self.reads, self.topics, session, topic, offsets, new_partitions=new_partitions)

    async def commit_offsets(
        self,
        session: Session,
        group: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        forever: bool = False,
    ) -> None:
        """Keep how far *group*, which has no members here, has come; returns once that is durable.

        Kafka's tools see these offsets as any group's. They are forgotten when nobody
        has needed them for offsets.retention.minutes, unless they are kept *forever*.
        """
        from millstream.groups.offsets import Commit as OffsetCommit  # when there is a group; see groups.py
        from millstream.groups.offsets import NewOffset

        await self._offsets.ensure()
        await self.groups.ready()
        commit = OffsetCommit(
            retention_ms=_FOREVER_MS if forever else -1,
            offsets=tuple(NewOffset(topic, index, offset) for (topic, index), offset in offsets.items()),
        )
        done = await self.groups.commit_offsets(group, commit)
        for (topic, index), code in done.errors.items():
            raise Refused(code, f"the offset of group {group!r} in {topic}-{index} cannot be kept")

    async def committed_offsets(
        self, session: Session, group: str, partitions: Sequence[tuple[str, int]] | None = None
    ) -> dict[tuple[str, int], int]:
        """How far *group* has come in those of *partitions* (None: all) where it has committed."""
        await self.groups.ready()
        fetched = await self.groups.fetch_offsets(group, partitions)
        return {place: known.offset for place, known in fetched.offsets.items() if known is not None}

    async def subscribe(self, session: Session, wish: Wish, receiver: Receiver) -> Subscription:
        """Hand the messages of a topic, which is there, to *receiver*, who acknowledges each."""
        if wish.topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{wish.topic} is the broker's own")
        await self._queue_log.ensure()
        return await self.queues.subscribe(session, wish, receiver)

    def join_simple_group(self, session: Session, group: str, topic: str, member: str) -> list[int]:
        """The partitions of *topic* that are *member*'s, among the members known by now."""
        return self._roster.join(group, topic, member, self.topics.topic(topic).partitions, _now_ms())

    def leave_simple_group(self, session: Session, group: str, member: str) -> None:
        self._roster.leave(group, member, _now_ms())

    def heartbeat_simple_group(self, session: Session, group: str, member: str) -> None:
        self._roster.heartbeat(group, member, _now_ms())

    def bounds(self, session: Session, topic: str, index: int) -> tuple[int, int]:
        """The first offset there is, and the one that the next committed record will have."""
        partition = self.topics.hosted(topic, index).partition
        return partition.log.start_offset, partition.high_watermark

    def fetch(
        self, session: Session, wanted: Sequence[Wanted], max_bytes: int, min_bytes: int, max_wait_ms: int
    ) -> list[Found] | Awaitable[list[Found]]:
        """Committed batches of all *wanted*: at once, or when *min_bytes* have come or the wait is over."""
        taken = partial(self._consumed, session)
        return self._fetch.read(wanted, max_bytes, min_bytes, max_wait_ms, taken)

    def _consumed(self, session: Session, size: int) -> None:
        if self.quotas.any:
            self.quotas.consumed(session, size)
        self.sent.add(size, self.clock.now_ms())

    def find_offset(
        self,
        session: Session,
        topic: str,
        index: int,
        timestamp_ms: int,
        epoch: int = -1,
        committed_only: bool = False,
    ) -> tuple[int, int, int]:
        """Offset, timestamp and leader epoch of what *timestamp_ms* stands for; -1 where there is none."""
        partition = self.topics.hosted(topic, index).partition
        partition.check_epoch(epoch)
        opened = partition.log
        if opened.offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{opened.name} is offline")
        limit = partition.limit(committed_only)
        if timestamp_ms == LATEST:
            return limit, -1, partition.leader_epoch
        if timestamp_ms in (EARLIEST, EARLIEST_LOCAL):
            return opened.start_offset, -1, opened.epochs.epoch_of(opened.start_offset)
        if timestamp_ms in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return -1, -1, -1  # nothing is ever moved elsewhere
        if timestamp_ms == MAX_TIMESTAMP:
            found = opened.find_max_time(limit)
        elif timestamp_ms < 0:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {timestamp_ms} has no meaning here")
        else:
            found = opened.find_time(timestamp_ms, limit)
        if found is None:
            return -1, -1, -1
        return found[0], found[1], opened.epochs.epoch_of(found[0])

    def end_of_epoch(
        self, session: Session, topic: str, index: int, current_epoch: int, epoch: int
    ) -> tuple[int, int]:
        """The largest epoch up to *epoch* that wrote anything, and where it ended."""
        partition = self.topics.hosted(topic, index).partition
        partition.check_epoch(current_epoch)
        if epoch > partition.leader_epoch:
            return -1, -1
        if epoch == partition.leader_epoch:
            return epoch, partition.log.end_offset
        return partition.log.epochs.end_of(epoch, partition.log.end_offset)

    async def delete_records(self, session: Session, topic: str, index: int, offset: int) -> int:
        """Give up the records below *offset*; the new first offset, once that is safe."""
        hosted = self.topics.hosted(topic, index)
        start_offset = hosted.partition.delete_before(offset)
        try:
            await self._checkpoints.note()
        except OSError as error:
            raise refusal_of(error, self._fail) from error
        return start_offset

    async def new_producer_id(self, session: Session) -> int:
        return await self._producer_ids.new()

    async def create_topics(
        self,
        session: Session,
        topics: Sequence[NewTopic],
        validate_only: bool = False,
        *,
        strict: bool = True,
    ) -> list[Topic | Refused]:
        """A topic or a refusal for each; *strict* clients understand being over their quota."""
        if not validate_only:
            try:
                self.quotas.changed(session, sum(max(topic.partitions, 1) for topic in topics), strict=strict)
            except Refused as refusal:
                return [refusal] * len(topics)
        theirs = [topic for topic in topics if topic.name not in INTERNAL_TOPICS]
        made = iter(await self.topics.create(theirs, validate_only))
        own = Refused(
            ErrorCode.POLICY_VIOLATION, "the broker's own topics are made by it, when they are needed"
        )
        return [own if topic.name in INTERNAL_TOPICS else next(made) for topic in topics]

    async def auto_create_topic(self, session: Session, name: str, partitions: int = -1) -> Topic:
        """The topic *name*, made with the broker's defaults if it is not there and that is allowed."""
        if name in self.topics:
            return self.topics.topic(name)
        check_name(name)
        for own in (self._offsets, self.transactions.log):
            if name == own.name:
                await own.ensure()
                return self.topics.topic(name)
        if not self.config().auto_create_topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        (made,) = await self.topics.create([NewTopic(name, partitions)])
        if isinstance(made, Topic):
            return made
        if made.code is ErrorCode.TOPIC_ALREADY_EXISTS:
            return self.topics.topic(name)  # somebody else was quicker
        raise made

    async def delete_topic(self, session: Session, name: str, *, strict: bool = True) -> Topic:
        if name in INTERNAL_TOPICS:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"{name} is the broker's own, and is not deleted")
        self.quotas.changed(session, self.topics.topic(name).partitions, strict=strict)
        try:
            return await self.topics.delete(name)
        except OSError as error:
            raise refusal_of(error, self._fail) from error

    async def grow_topic(
        self,
        session: Session,
        name: str,
        partitions: int,
        validate_only: bool = False,
        *,
        strict: bool = True,
    ) -> None:
        if not validate_only:
            self.quotas.changed(
                session, max(partitions - self.topics.topic(name).partitions, 1), strict=strict
            )
        await self.topics.grow(name, partitions, validate_only)

    def describe_topic_configs(self, session: Session, name: str) -> list[Described]:
        return self.configs.describe_topic(name)

    def describe_broker_configs(self, session: Session) -> list[Described]:
        return self.configs.describe_broker()

    async def replace_topic_configs(
        self, session: Session, name: str, configs: Mapping[str, str | None], validate_only: bool
    ) -> None:
        await self.configs.replace_topic(name, configs, validate_only)

    async def change_topic_configs(
        self, session: Session, name: str, changes: list[Change], validate_only: bool
    ) -> None:
        await self.configs.change_topic(name, changes, validate_only)

    async def replace_broker_configs(
        self, session: Session, configs: Mapping[str, str | None], validate_only: bool
    ) -> None:
        await self.configs.replace_broker(configs, validate_only)

    async def change_broker_configs(
        self, session: Session, changes: list[Change], validate_only: bool
    ) -> None:
        await self.configs.change_broker(changes, validate_only)

    def describe_group_configs(self, session: Session, group: str) -> list[Described]:
        return self.group_configs.describe(group)

    async def replace_group_configs(
        self, session: Session, group: str, configs: Mapping[str, str | None], validate_only: bool
    ) -> None:
        await self.group_configs.replace(group, configs, validate_only)

    async def change_group_configs(
        self, session: Session, group: str, changes: list[Change], validate_only: bool
    ) -> None:
        await self.group_configs.change(group, changes, validate_only)

    def describe_quotas(
        self, session: Session, matches: Sequence[Match], *, strict: bool
    ) -> dict[Entity, Mapping[str, float]]:
        return self.quotas.describe(matches, strict=strict)

    async def change_quotas(
        self,
        session: Session,
        changes: Mapping[Entity, Mapping[str, float | None]],
        *,
        validate_only: bool,
    ) -> None:
        await self.quotas.change(changes, validate_only=validate_only)

    async def coordinator(self, session: Session) -> None:
        """Return once this node can coordinate groups, which needs the topic they are written to."""
        await self._offsets.ensure()

    @property
    def received(self) -> Traffic:
        """What clients have written since the start."""
        return self._produce.traffic

    def counters(self) -> dict[str, int]:
        """Figures of the whole node that only grow."""
        return {
            "produced_batches": self._produce.batches,
            "produced_records": self._produce.traffic.records.total,
            "produced_bytes": self._produce.traffic.bytes.total,
            "fetched_bytes": self.sent.total,
            "syncs": self._commit.syncs,
            "door_records": self.writes.records,
            "unreadable_batches": self.reads.unreadable,
        }

    def _check_open_to_clients(self, topic: str) -> None:
        if self.broken.done():
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk has failed; this node is about to stop")
        if topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is written by the broker alone")

    def _fetch_unmetered(
        self, session: Session, wanted: Sequence[Wanted], max_bytes: int, min_bytes: int, max_wait_ms: int
    ) -> list[Found] | Awaitable[list[Found]]:
        return self._fetch.read(wanted, max_bytes, min_bytes, max_wait_ms)

    def _topic_deleted(self, name: str) -> None:
        self._next_partition.pop(name, None)
        self.groups.topic_deleted(name)
        self._roster.topic_deleted(name)
        self.queues.topic_deleted(name)

    def _fail(self, error: OSError) -> None:
        """The disk has failed: tell nobody any more that something is safe."""
        if self.broken.done():
            return
        log.critical("disk failed, stopping errno=%s error=%s", error.errno, error.strerror)
        self.broken.set_result(error)
        refusal = Refused(
            ErrorCode.KAFKA_STORAGE_ERROR, "the disk has failed; whether this was written is not known"
        )
        for hosted in self.topics.all_hosted():
            hosted.drop(refusal)


@final
class Accepted:
    """A batch in its log. *safe* is done once it is committed; None if it already is, or nobody asked."""

    __slots__ = ("appended", "log_start_offset", "safe")

    def __init__(
        self, appended: Appended, log_start_offset: int, safe: "asyncio.Future[None] | None"
    ) -> None:
        self.appended = appended
        self.log_start_offset = log_start_offset
        self.safe = safe


def _now_ms() -> int:
    """For what must not jump when the clock is set."""
    return round(asyncio.get_running_loop().time() * 1000)
