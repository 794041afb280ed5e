"""The same through real clients: librdkafka from a small C program, and Java's own performance tools."""

import json
import re
import subprocess
from collections.abc import Callable
from typing import Final

from bench.figures import Measured, Row
from bench.native import Missing, built
from bench.peers.debian import header
from bench.peers.kafka import jars
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, new_topic

_SIZE: Final = 100
_PATIENCE_SECONDS: Final = 300

Client = Callable[[Peer, str, str, int], tuple[float, float]]
"""Given whom, produce or consume, which topic and how many: messages a second, and processors it took."""


def workloads(*, quick: bool) -> list[Workload]:
    count = 1_000_000 if quick else 5_000_000
    return [
        made
        for name, client, needs in (("librdkafka", _librdkafka, _has_librdkafka), ("Java", _java, _has_java))
        if needs()
        for made in _both(name, client, count)
    ]


def _both(name: str, client: Client, count: int) -> list[Workload]:
    keys = f"{name}, produce", f"{name}, consume"

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic)
        try:
            found = {}
            for key, mode in zip(keys, ("produce", "consume"), strict=True):
                used = peer.cpu_seconds()
                rate, share = client(peer, mode, topic, count)
                found[key] = Measured(rate, (peer.cpu_seconds() - used) * 1e6 / count, share)
            return found
        finally:
            peer.delete(topic)

    rows = tuple(Row(key, f"{key}, {_SIZE} bytes a message", "messages/s") for key in keys)
    # The floor knows no metadata, without which no real client begins.
    return [Workload(f"{name} client", rows, measure, fits=lambda peer: hasattr(peer, "wait_until_served"))]


def _librdkafka(peer: Peer, mode: str, topic: str, count: int) -> tuple[float, float]:
    words = [str(built("rdkafka")), mode, f"127.0.0.1:{peer.port}", topic, str(count), str(_SIZE)]
    found = json.loads(_said(words))
    return found["messages"] / found["seconds"], found["client_cpu"] / found["seconds"]


def _java(peer: Peer, mode: str, topic: str, count: int) -> tuple[float, float]:
    java = ["java", "-Xmx512m", "-cp", f"{jars()}/*"]
    where = f"bootstrap.servers=127.0.0.1:{peer.port}"
    if mode == "produce":
        words = [*java, "org.apache.kafka.tools.ProducerPerformance", "--topic", topic]
        words += ["--num-records", str(count), "--record-size", str(_SIZE), "--throughput", "-1"]
        words += ["--producer-props", where, "acks=all", "linger.ms=5", "batch.size=262144"]
        found = re.findall(r"([\d.]+) records/sec", _said(words))
        return float(found[-1]), 0.0
    words = [*java, "org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, "--messages", str(count)]
    words += ["--bootstrap-server", f"127.0.0.1:{peer.port}", "--timeout", "60000"]
    # start, end, MB, MB/s, messages, messages/s, ms to join, ms to fetch, ...
    figures = _said(words).strip().splitlines()[-1].split(",")
    return float(figures[4]) * 1000 / float(figures[7]), 0.0


def _said(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


def _has_librdkafka() -> bool:
    try:
        header("librdkafka/rdkafka.h", "librdkafka-dev")
        built("rdkafka")
    except Missing:
        return False
    return True


def _has_java() -> bool:
    try:
        jars()
    except Missing:
        return False
    return True
