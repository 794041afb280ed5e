"""The admin API, as calls of the broker: topics, consumer groups, the cluster, its figures."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.configs import Change, Operation
from millstream.broker.registrations import READ_GROUP
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic
from millstream.cluster.image import Topic
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.gateways.connection import Door
from millstream.gateways.http.machine import Machine, memory_bytes, resident_bytes
from millstream.gateways.http.metrics import offline_partitions
from millstream.gateways.http.values import parse_object
from millstream.gateways.http.wrong import Wrong, status_of

_INVALID: Final = "INVALID_REQUEST"
_INT32_MAX: Final = (1 << 31) - 1
_OFFSETS_MAX: Final = 100_000  # set in one request
_PARTITIONS_A_SLICE: Final = 500
_CODES: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "TOPIC_NOT_FOUND",
    ErrorCode.UNKNOWN_TOPIC_ID: "TOPIC_NOT_FOUND",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TOPIC_ALREADY_EXISTS",
    ErrorCode.INVALID_PARTITIONS: "INVALID_PARTITIONS",
    ErrorCode.INVALID_REPLICATION_FACTOR: "INVALID_REPLICATION_FACTOR",
    ErrorCode.NOT_ENOUGH_REPLICAS: "INSUFFICIENT_REPLICAS",
    ErrorCode.GROUP_ID_NOT_FOUND: "GROUP_NOT_FOUND",
    ErrorCode.OFFSET_OUT_OF_RANGE: "OFFSET_OUT_OF_RANGE",
    ErrorCode.INVALID_CONFIG: "INVALID_CONFIG",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "AUTHORIZATION_FAILED",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "AUTHORIZATION_FAILED",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "AUTHORIZATION_FAILED",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "AUTHENTICATION_FAILED",
    ErrorCode.KAFKA_STORAGE_ERROR: "BROKER_NOT_AVAILABLE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "BROKER_NOT_AVAILABLE",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "BROKER_NOT_AVAILABLE",
    ErrorCode.NOT_COORDINATOR: "BROKER_NOT_AVAILABLE",
}


@final
class Admin:
    """Every call; an answer is the body of a success, and Wrong or Refused is any other.

    *kafka* is where clients of the Kafka protocol reach this node, *doors* are all that it has.
    """

    def __init__(
        self,
        broker: Broker,
        clock: Clock,
        kafka: Callable[[], tuple[str, int]],
        doors: Callable[[], Sequence[Door]],
    ) -> None:
        self.broker = broker
        self.doors = doors
        self._clock = clock
        self._kafka = kafka
        self._machine = Machine(asyncio.get_running_loop().time())

    # Health

    def health(self) -> tuple[int, dict[str, Any]]:
        """200 and how we are, or 503 and why nobody is served."""
        if self.broker.broken.done():
            error = self.broker.broken.result()
            return 503, {"status": "unavailable", "reason": f"the disk has failed: {error.strerror}"}
        trouble = self._trouble()
        if trouble:
            return 200, {"status": "degraded", "reason": "; ".join(trouble)}
        return 200, {"status": "ok"}

    def _trouble(self) -> list[str]:
        trouble = []
        if not self.broker.store.space.has_room():
            trouble.append("the disk is almost full: writes are refused")
        offline = offline_partitions(self.broker)
        if offline:
            trouble.append(f"{offline} partitions are offline")
        return trouble

    # Topics

    def topics(self, *, internal: bool = False) -> dict[str, Any]:
        shown = [
            _topic(topic)
            for _, topic in sorted(self.broker.topics.by_name().items())
            if internal or not topic.is_internal
        ]
        return {"topics": shown}

    async def create_topic(self, session: Session, body: bytes) -> dict[str, Any]:
        asked = parse_object(body)
        name = asked.get("name")
        if not isinstance(name, str):
            raise Wrong(400, _INVALID, "name is a string")
        new = NewTopic(
            name,
            _count(asked, "partitions", "INVALID_PARTITIONS"),
            _count(asked, "replication_factor", "INVALID_REPLICATION_FACTOR"),
            _configs(asked, nulls=False),
        )
        (made,) = await self.broker.create_topics(session, [new])
        if isinstance(made, Refused):
            raise made
        return {"success": True, "topic": _topic(made), "message": f"topic {name} created"}

    def topic(self, session: Session, name: str) -> dict[str, Any]:
        topic = self.broker.topics.topic(name)
        node_id = self.broker.node_id
        leader = self._here()
        return {
            "name": name,
            "partitions": [
                {
                    "partition": each.partition.index,
                    "leader": None if each.partition.log.offline else leader,
                    "replicas": [node_id],
                    "isr": [] if each.partition.log.offline else [node_id],
                }
                for each in self.broker.topics.of(name)
            ],
            "configs": dict(topic.configs),
        }

    async def change_topic(self, session: Session, name: str, body: bytes) -> dict[str, Any]:
        asked = parse_object(body)
        self.broker.topics.topic(name)
        configs = _configs(asked, nulls=True)
        partitions = _count(asked, "partitions", "INVALID_PARTITIONS")
        if partitions == -1 and not configs:
            raise Wrong(400, _INVALID, "nothing to change: give partitions, or configs")
        changes = [
            Change(key, Operation.DELETE if value is None else Operation.SET, value)
            for key, value in configs.items()
        ]
        if changes:
            await self.broker.change_topic_configs(session, name, changes, validate_only=True)
        if partitions not in (-1, self.broker.topics.topic(name).partitions):
            await self.broker.grow_topic(session, name, partitions)
        if changes:
            await self.broker.change_topic_configs(session, name, changes, validate_only=False)
        topic = self.broker.topics.topic(name)
        return {"success": True, "topic": _topic(topic), "message": f"topic {name} changed"}

    async def delete_topic(self, session: Session, name: str) -> dict[str, Any]:
        if self.broker.topics.topic(name).is_internal:
            raise Wrong(400, _INVALID, f"{name} is the broker's own")
        await self.broker.delete_topic(session, name)
        return {"success": True, "topic": name, "message": f"topic {name} deleted"}

    # Consumer groups

    def groups(self, session: Session) -> dict[str, Any]:
        return {"groups": [self._group(each.name, each.type) for each in self.broker.groups.listed()]}

    def _group(self, name: str, kind: str) -> dict[str, Any]:
        if kind == "consumer":
            modern = self.broker.groups.describe_modern(name)
            state, protocol, members = modern.state, modern.assignor, len(modern.members)
        else:
            classic = self.broker.groups.describe(name)
            state, protocol, members = classic.state, classic.protocol, len(classic.members)
        return {"group_id": name, "state": state.value, "protocol": protocol, "members": members}

    async def offsets(self, session: Session, group: str) -> dict[str, Any]:
        await self.broker.groups.ready()
        if group not in {each.name for each in self.broker.groups.listed()}:
            raise Wrong(404, "GROUP_NOT_FOUND", f"there is no group {group!r}")
        shown = []
        for (topic, index), offset in sorted((await self.broker.committed_offsets(session, group)).items()):
            try:
                end = self.broker.topics.hosted(topic, index).partition.high_watermark
            except Refused:
                continue  # its topic has just gone
            shown.append(
                {
                    "topic": topic,
                    "partition": index,
                    "current_offset": offset,
                    "log_end_offset": end,
                    "lag": max(end - offset, 0),
                }
            )
        return {"group_id": group, "offsets": shown}

    async def reset_offsets(self, session: Session, group: str, body: bytes) -> dict[str, Any]:
        asked = parse_object(body).get("offsets")
        if not isinstance(asked, list) or not 0 < len(asked) <= _OFFSETS_MAX:
            raise Wrong(400, _INVALID, "offsets is a list of { topic, partition, offset }")
        offsets = dict(self._offset(each, number) for number, each in enumerate(asked))
        await self.broker.groups.ready()
        kinds = {each.name: each.type for each in self.broker.groups.listed()}
        members = self._group(group, kinds[group])["members"] if group in kinds else 0
        if members:
            raise Wrong(
                409, "GROUP_NOT_EMPTY", f"group {group!r} has {members} members: stop them first, then reset"
            )
        await self.broker.commit_offsets(session, group, offsets, forever=group == READ_GROUP)
        return await self.offsets(session, group)

    def _offset(self, asked: object, number: int) -> tuple[tuple[str, int], int]:
        where = f"offsets[{number}]"
        if not isinstance(asked, dict):
            raise Wrong(400, _INVALID, f"{where} is {{ topic, partition, offset }}")
        topic, index = asked.get("topic"), asked.get("partition")
        offset = asked.get("offset", asked.get("current_offset"))
        if not isinstance(topic, str) or isinstance(index, bool) or not isinstance(index, int):
            raise Wrong(400, _INVALID, f"{where} needs topic, a string, and partition, a number")
        partition = self.broker.topics.hosted(topic, index).partition
        if offset == "earliest":
            return (topic, index), partition.log.start_offset
        if offset == "latest":
            return (topic, index), partition.high_watermark
        if isinstance(offset, bool) or not isinstance(offset, int):
            raise Wrong(400, _INVALID, f"{where}.offset is a number, earliest or latest")
        first, end = partition.log.start_offset, partition.high_watermark
        if not first <= offset <= end:
            raise Wrong(400, "OFFSET_OUT_OF_RANGE", f"{where}: {offset} is not within {first} and {end}")
        return (topic, index), offset

    # Consumers of the HTTP queue

    def consumers(self, session: Session, topic: str) -> dict[str, Any]:
        self.broker.topics.topic(topic)
        known = sorted(self.broker.registrations.of(topic).items())
        return {
            "topic": topic,
            "consumers": [{"partition": index, "consumer_id": name} for index, name in known],
        }

    async def register(self, session: Session, topic: str, body: bytes) -> dict[str, Any]:
        """Let the consumers named be all that the topic has, as when they come from another broker."""
        count = self.broker.topics.topic(topic).partitions
        asked = parse_object(body).get("consumers")
        if not isinstance(asked, list) or len(asked) > count:
            raise Wrong(
                400, _INVALID, f"consumers is a list of {{ partition, consumer_id }}, {count} at most"
            )
        consumers = dict(_consumer(each, number, count) for number, each in enumerate(asked))
        if len(consumers) < len(asked) or len(set(consumers.values())) < len(asked):
            raise Wrong(400, _INVALID, "a partition has one consumer, and a consumer one partition")
        await self.broker.registrations.assign(topic, consumers)
        return self.consumers(session, topic)

    async def release(self, session: Session, topic: str, consumer: str) -> dict[str, Any]:
        self.broker.topics.topic(topic)
        index = await self.broker.registrations.release(topic, consumer)
        if index is None:
            raise Wrong(404, "CONSUMER_NOT_FOUND", f"{consumer!r} has no partition of {topic}")
        return {
            "success": True,
            "topic": topic,
            "partition": index,
            "message": f"partition {index} is free",
        }

    # The cluster

    def cluster(self) -> dict[str, Any]:
        here = self._here()
        rack = self.broker.config().rack or None
        return {"cluster_id": self.broker.cluster_id, "controller": here, "brokers": [{**here, "rack": rack}]}

    def cluster_health(self) -> dict[str, Any]:
        online = 0 if self.broker.broken.done() else 1
        offline = offline_partitions(self.broker)
        status = "unhealthy" if not online else "degraded" if self._trouble() else "healthy"
        return {
            "status": status,
            "brokers_online": online,
            "brokers_total": 1,
            "under_replicated_partitions": offline,
            "offline_partitions": offline,
        }

    def broker_metrics(self) -> dict[str, Any]:
        now_ms = self._clock.now_ms()
        total = self.broker.disk.total_bytes()
        resident = resident_bytes()
        figures = {
            "id": self.broker.node_id,
            "messages_in_per_sec": round(self.broker.received.records.per_second(now_ms), 3),
            "bytes_in_per_sec": round(self.broker.received.bytes.per_second(now_ms), 3),
            "bytes_out_per_sec": round(self.broker.sent.per_second(now_ms), 3),
            "cpu_usage": round(self._machine.cpu_percent(asyncio.get_running_loop().time()), 2),
            "memory_usage": round(100 * resident / memory_bytes(), 2),
            "disk_usage": round(100 * (1 - self.broker.disk.free_bytes() / total), 2) if total else 0.0,
            "memory_bytes": resident,
        }
        return {"brokers": [figures]}

    async def topic_metrics(self, session: Session, name: str) -> dict[str, Any]:
        self.broker.topics.topic(name)
        now_ms = self._clock.now_ms()
        partitions = []
        records_per_sec = bytes_per_sec = 0.0
        for number, each in enumerate(self.broker.topics.of(name), 1):
            log, traffic = each.partition.log, each.traffic
            partitions.append(
                {
                    "partition": each.partition.index,
                    "size_bytes": log.size_bytes,
                    "messages": each.partition.high_watermark - log.start_offset,
                    "log_end_offset": each.partition.high_watermark,
                }
            )
            if traffic is not None:
                records_per_sec += traffic.records.per_second(now_ms)
                bytes_per_sec += traffic.bytes.per_second(now_ms)
            if number % _PARTITIONS_A_SLICE == 0:
                await asyncio.sleep(0)
        return {
            "topic": name,
            "messages_in_per_sec": round(records_per_sec, 3),
            "bytes_in_per_sec": round(bytes_per_sec, 3),
            "total_messages": sum(each["messages"] for each in partitions),
            "total_bytes": sum(each["size_bytes"] for each in partitions),
            "partitions": partitions,
        }

    def _here(self) -> dict[str, Any]:
        host, port = self._kafka()
        return {"id": self.broker.node_id, "host": host, "port": port}


def admin_wrong(refusal: Refused) -> Wrong:
    """*refusal* by the admin API's own codes."""
    code = _CODES.get(refusal.code, refusal.code.name)
    return Wrong(status_of(refusal.code), code, refusal.detail)


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "replication_factor": 1,
        "configs": dict(topic.configs),
    }


def _count(asked: Mapping[str, Any], field: str, code: str) -> int:
    """A number that may be left out, which is -1."""
    value = asked.get(field)
    if value is None:
        return -1
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _INT32_MAX:
        raise Wrong(400, code, f"{field} is a number of at least 1")
    return value


def _configs(asked: Mapping[str, Any], *, nulls: bool) -> dict[str, str | None]:
    given = asked.get("configs")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Wrong(400, "INVALID_CONFIG", "configs has names of configs and their values")
    configs: dict[str, str | None] = {}
    for name, value in given.items():
        if isinstance(value, bool):
            configs[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            configs[name] = str(value)
        elif value is None and nulls:
            configs[name] = None  # back to the broker's default
        else:
            raise Wrong(400, "INVALID_CONFIG", f"configs.{name} is a string, a number, true or false")
    return configs


def _consumer(asked: object, number: int, count: int) -> tuple[int, str]:
    where = f"consumers[{number}]"
    if not isinstance(asked, dict):
        raise Wrong(400, _INVALID, f"{where} is {{ partition, consumer_id }}")
    index, consumer = asked.get("partition"), asked.get("consumer_id")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
        raise Wrong(400, _INVALID, f"{where}.partition is a number from 0 to {count - 1}")
    if not isinstance(consumer, str) or not consumer:
        raise Wrong(400, _INVALID, f"{where}.consumer_id is a string, and not empty")
    return index, consumer
