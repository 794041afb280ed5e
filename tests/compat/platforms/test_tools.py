"""Kafka's command line tools against a node, and against what it keeps on disk."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from tests.compat.confluent.clients import consumer, create, producer, read, send, values
from tests.compat.node import CODECS, Node
from tests.compat.platforms.jvm import KAFKA, Jvm, eventually
from tests.compat.platforms.tools import Tools

pytestmark = [
    pytest.mark.timeout(900),  # the first time, jars are fetched
    pytest.mark.row("Kafka's tools", "tools", KAFKA),
]


@pytest.fixture
def tools(jvm: Jvm, node: Node) -> Tools:
    return Tools(jvm, node.bootstrap)


@pytest.fixture
def topic(node: Node, name: str) -> str:
    """A topic of two partitions; the first has ten records."""
    create(node.bootstrap, name, 2)
    send(producer(node.bootstrap), name, values(*(f"value {n}" for n in range(10))))
    return name


@pytest.fixture
def group(node: Node, topic: str) -> str:
    """A group of the topic's name that has read four records, and has no members."""
    with consumer(node.bootstrap, group_id=topic) as reading:
        reading.subscribe([topic])
        read(reading, 4)
        reading.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    return topic


def rows(said: str) -> Iterator[list[str]]:
    return (line.split() for line in said.splitlines() if line)


def test_kafka_topics(tools: Tools, name: str) -> None:
    """create, list, describe, add partitions, delete"""
    assert f"Created topic {name}." in tools.run(
        "kafka-topics", "--create", "--topic", name, "--partitions", 2, "--config", "retention.ms=1234567"
    )
    assert "already exists" in tools.run("kafka-topics", "--create", "--topic", name, code=1)
    assert name in tools.run("kafka-topics", "--list").split()
    tools.run("kafka-topics", "--alter", "--topic", name, "--partitions", 3)
    said = tools.run("kafka-topics", "--describe", "--topic", name)
    assert "PartitionCount: 3\tReplicationFactor: 1\tConfigs: retention.ms=1234567" in said
    assert f"Topic: {name}\tPartition: 2\tLeader: 1\tReplicas: 1\tIsr: 1" in said
    assert name not in tools.run("kafka-topics", "--describe", "--under-replicated-partitions")
    tools.run("kafka-topics", "--delete", "--topic", name)
    assert name not in tools.run("kafka-topics", "--list").split()


def test_kafka_console(tools: Tools, name: str) -> None:
    """kafka-console-producer and kafka-console-consumer, with keys and headers"""
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    tools.run("kafka-console-producer", "--topic", name, *keyed, input="h:1\tkey\tvalue\nh:2\tk\tv\n")
    shown = ("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true")
    asked = ("--topic", name, "--from-beginning", "--max-messages", 2, *shown)
    assert "h:1\tkey\tvalue\nh:2\tk\tv\n" in tools.run("kafka-console-consumer", *asked)


def test_quick_start(tools: Tools, jvm: Jvm, node: Node, tmp_path: Path) -> None:
    """Kafka's own quick start, line by line: a topic, two events, and a file through Connect"""
    events = ("--topic", "quickstart-events")
    said = tools.run("kafka-topics", "--create", *events)
    assert "Created topic quickstart-events." in said
    said = tools.run("kafka-topics", "--describe", *events)
    assert said.startswith("Topic: quickstart-events\tTopicId: ")
    assert "\tPartitionCount: 1\tReplicationFactor: 1\t" in said
    assert "Topic: quickstart-events\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1" in said
    written = "This is my first event\nThis is my second event\n"
    tools.run("kafka-console-producer", *events, input=written)
    said = tools.run("kafka-console-consumer", *events, "--from-beginning", "--max-messages", 2)
    assert said.startswith(written)

    into, out = tmp_path / "test.txt", tmp_path / "test.sink.txt"
    into.write_text("foo\nbar\n")
    files = []
    for kind, place in (("Source", f"file={into}\ntopic"), ("Sink", f"file={out}\ntopics")):
        files.append(tmp_path / f"connect-file-{kind}.properties")
        files[-1].write_text(f"name=local-{kind}\nconnector.class=FileStream{kind}\n{place}=connect-test\n")
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    worker = {
        "bootstrap.servers": node.bootstrap,
        "key.converter": json_converter,
        "value.converter": json_converter,
        "listeners": "http://127.0.0.1:0",
        "offset.storage.file.filename": tmp_path / "connect.offsets",
        "offset.flush.interval.ms": 100,
    }
    with jvm.running("standalone", worker, files):
        eventually(lambda: out.exists() and out.read_text() == "foo\nbar\n", jvm.last_words)
        asked = ("--topic", "connect-test", "--from-beginning", "--max-messages", 2)
        schema = '{"schema":{"type":"string","optional":false},"payload":"%s"}\n'
        assert tools.run("kafka-console-consumer", *asked).startswith(schema % "foo" + schema % "bar")
        with into.open("a") as file:
            file.write("Another line\n")
        eventually(lambda: out.read_text() == "foo\nbar\nAnother line\n", jvm.last_words)


def test_kafka_get_offsets(tools: Tools, topic: str) -> None:
    """the first, the next and the newest offset, and those of what is only here"""
    expected = {"earliest": (0, 0), "latest": (10, 0), "earliest-local": (0, 0)}
    for when, (first, second) in expected.items():
        said = tools.run("kafka-get-offsets", "--topic", topic, "--time", when)
        assert set(said.split()) == {f"{topic}:0:{first}", f"{topic}:1:{second}"}, when
    said = tools.run("kafka-get-offsets", "--topic", topic, "--time", "max-timestamp")
    assert said.startswith(f"{topic}:0:")


def test_kafka_consumer_groups(tools: Tools, group: str) -> None:
    """list by state and type, lag, members, reset, delete offsets, delete"""
    states = list(rows(tools.run("kafka-consumer-groups", "--list", "--state", "Empty")))
    assert [group, "Empty"] in states
    assert [group, "Classic"] in list(rows(tools.run("kafka-consumer-groups", "--list", "--type")))
    one = ("kafka-consumer-groups", "--group", group)
    assert [group, group, "0", "4", "10", "6"] in [row[:6] for row in rows(tools.run(*one, "--describe"))]
    assert "Empty" in tools.run(*one, "--describe", "--state")
    assert "no active members" in tools.run(*one, "--describe", "--members", "--verbose")
    reset = ("--reset-offsets", "--topic", f"{group}:0", "--execute")
    assert [group, group, "0", "7"] in list(rows(tools.run(*one, *reset, "--to-offset", 7)))
    assert [group, group, "0", "5"] in list(rows(tools.run(*one, *reset, "--shift-by", -2)))
    assert [group, group, "0", "10"] in list(rows(tools.run(*one, *reset, "--to-latest")))
    assert "Successful" in tools.run(*one, "--delete-offsets", "--topic", group)
    assert "was successful" in tools.run(*one, "--delete")
    assert [group] not in [row[:1] for row in rows(tools.run("kafka-groups", "--list"))]


def test_kafka_configs(tools: Tools, topic: str) -> None:
    """configs of topics and brokers, quotas of users and clients; passwords are refused"""
    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools.run("kafka-configs", "--alter", *entity, "--add-config", "retention.ms=5000,segment.bytes=1048576")
    tools.run("kafka-configs", "--alter", *entity, "--delete-config", "segment.bytes")
    said = tools.run("kafka-configs", "--describe", *entity)
    assert "retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000, " in said
    assert "segment.bytes" not in said
    assert "segment.bytes=1073741824" in tools.run("kafka-configs", "--describe", "--all", *entity)
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    assert "log.retention.ms=604800000" in tools.run("kafka-configs", "--describe", "--all", *broker)
    for kind in ("users", "clients"):
        who = ("--entity-type", kind, "--entity-name", topic)
        tools.run("kafka-configs", "--alter", *who, "--add-config", "consumer_byte_rate=1000000")
        assert "consumer_byte_rate=1000000.0" in tools.run("kafka-configs", "--describe", *who)
        tools.run("kafka-configs", "--alter", *who, "--delete-config", "consumer_byte_rate")
        assert "consumer_byte_rate" not in tools.run("kafka-configs", "--describe", *who)
    password = ("--entity-type", "users", "--entity-name", "u", "--add-config", "SCRAM-SHA-256=[password=p]")
    assert "ALTER_USER_SCRAM_CREDENTIALS" in tools.run("kafka-configs", "--alter", *password, code=1)


def test_kafka_verifiable(tools: Tools, node: Node, name: str) -> None:
    """kafka-verifiable-producer, then kafka-verifiable-consumer by either group protocol"""
    create(node.bootstrap, name)
    sent = tools.run("kafka-verifiable-producer", "--topic", name, "--max-messages", 50)
    told = [json.loads(line) for line in sent.splitlines() if line.startswith("{")]
    assert [each["offset"] for each in told if each["name"] == "producer_send_success"] == list(range(50))
    for protocol in ("classic", "consumer"):
        asked = ("--group-id", f"{name}-{protocol}", "--group-protocol", protocol)
        got = tools.run("kafka-verifiable-consumer", "--topic", name, "--max-messages", 50, *asked)
        told = [json.loads(line) for line in got.splitlines() if line.startswith("{")]
        assert sum(each["count"] for each in told if each["name"] == "records_consumed") == 50
        assert {each["success"] for each in told if each["name"] == "offsets_committed"} == {True}


def test_kafka_transactions(tools: Tools, node: Node, topic: str) -> None:
    """list, describe, describe-producers, find-hanging, and abort one that hangs"""
    writer = producer(node.bootstrap, transactional_id=topic)
    writer.init_transactions(30)
    writer.begin_transaction()
    send(writer, topic, values("left open", partition=1))
    listed = [row for row in rows(tools.run("kafka-transactions", "list")) if row[0] == topic]
    assert [row[3] for row in listed] == ["Ongoing"]
    described = tools.run("kafka-transactions", "describe", "--transactional-id", topic)
    assert f"{topic}-1" in described
    place = ("--topic", topic, "--partition", 1)
    (row,) = list(rows(tools.run("kafka-transactions", "describe-producers", *place)))[1:]
    assert row[-1] == "0", "where its transaction begins"
    assert len(list(rows(tools.run("kafka-transactions", "find-hanging", "--topic", topic)))) == 1
    tools.run("kafka-transactions", "abort", *place, "--start-offset", 0)
    (row,) = list(rows(tools.run("kafka-transactions", "describe-producers", *place)))[1:]
    assert row[-1] == "None", "its transaction is over"


def test_kafka_delete_records(tools: Tools, topic: str, tmp_path: Path) -> None:
    """records before an offset"""
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 3}]}
    (tmp_path / "wanted.json").write_text(json.dumps(wanted))
    said = tools.run("kafka-delete-records", "--offset-json-file", tmp_path / "wanted.json")
    assert f"partition: {topic}-0\tlow_watermark: 3" in said


def test_kafka_log_dirs(tools: Tools, node: Node, topic: str) -> None:
    """where partitions are kept, and how large they are"""
    said = tools.run("kafka-log-dirs", "--describe", "--topic-list", topic)
    (told,) = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    ((broker,),) = [each["logDirs"] for each in told["brokers"]]
    sizes = {each["partition"]: each["size"] for each in broker["partitions"]}
    assert broker["logDir"] == str(node.data)
    assert sizes.keys() == {f"{topic}-0", f"{topic}-1"}
    assert sizes[f"{topic}-0"] > sizes[f"{topic}-1"] == 0


def test_kafka_leader_election(tools: Tools, topic: str) -> None:
    """no election is needed where there is one node, and that is no error"""
    asked = ("kafka-leader-election", "--election-type", "preferred")
    said = tools.run(*asked, "--topic", topic, "--partition", 0)
    assert f"Valid replica already elected for partitions {topic}-0" in said
    tools.run(*asked, "--all-topic-partitions")
    assert "UnknownTopicOrPartition" in tools.run(*asked, "--topic", "nowhere", "--partition", 0, code=1)


def test_kafka_reassign_partitions(tools: Tools, topic: str, tmp_path: Path) -> None:
    """generate, execute, list and verify: to the only node there is"""
    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    said = tools.run(
        "kafka-reassign-partitions",
        *("--generate", "--topics-to-move-json-file", tmp_path / "topics.json", "--broker-list", "1"),
    )
    plan = tmp_path / "plan.json"
    plan.write_text(said.partition("Proposed partition reassignment configuration\n")[2])
    moved = ("--reassignment-json-file", plan)
    assert "Successfully started" in tools.run("kafka-reassign-partitions", "--execute", *moved)
    assert "No partition reassignments" in tools.run("kafka-reassign-partitions", "--list")
    assert f"{topic}-0 is completed" in tools.run("kafka-reassign-partitions", "--verify", *moved)


def test_kafka_acls(tools: Tools, topic: str) -> None:
    """there are no ACLs yet: refused in the words of a Kafka that has no authorizer"""
    assert "SecurityDisabledException" in tools.run("kafka-acls", "--list", code=1)
    rule = ("--allow-principal", "User:x", "--operation", "read", "--topic", topic)
    assert "SecurityDisabledException" in tools.run("kafka-acls", "--add", *rule, code=1)


def test_kafka_features(tools: Tools) -> None:
    """features and versions; kafka-metadata-quorum is told that there is no quorum"""
    features = {
        row[1]: row[row.index("FinalizedVersionLevel:") + 1]
        for row in rows(tools.run("kafka-features", "describe"))
    }
    assert features == {"group.version": "1", "transaction.version": "2"}
    assert "Fetch(1): 4 to 18 [usable: 18]" in tools.run("kafka-broker-api-versions")
    assert "Cluster ID: " in tools.alone("kafka-cluster", "cluster-id", "--bootstrap-server", tools.bootstrap)
    assert "DESCRIBE_QUORUM" in tools.run("kafka-metadata-quorum", "describe", "--status", code=1)


def test_kafka_perf_test(tools: Tools, topic: str) -> None:
    """kafka-producer-perf-test in transactions, kafka-consumer-perf-test"""
    asked = ("--topic", topic, "--num-records", 1000, "--record-size", 100, "--throughput", -1)
    said = tools.run("kafka-producer-perf-test", *asked, "--transactional-id", f"{topic}-perf")
    assert "1000 records sent" in said
    said = tools.run("kafka-consumer-perf-test", "--topic", topic, "--num-records", 1000)
    assert int(said.splitlines()[-1].split(", ")[4]) >= 1000


def test_kafka_dump_log(tools: Tools, node: Node, name: str) -> None:
    """our segments, whole and record by record, in all codecs; their indexes agree with them"""
    create(node.bootstrap, name, segment_bytes="16384", index_interval_bytes="1000")
    for codec in CODECS:
        writer = producer(node.bootstrap, compression_type=codec)
        for _ in range(5):
            sent = [
                {"key": f"{n}", "value": random.randbytes(250) * 2, "headers": [("h", "1")]}
                for n in range(10)
            ]
            send(writer, name, sent)
    first, *_, last = logs = sorted((node.data / f"{name}-0").glob("*.log"))
    files = ",".join(map(str, logs))
    said = tools.alone("kafka-dump-log", "--files", files, "--deep-iteration", "--skip-record-metadata")
    told = tools.alone("kafka-dump-log", "--files", files, "--deep-iteration")
    records = [line for line in told.splitlines() if line.startswith("| offset: ")]
    assert [line.split()[2] for line in records] == [str(n) for n in range(250)]
    assert all("valueSize: 500" in line and "headerKeys: [h]" in line for line in records)
    assert "isvalid: false" not in said + told
    assert all(f"compresscodec: {codec}" in told for codec in CODECS)
    assert first != last, "one of them is whole, and has its indexes on disk"
    for index in (first.with_suffix(".index"), first.with_suffix(".timeindex")):
        said = tools.alone("kafka-dump-log", "--files", index, "--index-sanity-check")
        assert f"{index} passed sanity check." in said
        said = tools.alone("kafka-dump-log", "--files", index, "--verify-index-only")
        assert said.strip() == f"Dumping {index}", said


def test_kafka_dump_log_decoders(tools: Tools, node: Node, group: str) -> None:
    """what groups and transactions are kept as is read by Kafka's own decoders, as a consumer reads it too"""
    writer = producer(node.bootstrap, transactional_id=f"{group}-id")
    writer.init_transactions(30)
    writer.begin_transaction()
    send(writer, group, values("one"))
    writer.commit_transaction(30)
    offsets = dump(tools, node, "__consumer_offsets", "--offsets-decoder")
    assert f'"group":"{group}","topic":"{group}","partition":0' in offsets
    states = dump(tools, node, "__transaction_state", "--transaction-log-decoder")
    assert f'"transactionalId":"{group}-id"' in states
    marked = dump(tools, node, group, "--print-data-log")
    assert "endTxnMarker: COMMIT" in marked


def dump(tools: Tools, node: Node, topic: str, decoder: str) -> str:
    return tools.alone("kafka-dump-log", "--files", ",".join(map(str, node.at_rest(topic))), decoder)


@pytest.mark.parametrize("kind", ["Offsets", "GroupMetadata"])
def test_kafka_console_consumer(tools: Tools, group: str, kind: str) -> None:
    """the internal topic of groups, by the formatters that monitoring uses"""
    formatter = f"org.apache.kafka.tools.consumer.{kind}MessageFormatter"
    asked = ("--topic", "__consumer_offsets", "--from-beginning", "--formatter", formatter)
    said = ""
    for wait_ms in (2_000, 30_000):  # it stops when nothing has come for so long: the machine may be busy
        if f'"group":"{group}"' not in said:
            said = tools.run("kafka-console-consumer", *asked, "--timeout-ms", wait_ms)
    assert f'"group":"{group}"' in said


def test_kafka_streams_application_reset(tools: Tools, group: str) -> None:
    """an application's group goes back to the beginning of its topic"""
    tools.run(
        "kafka-streams-application-reset", "--application-id", group, "--input-topics", group, "--to-earliest"
    )
    said = tools.run("kafka-consumer-groups", "--describe", "--group", group)
    assert [group, group, "0", "0"] in [row[:4] for row in rows(said)]
