"""Kafka Streams: the word count of its tutorial, exactly once, killed on its way."""

import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.compat.confluent.clients import consumer, create, producer, send
from tests.compat.node import Node
from tests.compat.platforms.jvm import KAFKA, SECONDS, command, eventually
from tests.compat.platforms.topics import configs

pytestmark = [
    pytest.mark.timeout(900),  # the first time, jars are fetched
    pytest.mark.row("Kafka Streams", "platforms", KAFKA),
]

_WORDS: Final = ("the", "mill", "grinds", "what", "the", "stream", "brings", "and", "the", "rain", "gave")


class App:
    """The application in a process of its own, and what it has said."""

    def __init__(self, *arguments: str) -> None:
        self.said: list[str] = []
        self._process = subprocess.Popen(
            [*command("WordCount"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.said.append(line.rstrip())

    def kill(self) -> None:
        self._process.kill()
        self.ended()

    def close(self) -> int:
        assert self._process.stdin
        self._process.stdin.close()
        return self.ended()

    def ended(self) -> int:
        code = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code


@contextmanager
def application(*arguments: str) -> Iterator[App]:
    app = App(*arguments)
    try:
        yield app
    finally:
        app.kill()


class Counts:
    """What the application wrote and committed: by word, every count that was told, in order."""

    def __init__(self, reading: Consumer, topic: str) -> None:
        self._reading = reading
        self._reading.assign([TopicPartition(topic, partition, 0) for partition in range(2)])
        self.told: dict[str, list[int]] = defaultdict(list)

    def total(self) -> int:
        for message in self._reading.consume(1000, 0.1):
            assert message.error() is None, message.error()
            word, count = message.key(), message.value()
            assert isinstance(word, bytes)
            assert isinstance(count, bytes)
            self.told[word.decode()].append(int(count))
        return sum(map(len, self.told.values()))


def lines(first: int, count: int) -> list[str]:
    return [" ".join([*_WORDS[n % 7 :], f"line-{n}"]) for n in range(first, first + count)]


def expected(lines: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        for word in line.split():
            found[word].append(len(found[word]) + 1)
    return found


def write(bootstrap: str, topic: str, lines: list[str]) -> None:
    send(producer(bootstrap), topic, [{"value": line, "partition": n % 2} for n, line in enumerate(lines)])


@pytest.mark.parametrize("state", ["kept", "lost"])
def test_word_count(node: Node, name: str, state: str, tmp_path: Path) -> None:
    """exactly_once_v2, classic groups: the application is killed and goes on; every word counts once"""
    text, counts = f"{name}-text", f"{name}-counts"
    create(node.bootstrap, text, 2)
    create(node.bootstrap, counts, 2)
    all_lines = lines(0, 600)
    with consumer(node.bootstrap, isolation_level="read_committed") as reading:
        told = Counts(reading, counts)
        started = node.bootstrap, name, text, counts
        with application(*started, str(tmp_path / "state"), "classic") as app:
            write(node.bootstrap, text, all_lines[:200])
            eventually(lambda: told.total() > 0, lambda: f"nothing was counted: {app.said}")
            write(node.bootstrap, text, all_lines[200:400])
            app.kill()
        again = tmp_path / ("state" if state == "kept" else "elsewhere")
        with application(*started, str(again), "classic") as app:
            write(node.bootstrap, text, all_lines[400:])
            wanted = expected(all_lines)
            words = sum(map(len, wanted.values()))
            eventually(lambda: told.total() >= words, lambda: f"{told.total()} of {words}: {app.said}")
            eventually(lambda: purged(node, f"{name}-words-repartition"), lambda: "nothing was purged")
            assert app.close() == 0, app.said
        time.sleep(0.5)
        told.total()
        assert told.told == wanted
    assert configs(node, f"{name}-words-repartition").items() >= {
        ("cleanup.policy", "delete"),
        ("retention.ms", "-1"),
    }
    assert configs(node, f"{name}-counts-changelog")["cleanup.policy"] == "compact"


def purged(node: Node, topic: str) -> bool:
    """What was read of the repartition topic is deleted, as Streams asks of a broker."""
    with consumer(node.bootstrap) as asking:
        marks = [asking.get_watermark_offsets(TopicPartition(topic, partition)) for partition in range(2)]
    return all(low > 0 for low, _ in marks)


def test_newer_protocol(node: Node, name: str, tmp_path: Path) -> None:
    """the rebalance protocol of KIP-1071 is not served, and who asks for it is told so at once"""
    create(node.bootstrap, f"{name}-text")
    create(node.bootstrap, f"{name}-counts")
    asked = node.bootstrap, name, f"{name}-text", f"{name}-counts", str(tmp_path / "state"), "streams"
    with application(*asked) as app:
        assert app.ended() == 1, app.said
        assert any("UnsupportedVersion" in line for line in app.said), app.said
