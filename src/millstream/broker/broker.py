"""One short method per thing a client may ask, whichever door it came in by."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Final, final

from millstream.broker.checkpoints import Checkpoints
from millstream.broker.chores import Chores
from millstream.broker.commit import Commit
from millstream.broker.config import BrokerConfig
from millstream.broker.configs import Change, Configs, Described
from millstream.broker.disk_errors import GuardedRegistry, refusal_of
from millstream.broker.fetch import Fetch, Found, Wanted, bytes_in
from millstream.broker.group_log import OffsetsTopic
from millstream.broker.groups import Groups
from millstream.broker.live_config import LiveConfig
from millstream.broker.produce import ACKS_ALL, Produce, check_acks
from millstream.broker.producer_ids import ProducerIds
from millstream.broker.quotas import BrokerQuotas
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic, Topics, check_name
from millstream.cluster.image import Topic
from millstream.env.environment import Env
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig
from millstream.partition.partition import Appended
from millstream.security.quota import Entity, Match
from millstream.storage.config import LogConfig
from millstream.storage.store import Store

log = logging.getLogger(__name__)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6


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
        self.disk = env.disk
        self.store = store
        self.broken: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
        config = self.config
        env = replace(env, registry=GuardedRegistry(env.registry, store.space, self._fail))
        self.topics = Topics(env, store, config, lambda: live.get(LogConfig))
        self.configs = Configs(env.registry, self.topics, live)
        self.quotas = BrokerQuotas(env.registry)
        self._commit = Commit(self._fail)
        self._checkpoints = Checkpoints(store)
        self._produce = Produce(env.clock, self._commit, store.space, self._fail)
        self._fetch = Fetch(self.topics, config)
        self._producer_ids = ProducerIds(env.registry)
        self._offsets = OffsetsTopic(self.topics, self._produce, env.clock, lambda: live.get(GroupConfig))
        self.groups = Groups(self._offsets, self.topics, env.clock, env.random, lambda: live.get(GroupConfig))
        self._chores = Chores(env, store, self.topics, self._commit, self._checkpoints, config, self._fail)
        self.topics.settled = self._chores.settled

    def config(self) -> BrokerConfig:
        return self.live.get(BrokerConfig)

    @property
    def node_id(self) -> int:
        return self.config().node_id

    async def start(self) -> None:
        await self.configs.start()
        await self.quotas.start()
        await self.topics.start()
        self.groups.start()
        self.topics.deleted = self.groups.topic_deleted
        self._chores.start()

    async def stop(self) -> None:
        """Stop upkeep, answer all who wait, and finish every sync that is under way."""
        await self._chores.stop()
        self.groups.stop()
        self._fetch.stop()
        if not self.broken.done():
            for hosted in self.topics.all_hosted():
                self._commit.sync(hosted)
            await self._commit.drained()
        await self._checkpoints.settled()

    def produce(self, session: Session, topic: str, index: int, records: memoryview, acks: int) -> "Accepted":
        """Append one batch now; what is returned tells where, and when it is safe."""
        check_acks(acks)
        if self.broken.done():
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk has failed; this node is about to stop")
        hosted = self.topics.hosted(topic, index)
        if hosted.partition.topic == self._offsets.name:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is written by the broker alone")
        if acks == ACKS_ALL:
            hosted.partition.check_in_sync()
        self.quotas.produced(session, len(records))
        appended = self._produce.append(hosted, records)
        return Accepted(
            appended, hosted.partition.log.start_offset, hosted.acked(appended.end_offset) if acks else None
        )

    def fetch(
        self, session: Session, wanted: Sequence[Wanted], max_bytes: int, min_bytes: int, max_wait_ms: int
    ) -> list[Found] | Awaitable[list[Found]]:
        """Committed batches of all *wanted*: at once, or when *min_bytes* have come or the wait is over."""
        found = self._fetch.read(wanted, max_bytes, min_bytes, max_wait_ms)
        if isinstance(found, list):
            self.quotas.consumed(session, bytes_in(found))
            return found
        return self._fetched_later(session, found)

    async def _fetched_later(self, session: Session, found: Awaitable[list[Found]]) -> list[Found]:
        results = await found
        self.quotas.consumed(session, bytes_in(results))
        return results

    def find_offset(
        self, session: Session, topic: str, index: int, timestamp_ms: int, epoch: int = -1
    ) -> tuple[int, int, int]:
        """Offset, timestamp and leader epoch of what *timestamp_ms* stands for; -1 where there is none."""
        partition = self.topics.hosted(topic, index).partition
        partition.check_epoch(epoch)
        opened = partition.log
        if opened.offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{opened.name} is offline")
        if timestamp_ms == LATEST:
            return partition.high_watermark, -1, partition.leader_epoch
        if timestamp_ms in (EARLIEST, EARLIEST_LOCAL):
            return opened.start_offset, -1, opened.epochs.epoch_of(opened.start_offset)
        if timestamp_ms in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return -1, -1, -1  # nothing is ever moved elsewhere
        if timestamp_ms == MAX_TIMESTAMP:
            found = opened.find_max_time(partition.high_watermark)
        elif timestamp_ms < 0:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {timestamp_ms} has no meaning here")
        else:
            found = opened.find_time(timestamp_ms, partition.high_watermark)
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
        return await self.topics.create(topics, validate_only)

    async def auto_create_topic(self, session: Session, name: str) -> Topic:
        """The topic *name*, made with the broker's defaults if it is not there and that is allowed."""
        if name in self.topics:
            return self.topics.topic(name)
        check_name(name)
        if name == self._offsets.name:
            await self._offsets.ensure()
            return self.topics.topic(name)
        if not self.config().auto_create_topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        (made,) = await self.topics.create([NewTopic(name)])
        if isinstance(made, Topic):
            return made
        if made.code is ErrorCode.TOPIC_ALREADY_EXISTS:
            return self.topics.topic(name)  # somebody else was quicker
        raise made

    async def delete_topic(self, session: Session, name: str, *, strict: bool = True) -> Topic:
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
