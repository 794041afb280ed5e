"""Kafka Connect and MirrorMaker 2: files through topics, and topics from one node to another."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.cimpl import NewPartitions
from tests.compat.confluent.clients import admin, consumer, create, producer, read, send
from tests.compat.node import Node
from tests.compat.platforms.jvm import KAFKA, SECONDS, Jvm, eventually
from tests.compat.platforms.topics import committed, configs, partitions

pytestmark = pytest.mark.timeout(900)  # the first time, jars are fetched
connect = pytest.mark.row("Kafka Connect", "platforms", KAFKA)
mirror = pytest.mark.row("MirrorMaker 2", "platforms", KAFKA)

FILES = "org.apache.kafka.connect.file.FileStream"


def worker(node: Node) -> dict[str, object]:
    """What any worker is told; often enough to wait for nothing."""
    text = "org.apache.kafka.connect.storage.StringConverter"
    return {
        "bootstrap.servers": node.bootstrap,
        "key.converter": text,
        "value.converter": text,
        "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "service_load",
        "offset.flush.interval.ms": 100,
        "task.shutdown.graceful.timeout.ms": 60_000,
        "consumer.heartbeat.interval.ms": 300,
        "consumer.fetch.max.wait.ms": 50,
        "consumer.metadata.max.age.ms": 500,
    }


def source(name: str, file: Path) -> dict[str, object]:
    return {
        "name": f"{name}-source",
        "connector.class": f"{FILES}SourceConnector",
        "file": file,
        "topic": name,
    }


def sink(name: str, file: Path) -> dict[str, object]:
    return {"name": f"{name}-sink", "connector.class": f"{FILES}SinkConnector", "file": file, "topics": name}


def add(file: Path, first: int, count: int) -> None:
    with file.open("a") as out:
        out.writelines(f"line {n}\n" for n in range(first, first + count))


def has(file: Path, count: int) -> bool:
    """*file* has come to *count* lines: those added, each once, in order."""
    lines = file.read_text().splitlines() if file.exists() else []
    assert lines == [f"line {n}" for n in range(len(lines))], lines
    return len(lines) == count


@connect
def test_standalone(jvm: Jvm, node: Node, name: str, tmp_path: Path) -> None:
    """file to topic to file; a worker that comes back goes on where it was"""
    create(node.bootstrap, name)
    into, out = tmp_path / "in.txt", tmp_path / "out.txt"
    files = []
    for config in (source(name, into), sink(name, out)):
        files.append(tmp_path / f"{config['name']}.properties")
        files[-1].write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    config = {**worker(node), "offset.storage.file.filename": tmp_path / "offsets"}
    for turn in range(2):
        add(into, turn * 50, 50)
        with jvm.running("standalone", config, files):
            eventually(lambda: has(out, (turn + 1) * 50), jvm.last_words)  # noqa: B023 called at once
    assert committed(node, f"connect-{name}-sink") == {(name, 0): 100}
    with consumer(node.bootstrap) as reading:
        assert reading.get_watermark_offsets(TopicPartition(name, 0)) == (0, 100)


@connect
def test_distributed(jvm: Jvm, node: Node, name: str, tmp_path: Path) -> None:
    """the same by REST, with all that a worker keeps in three compacted topics; exactly-once source"""
    into, out = tmp_path / "in.txt", tmp_path / "out.txt"
    config: dict[str, object] = {**worker(node), "group.id": name}
    for kept in ("configs", "offsets", "statuses"):
        config[f"{kept[:6]}.storage.topic"] = f"{name}-{kept}"
        config[f"{kept[:6]}.storage.replication.factor"] = 1
    config |= {"offset.storage.partitions": 3, "status.storage.partitions": 2, "heartbeat.interval.ms": 300}
    config |= {"session.timeout.ms": 10_000, "scheduled.rebalance.max.delay.ms": 0}
    config |= {"exactly.once.source.support": "enabled"}
    add(into, 0, 50)
    with jvm.running("distributed", config) as url:
        for connector in (source(name, into), sink(name, out)):
            rest("PUT", f"{url}connectors/{connector['name']}/config", connector)
        eventually(lambda: has(out, 50), jvm.last_words)
    add(into, 50, 50)
    with jvm.running("distributed", config) as url:
        eventually(lambda: has(out, 100), jvm.last_words)
        eventually(lambda: running(url, f"{name}-source"), jvm.last_words)
        assert sorted(rest("GET", f"{url}connectors")) == [f"{name}-sink", f"{name}-source"]
        told = [{"partition": {"filename": str(into)}, "offset": {"position": into.stat().st_size}}]
        offsets = f"{url}connectors/{name}-source/offsets"
        eventually(lambda: rest("GET", offsets)["offsets"] == told, jvm.last_words)
    topics = {f"{name}-configs": 1, f"{name}-offsets": 3, f"{name}-statuses": 2}
    assert {topic: partitions(node, topic) for topic in topics} == topics
    assert {configs(node, topic)["cleanup.policy"] for topic in topics} == {"compact"}


def rest(method: str, url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body, default=str).encode()
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        return json.loads(answer.read())


def running(url: str, connector: str) -> bool:
    told = rest("GET", f"{url}connectors/{connector}/status")
    return [task["state"] for task in (told["connector"], *told["tasks"])] == ["RUNNING", "RUNNING"]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Node]:
    """Where topics are mirrored to."""
    node = Node(tmp_path / "other")
    try:
        yield node
    finally:
        node.close()


@mirror
def test_between_two_nodes(jvm: Jvm, node: Node, other: Node, name: str) -> None:
    """topics, records, configs, partitions added later and a group's offsets; it goes on after a restart"""
    create(node.bootstrap, name, 2, retention_ms="123456789")
    mirrored = f"a.{name}"
    write(node, name, 0)
    read_and_commit(node, name)
    with jvm.running("mirror", mirrors(node, other, name)):
        eventually(lambda: partitions(other, mirrored) == 2, jvm.last_words)
        eventually(lambda: configs(other, mirrored)["retention.ms"] == "123456789", jvm.last_words)
        eventually(lambda: has_come(other, mirrored, [20, 20]), jvm.last_words)
        eventually(
            lambda: committed(other, name) == {(mirrored, 0): 20, (mirrored, 1): 20},
            lambda: f"{committed(other, name)}, {jvm.last_words()}",
        )
        grow(node, name, 3)
        eventually(lambda: partitions(other, mirrored) == 3, jvm.last_words)
    write(node, name, 20)
    with jvm.running("mirror", mirrors(node, other, name)):
        eventually(lambda: has_come(other, mirrored, [40, 40, 0]), jvm.last_words)
    assert records(other, mirrored) == records(node, name)
    assert partitions(node, "mm2-offset-syncs.b.internal") == 1
    for internal in ("heartbeats", "a.checkpoints.internal", "mm2-offsets.a.internal"):
        assert configs(other, internal)["cleanup.policy"] == "compact"


def mirrors(node: Node, other: Node, name: str) -> dict[str, object]:
    """From *node*, called a, to *other*, called b; what is told by the minute is told by the second."""
    told: dict[str, object] = {
        "clusters": "a, b",
        "a.bootstrap.servers": node.bootstrap,
        "b.bootstrap.servers": other.bootstrap,
        "a->b.enabled": "true",
        "b->a.enabled": "false",
        "b->a.emit.heartbeats.enabled": "false",
        "topics": name,
        "groups": name,
        "replication.factor": 1,
        "sync.group.offsets.enabled": "true",
        "offset.lag.max": 0,
        "b.plugin.discovery": "service_load",
        "b.offset.flush.interval.ms": 100,
        "task.shutdown.graceful.timeout.ms": 60_000,
        "b.scheduled.rebalance.max.delay.ms": 0,
        "emit.checkpoints.interval.seconds": 1,
        "emit.heartbeats.interval.seconds": 1,
        "refresh.topics.interval.seconds": 1,
        "refresh.groups.interval.seconds": 1,
        "sync.topic.configs.interval.seconds": 1,
        "sync.group.offsets.interval.seconds": 1,
    }
    for internal in ("offset-syncs", "checkpoints", "heartbeats"):
        told[f"{internal}.topic.replication.factor"] = 1
    for internal in ("offset", "status", "config"):
        told[f"{internal}.storage.replication.factor"] = 1
    return told


def write(node: Node, topic: str, first: int) -> None:
    send(
        producer(node.bootstrap),
        topic,
        [
            {"key": f"key {n}", "value": f"value {n}", "headers": [("n", str(n))], "partition": partition}
            for n in range(first, first + 20)
            for partition in range(2)
        ],
    )


def read_and_commit(node: Node, topic: str) -> None:
    """A group of the topic's name reads all there is."""
    with consumer(node.bootstrap, group_id=topic) as member:
        member.subscribe([topic])
        read(member, 40, SECONDS)
        member.commit(asynchronous=False)


def grow(node: Node, topic: str, count: int) -> None:
    client = admin(node.bootstrap)
    client.create_partitions([NewPartitions(topic, count)])[topic].result(SECONDS)


def has_come(node: Node, topic: str, ends: list[int]) -> bool:
    with consumer(node.bootstrap) as asking:
        marks = [asking.get_watermark_offsets(TopicPartition(topic, n), SECONDS) for n in range(len(ends))]
    return [high for _, high in marks] == ends


def records(node: Node, topic: str) -> list[tuple[object, ...]]:
    """Everything in *topic* but what a mirror adds."""
    with consumer(node.bootstrap) as reading:
        reading.assign([TopicPartition(topic, partition, 0) for partition in range(2)])
        got = read(reading, 80, SECONDS)
    return sorted((each.partition(), each.offset(), each.key(), each.value(), each.headers()) for each in got)
