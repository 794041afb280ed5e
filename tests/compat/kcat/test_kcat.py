"""Debian's kcat (librdkafka 2.0) at a shell: produce, consume, list, query, groups, restarts."""

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, Final

import pytest
from tests.compat.confluent.clients import create
from tests.compat.node import CODECS, Node

KCAT: Final = shutil.which("kcat") or shutil.which("kafkacat")
SECONDS: Final = 30

pytestmark = pytest.mark.skipif(KCAT is None, reason="kcat is not installed (apt-get install kcat)")


def kcat(node: Node, *arguments: str, input: str | bytes = b"") -> str:
    """What kcat prints; it must be content with how things went."""
    assert KCAT is not None
    command = [KCAT, "-b", node.bootstrap, "-X", "socket.timeout.ms=10000", *arguments]
    given = input.encode() if isinstance(input, str) else input
    done = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def produce(node: Node, topic: str, *lines: str, options: tuple[str, ...] = ()) -> None:
    kcat(node, "-P", "-t", topic, "-p", "0", *options, input="\n".join(lines))


def consume(node: Node, topic: str, *options: str) -> list[str]:
    """Everything in partition 0, up to its end."""
    return kcat(node, "-C", "-q", "-e", "-t", topic, "-p", "0", *options).splitlines()


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(node: Node, name: str, acks: str) -> None:
    create(node.bootstrap, name)
    produce(node, name, "a", "b", "c", options=("-X", f"acks={acks}"))
    assert consume(node, name) == ["a", "b", "c"]


@pytest.mark.parametrize("codec", CODECS)
def test_compression_stays_on(node: Node, name: str, codec: str) -> None:
    """Old librdkafka stops to compress, without a word, where Produce is not served from version 0 on."""
    create(node.bootstrap, name)
    lines = [f"compress me {i} " * 20 for i in range(100)]
    produce(node, name, *lines, options=("-z", codec))

    assert node.codecs(name) == {CODECS[codec]}
    assert consume(node, name) == lines


def test_keys_headers_and_nulls(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    options = ("-K:", "-Z", "-H", "a=1", "-H", "b=2")
    produce(node, name, "k:v", "gone:", ":no key", options=options)

    told = [json.loads(line) for line in consume(node, name, "-J")]
    assert [(each["key"], each["payload"]) for each in told] == [("k", "v"), ("gone", None), (None, "no key")]
    assert {tuple(each["headers"]) for each in told} == {("a", "1", "b", "2")}
    assert [each["offset"] for each in told] == [0, 1, 2]


def test_a_megabyte_and_more_than_is_taken(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    produce(node, name, "x" * 1_000_000, options=("-X", "message.max.bytes=2000000"))
    assert [len(line) for line in consume(node, name)] == [1_000_000]

    with pytest.raises(AssertionError, match="Message size too large"):
        produce(node, name, "x" * 1_500_000, options=("-X", "message.max.bytes=2000000"))


def test_idempotent(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    produce(node, name, *map(str, range(50)), options=("-X", "enable.idempotence=true"))
    assert {batch.producer_id >= 0 for batch in node.batches(name)} == {True}
    assert consume(node, name) == [str(i) for i in range(50)]


def test_offsets(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    produce(node, name, *map(str, range(20)))
    assert consume(node, name, "-o", "15") == ["15", "16", "17", "18", "19"]
    assert consume(node, name, "-o", "-3") == ["17", "18", "19"]
    assert consume(node, name, "-o", "beginning", "-c", "2") == ["0", "1"]
    assert consume(node, name, "-o", "end") == []


def test_times(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    produce(node, name, "early")
    (first,) = (json.loads(line)["ts"] for line in consume(node, name, "-J"))
    produce(node, name, "late")
    assert consume(node, name, "-o", f"s@{first}") == ["early", "late"]
    assert consume(node, name, "-o", f"s@{first + 1}") == ["late"]
    assert kcat(node, "-Q", "-t", f"{name}:0:{first + 1}").strip() == f"{name} [0] offset 1"
    assert kcat(node, "-Q", "-t", f"{name}:0:-1").strip() == f"{name} [0] offset 2"
    assert kcat(node, "-Q", "-t", f"{name}:0:-2").strip() == f"{name} [0] offset 0"


def test_the_cluster_is_listed(node: Node, name: str) -> None:
    create(node.bootstrap, name, 3)
    told: dict[str, Any] = json.loads(kcat(node, "-L", "-J"))
    assert told["brokers"] == [{"id": 1, "name": node.bootstrap}]
    assert told["controllerid"] == 1
    (topic,) = (each for each in told["topics"] if each["topic"] == name)
    assert [(each["partition"], each["leader"]) for each in topic["partitions"]] == [(0, 1), (1, 1), (2, 1)]

    (topic,) = json.loads(kcat(node, "-L", "-J", "-t", name))["topics"]
    assert len(topic["partitions"]) == 3


def test_groups(node: Node, name: str) -> None:
    create(node.bootstrap, name, 3)
    for partition in range(3):
        kcat(node, "-P", "-t", name, "-p", str(partition), input=f"{partition}")
    settings = ("-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000")
    got = kcat(node, *settings, "-q", "-e", "-G", name, name).split()
    assert sorted(got) == ["0", "1", "2"]

    produce(node, name, "new")
    again = kcat(node, *settings, "-q", "-e", "-G", name, name).split()
    assert again == ["new"]


@pytest.mark.parametrize("end", [Node.stop, Node.kill], ids=["stop", "kill"])
def test_what_it_wrote_is_there_after(mortal: Node, name: str, end: Callable[[Node], None]) -> None:
    produce(mortal, name, "a", "b")
    end(mortal)
    mortal.start()
    produce(mortal, name, "c")
    assert consume(mortal, name) == ["a", "b", "c"]


def test_a_producer_waits_for_its_broker(mortal: Node, name: str) -> None:
    """It is fed while the broker is away, and content in the end."""
    assert KCAT is not None
    create(mortal.bootstrap, name)
    patient = ["-E", "-X", "reconnect.backoff.ms=10", "-X", "reconnect.backoff.max.ms=50"]
    command = [
        KCAT,
        "-b",
        mortal.bootstrap,
        "-P",
        "-t",
        name,
        "-p",
        "0",
        *patient,
        "-X",
        "enable.idempotence=1",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"before\n")
        producer.stdin.flush()
        mortal.kill()
        producer.stdin.write(b"away\n")
        producer.stdin.flush()
        mortal.start()
        producer.stdin.close()
        assert producer.wait(SECONDS) == 0
    assert consume(mortal, name) == ["before", "away"]
