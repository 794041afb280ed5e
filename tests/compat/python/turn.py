"""One scenario's turn with one client, and the program that takes them one after another."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from tests.compat.python.client import Client, Consumer, Producer, Reading, Record, Writing

_PATIENCE: Final = 25.0
_QUIET: Final = 0.3


class Wrong(Exception):
    """What was seen is not what should be."""


def check(truth: bool, otherwise: str) -> None:
    if not truth:
        raise Wrong(otherwise)


def refused(call: Callable[[], object], otherwise: str) -> None:
    try:
        call()
    except Exception:
        return
    raise Wrong(otherwise)


def same(got: Sequence[Record], sent: Sequence[Record]) -> None:
    """Keys, values and headers, in order."""
    check(len(got) == len(sent), f"{len(got)} records came, not {len(sent)}")
    for i, (one, other) in enumerate(zip(got, sent, strict=True)):
        told = f"record {i} came back as {one.key!r:.60} {one.value!r:.60}"
        check((one.key, one.value) == (other.key, other.value), told)
        check(one.headers == other.headers, f"record {i} came back with {one.headers}")


class Turn:
    """What it uses is named after it, and closed when it is over."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self._opened: list[Producer | Consumer] = []
        self._end = time.monotonic() + _PATIENCE

    def close(self) -> None:
        for each in reversed(self._opened):
            try:
                each.close()
            except Exception:
                traceback.print_exc()

    def in_time(self, otherwise: str) -> None:
        check(time.monotonic() < self._end, otherwise)

    def topic(self, partitions: int) -> str:
        self.client.admin.create(self.name, partitions, {})
        return self.name

    def producer(self, how: Writing | None = None) -> Producer:
        made = self.client.producer(how or Writing())
        self._opened.append(made)
        return made

    def consumer(self, how: Reading) -> Consumer:
        made = self.client.consumer(how)
        self._opened.append(made)
        return made

    def leave(self, opened: Producer | Consumer) -> None:
        self._opened.remove(opened)
        opened.close()

    def write(self, topic: str, records: Sequence[Record], how: Writing | None = None) -> list[int]:
        """Send with a producer of its own."""
        producer = self.producer(how)
        told = producer.send(topic, records)
        self.leave(producer)
        return told

    def next(self, consumer: Consumer, count: int) -> list[Record]:
        """The next *count* records: no more, no fewer."""
        got: list[Record] = []
        while len(got) < count:
            self.in_time(f"{len(got)} of {count} records came")
            got += consumer.poll()
        check(len(got) == count, f"{len(got)} records came, not {count}")
        return got

    def read(self, topic: str, count: int, committed: bool = False) -> list[Record]:
        """All of a topic, by partition and offset, and nothing after it."""
        consumer = self.consumer(Reading(topic, committed=committed))
        got = self.next(consumer, count)
        check(not consumer.poll(), "too many records came")
        self.leave(consumer)
        return sorted(got, key=lambda record: (record.partition, record.offset))

    def quiet(self, consumer: Consumer, why: str) -> None:
        end = time.monotonic() + _QUIET
        while time.monotonic() < end:
            check(not consumer.poll(), f"{why}, yet records came")

    def settle(self, each: int, *members: Consumer) -> None:
        """Until each member owns so many partitions, and all of them different ones."""
        while True:
            shares = [member.owned() for member in members]
            owned = {partition for share in shares for partition in share}
            if len(owned) == each * len(members) and all(len(share) == each for share in shares):
                return
            self.in_time(f"the group did not settle: members own {shares}")
            time.sleep(0.02)

    def restart(self) -> None:
        """Have the broker restarted."""
        say({"ask": "restart"})
        sys.stdin.readline()
        self._end = time.monotonic() + _PATIENCE


def run(open: Callable[[str], Client], scenarios: dict[str, Callable[[Turn], None]]) -> NoReturn:
    """Run the scenarios that the command line names: see tests/compat/scenarios.py."""
    bootstrap, prefix, *names = sys.argv[1:]
    client = open(bootstrap)
    for name in names:
        began = time.monotonic()
        result, detail = _attempt(client, scenarios, name, f"{prefix}-{name}")
        seconds = round(time.monotonic() - began, 3)
        told = {"scenario": name, "result": result, "detail": detail, "version": client.version}
        say({**told, "seconds": seconds})
    sys.stdout.flush()
    os._exit(0)  # whatever a client still has running


def _attempt(
    client: Client, scenarios: dict[str, Callable[[Turn], None]], name: str, prefix: str
) -> tuple[str, str]:
    if name in client.not_applicable:
        return "not applicable", client.not_applicable[name]
    turn = Turn(client, prefix)
    try:
        scenarios[name](turn)
    except Exception as problem:
        traceback.print_exc()
        return "failed", f"{type(problem).__name__}: {problem}"
    finally:
        turn.close()
    return "passed", ""


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)
