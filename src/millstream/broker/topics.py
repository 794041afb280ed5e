"""Topics: created, grown, configured and deleted, one change at a time."""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, final
from uuid import UUID

from millstream.broker.config import BrokerConfig
from millstream.broker.unhurried import to_the_end
from millstream.broker.waiting import Hosted
from millstream.cluster.image import TOPIC_PREFIX, Image, Topic
from millstream.env.environment import Env
from millstream.env.registry import ABSENT
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Partition
from millstream.settings import InvalidSetting, parse_settings
from millstream.storage.config import LogConfig
from millstream.storage.store import Store

log = logging.getLogger(__name__)
T = TypeVar("T")

NAME_MAX: Final = 249
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+\Z")
_LOGS_A_SLICE: Final = 100  # opened in one go before others get the loop


@final
@dataclass(frozen=True)
class NewTopic:
    """A topic as it was asked for; -1 leaves a number to the broker's defaults."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@final
class Topics:
    """Every topic of the node and the partitions it serves.

    Changes run one after the other and to their end, even if the client that
    asked goes away: the registry first, then the logs, then the image.
    """

    def __init__(
        self,
        env: Env,
        store: Store,
        config: Callable[[], BrokerConfig],
        log_defaults: Callable[[], LogConfig],
    ) -> None:
        self.image = Image()
        self.deleted: Callable[[str], None] = lambda name: None
        self.settled: Callable[[Hosted], Awaitable[None]] = _at_once
        self._env = env
        self._store = store
        self._config = config
        self._log_defaults = log_defaults
        self._hosted: dict[str, list[Hosted]] = {}
        self._revisions: dict[str, int] = {}
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Open the log of every partition the registry knows."""
        topics = []
        for item in await self._env.registry.range(TOPIC_PREFIX):
            topic = Topic.from_json(item.value)
            self._revisions[topic.name] = item.revision
            topics.append(topic)
        for topic in topics:
            self._hosted[topic.name] = []
            await self._host(topic)
        self.image = self.image.with_topics(topics)
        for stranger in self._store.discard_strangers({topic.name: topic.id for topic in topics}):
            log.warning("a log of no topic we know was set aside log=%s", stranger)
        for name, recovery in self._store.recoveries.items():
            if recovery.failure is not None:
                log.error("partition offline log=%s reason=%s", name, recovery.failure)
            elif recovery.truncated_bytes:
                log.warning("torn tail cut off log=%s bytes=%d", name, recovery.truncated_bytes)

    def __contains__(self, name: str) -> bool:
        return name in self.image.topics

    def by_name(self) -> Mapping[str, Topic]:
        """Every topic; the same mapping as long as nothing has changed."""
        return self.image.topics

    def hosted(self, name: str, index: int) -> Hosted:
        """The partition *index* of topic *name*."""
        partitions = self._hosted.get(name)
        if partitions is None or not 0 <= index < len(partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{index}")
        return partitions[index]

    def partitions(self, name: str) -> Sequence[Hosted]:
        """All partitions of topic *name*, by index; for good, but they may become more, or be dropped."""
        return self._hosted[name]

    def of(self, name: str) -> list[Hosted]:
        """Every partition of topic *name*; none if there is no such topic."""
        return list(self._hosted.get(name, ()))

    def all_hosted(self) -> list[Hosted]:
        return [hosted for partitions in self._hosted.values() for hosted in partitions]

    def name_of(self, id: bytes) -> str:
        """The name of the topic with this id."""
        name = self.image.names.get(id)
        if name is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with id {UUID(bytes=id)}")
        return name

    def topic(self, name: str) -> Topic:
        topic = self.image.topics.get(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return topic

    def log_config(self, configs: Mapping[str, str | None]) -> LogConfig:
        """The broker's defaults with a topic's own *configs* over them."""
        try:
            given = {name: value for name, value in configs.items() if value is not None}
            return parse_settings(LogConfig, given, self._log_defaults())
        except InvalidSetting as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None

    async def create(self, asked: Sequence[NewTopic], validate_only: bool = False) -> list[Topic | Refused]:
        """Create what can be created; for each topic asked for, in order, the topic or the refusal."""
        return await self._to_the_end(self._create(asked, validate_only))

    async def delete(self, name: str) -> Topic:
        """Delete *name* and its data; requests that wait on it are refused."""
        return await self._to_the_end(self._delete(name))

    async def grow(self, name: str, partitions: int, validate_only: bool = False) -> None:
        """Give *name* as many partitions as *partitions*, which must be more than it has."""
        await self._to_the_end(self._grow(name, partitions, validate_only))

    async def configure(
        self, name: str, change: Callable[[Mapping[str, str]], Mapping[str, str]], validate_only: bool = False
    ) -> None:
        """Replace the configs of *name* by what *change* makes of them."""
        await self._to_the_end(self._configure(name, change, validate_only))

    def apply_defaults(self) -> None:
        """The broker's defaults have changed: so has every topic that relies on them."""
        for name, topic in self.image.topics.items():
            self._apply_config(name, self.log_config(topic.configs))

    async def _to_the_end(self, change: Awaitable[T]) -> T:
        async def in_turn() -> T:
            async with self._turn:
                return await change

        return await to_the_end(in_turn())

    async def _create(self, asked: Sequence[NewTopic], validate_only: bool) -> list[Topic | Refused]:
        results: list[Topic | Refused] = []
        named = Counter(new.name for new in asked)
        taken = {_collision_key(name): name for name in self.image.topics}
        room = self._config().max_partitions - self.image.partition_count
        for new in asked:
            try:
                if named[new.name] > 1:
                    raise Refused(
                        ErrorCode.INVALID_REQUEST, f"topic {new.name!r} is named twice in this request"
                    )
                topic = self._planned(new, taken, room)
            except Refused as refusal:
                results.append(refusal)
            else:
                results.append(topic)
                taken[_collision_key(topic.name)] = topic.name
                room -= topic.partitions
        topics = [result for result in results if isinstance(result, Topic)]
        if topics and not validate_only:
            try:
                await self._store_topics(topics)
            except Refused as refusal:
                return [refusal if isinstance(result, Topic) else result for result in results]
        return results

    def _planned(self, new: NewTopic, taken: Mapping[str, str], room: int) -> Topic:
        check_name(new.name)
        if new.name in self.image.topics:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {new.name!r} already exists")
        other = taken.get(_collision_key(new.name))
        if other is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic {new.name!r} collides with {other!r}: '.' and '_' are alike",
            )
        partitions = self._partition_count(new)
        if partitions > room:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                f"{partitions} more partitions would exceed max.partitions={self._config().max_partitions}",
            )
        configs = {name: value for name, value in new.configs.items() if value is not None}
        self.log_config(configs)
        return Topic(new.name, self._new_id(), partitions, configs)

    def _partition_count(self, new: NewTopic) -> int:
        if new.assignments:
            return self._assigned_count(new)
        partitions = self._config().num_partitions if new.partitions == -1 else new.partitions
        if partitions < 1:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions; a topic has at least one")
        asked = new.replication_factor
        replicas = self._config().default_replication_factor if asked == -1 else asked
        if replicas != 1:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR, f"replication factor {replicas}, but there is 1 broker"
            )
        return partitions

    def _assigned_count(self, new: NewTopic) -> int:
        if new.partitions != -1 or new.replication_factor != -1:
            raise Refused(
                ErrorCode.INVALID_REQUEST, "give either assignments, or partitions and replication factor"
            )
        node_id = self._config().node_id
        if sorted(new.assignments) != list(range(len(new.assignments))):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "assignments must be for partitions 0, 1, 2 and so on"
            )
        for index, replicas in new.assignments.items():
            if list(replicas) != [node_id]:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"partition {index} is assigned to {list(replicas)}, but the only broker is {node_id}",
                )
        return len(new.assignments)

    async def _store_topics(self, topics: Sequence[Topic]) -> None:
        revision = await self._env.registry.change(
            {topic.key: topic.to_json() for topic in topics}, {topic.key: ABSENT for topic in topics}
        )
        assert revision, "topics change in turn, so nobody else can have created these"
        for topic in topics:
            self._revisions[topic.name] = revision
            self._hosted[topic.name] = []
            await self._host(topic)
        self.image = self.image.with_topics(topics)
        for topic in topics:
            log.info("topic created topic=%s partitions=%d id=%s", topic.name, topic.partitions, topic.id)

    async def _host(self, topic: Topic) -> None:
        """Open the logs of the partitions of *topic* that are not served yet."""
        config = self.log_config(topic.configs)
        hosted = self._hosted[topic.name]
        for index in range(len(hosted), topic.partitions):
            now_ms = self._env.clock.now_ms()
            opened = self._store.open_log(topic.name, topic.id, index, config, now_ms, latest_epoch=0)
            hosted.append(Hosted(Partition(topic.name, index, opened)))
            if len(hosted) % _LOGS_A_SLICE == 0:
                await asyncio.sleep(0)

    async def _delete(self, name: str) -> Topic:
        if not self._config().delete_topics:
            raise Refused(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
        topic = self.topic(name)
        done = await self._env.registry.change({topic.key: None}, {topic.key: self._revisions[name]})
        assert done, "topics change in turn, so nobody else can have changed this one"
        self.image = self.image.without_topic(name)
        del self._revisions[name]
        gone = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} was deleted")
        for hosted in self._hosted.pop(name):
            hosted.drop(gone)
            # A sync under way writes by name: it must not find a new topic's directory there.
            await self.settled(hosted)
            self._store.delete_log(hosted.partition.log)
        self.deleted(name)
        log.info("topic deleted topic=%s id=%s", name, topic.id)
        return topic

    async def _grow(self, name: str, partitions: int, validate_only: bool) -> None:
        topic = self.topic(name)
        if partitions <= topic.partitions:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                f"topic {name!r} has {topic.partitions} partitions; it can only get more, not {partitions}",
            )
        if self.image.partition_count - topic.partitions + partitions > self._config().max_partitions:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"max.partitions is {self._config().max_partitions}")
        if not validate_only:
            grown = Topic(name, topic.id, partitions, topic.configs)
            await self._replace(topic, grown)
            await self._host(grown)
            self.image = self.image.with_topics([grown])

    async def _configure(
        self, name: str, change: Callable[[Mapping[str, str]], Mapping[str, str]], validate_only: bool
    ) -> None:
        topic = self.topic(name)
        configs = change(topic.configs)
        config = self.log_config(configs)
        if not validate_only:
            changed = Topic(name, topic.id, topic.partitions, configs)
            await self._replace(topic, changed)
            self.image = self.image.with_topics([changed])
            self._apply_config(name, config)

    def _apply_config(self, name: str, config: LogConfig) -> None:
        for hosted in self._hosted[name]:
            hosted.partition.log.config = config
            hosted.committed()

    async def _replace(self, old: Topic, new: Topic) -> None:
        revision = await self._env.registry.change(
            {new.key: new.to_json()}, {old.key: self._revisions[old.name]}
        )
        assert revision, "topics change in turn, so nobody else can have changed this one"
        self._revisions[new.name] = revision

    def _new_id(self) -> UUID:
        return UUID(int=self._env.random.getrandbits(128), version=4)


def check_name(name: str) -> None:
    """Refuse what can be no topic's name."""
    if not name or name in (".", ".."):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"a topic cannot be named {name!r}")
    if len(name) > NAME_MAX:
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"a topic name has at most {NAME_MAX} characters, not {len(name)}",
        )
    if not _LEGAL_NAME.match(name):
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"{name!r} is no topic name: letters, digits, '.', '_' and '-' are",
        )


async def _at_once(hosted: Hosted) -> None:
    """There is nothing to wait for."""


def _collision_key(name: str) -> str:
    return name.replace(".", "_")
