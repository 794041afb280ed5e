"""The same through real clients: librdkafka from a small C program, and Java's own performance tools."""

import json
import re
import resource
import subprocess
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from bench.figures import Measured, Row
from bench.native import built
from bench.peers.debian import header
from bench.peers.kafka import jars
from bench.peers.peer import Peer
from bench.peers.speaks_kafka import SpeaksKafka
from bench.workloads.workload import Workload, new_topic

PARTITIONS: Final = 1_000
_SIZE: Final = 100
_COUNT: Final = 4_000_000
_QUICK_COUNT: Final = 2_000_000
_PATIENCE_SECONDS: Final = 300


class Told(NamedTuple):
    """What a client found."""

    per_second: float
    share: float  # of one processor, that the client took: of its busiest thread, where that is known
    seconds: float


Client = Callable[[Peer, str, str, int], Told]
"""Given whom, produce or consume, which topic and how many messages."""


def workloads(*, quick: bool) -> list[Workload]:
    count = _QUICK_COUNT if quick else _COUNT
    made = [_both("librdkafka", _librdkafka, _install_librdkafka, count)]
    if not quick:
        made.append(_spread("librdkafka", _librdkafka, _install_librdkafka, count))
        made.append(_both("Java", _java, jars, count))
        made.append(_spread("Java", _java, jars, count))
    return made


def spread(name: str) -> str:
    return f"{name}, produce over {PARTITIONS:,} partitions"


def _both(name: str, client: Client, install: Callable[[], object], count: int) -> Workload:
    keys = f"{name}, produce", f"{name}, consume"

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic)
        try:
            found = {}
            for key, mode in zip(keys, ("produce", "consume"), strict=True):
                found[key] = _measured(client, peer, mode, topic, count)
            return found
        finally:
            peer.delete(topic)

    rows = tuple(Row(key, f"{key}, {_SIZE} bytes a message", "messages/s") for key in keys)
    # The floor knows no metadata, without which no real client begins.
    return Workload(
        f"{name} client",
        rows,
        measure,
        fits=lambda peer: issubclass(peer, SpeaksKafka),
        install=install,
        most_rounds=3,
    )


def _spread(name: str, client: Client, install: Callable[[], object], count: int) -> Workload:
    """The same producer, whose messages go to one of many partitions each."""
    key = spread(name)

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic, PARTITIONS)
        try:
            client(peer, "produce", topic, count // 4)  # so that all have a file
            return {key: _measured(client, peer, "produce", topic, count)}
        finally:
            peer.delete(topic)

    return Workload(
        f"{name} client over {PARTITIONS:,} partitions",
        (Row(key, key, "messages/s"),),
        measure,
        fits=lambda peer: issubclass(peer, SpeaksKafka),
        install=install,
        most_rounds=3,
    )


def _measured(client: Client, peer: Peer, mode: str, topic: str, count: int) -> Measured:
    used = peer.cpu_seconds()
    told = client(peer, mode, topic, count)
    used = peer.cpu_seconds() - used
    return Measured(told.per_second, used * 1e6 / count, told.share, server_share=used / told.seconds)


def _librdkafka(peer: Peer, mode: str, topic: str, count: int) -> Told:
    words = [str(built("rdkafka")), mode, f"127.0.0.1:{peer.port}", topic, str(count), str(_SIZE)]
    found = json.loads(_said(words))
    seconds = found["seconds"]
    return Told(found["messages"] / seconds, found["busiest_thread"] / seconds, seconds)


def _java(peer: Peer, mode: str, topic: str, count: int) -> Told:
    java = ["java", "-Xmx512m", "-cp", f"{jars()}/*"]
    began, before = time.perf_counter(), _children_cpu()
    if mode == "produce":
        words = [*java, "org.apache.kafka.tools.ProducerPerformance", "--topic", topic]
        words += ["--num-records", str(count), "--record-size", str(_SIZE), "--throughput", "-1"]
        words += ["--producer-props", f"bootstrap.servers=127.0.0.1:{peer.port}"]
        words += ["acks=all", "linger.ms=5", "batch.size=262144"]
        rate = float(re.findall(r"([\d.]+) records/sec", _said(words))[-1])
    else:
        words = [*java, "org.apache.kafka.tools.ConsumerPerformance", "--topic", topic]
        words += ["--messages", str(count), "--bootstrap-server", f"127.0.0.1:{peer.port}"]
        # start, end, MB, MB/s, messages, messages/s, ms to join, ms to fetch, ...
        figures = _said([*words, "--timeout", "60000"]).strip().splitlines()[-1].split(",")
        rate = float(figures[4]) * 1000 / float(figures[7])
    # Of the whole process, from the start of its machine: where there is a limit, it does not tell whose.
    seconds = time.perf_counter() - began
    return Told(rate, (_children_cpu() - before) / seconds, seconds)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _said(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


def _install_librdkafka() -> None:
    header("librdkafka/rdkafka.h", "librdkafka-dev")
    built("rdkafka")
