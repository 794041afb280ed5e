"""Rows of a task written once, whatever happens to the task. Without Spark, against a real broker."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.conftest import Topics

from millstream.client.transactions import Ended
from millstream.spark.fetch import read_range
from millstream.spark.options import read_options
from millstream.spark.plan import Range
from millstream.spark.send_once import send_rows_once
from millstream.spark.sink_options import SinkOptions, read_sink_options
from millstream.spark.view import View

pytestmark = pytest.mark.system


def options(topics: Topics, topic: str, batch: int, query: str = "q") -> SinkOptions:
    chosen = {"topic": topic, "pipeline": topic, "queryid": query, "batchid": str(batch)}
    return read_sink_options({"kafka.bootstrap.servers": topics.bootstrap} | chosen)


def send(chosen: SinkOptions, task: int, batches: Iterator[Any]) -> int:
    assert chosen.once is not None
    return send_rows_once(chosen, chosen.once, task, batches)


def rows(*numbers: int) -> Iterator[Any]:
    """One Arrow batch for each number."""
    return iter([pa.RecordBatch.from_pydict({"value": [str(number)]}) for number in numbers])


def committed(topics: Topics, topic: str) -> Counter[int]:
    """What a reader of committed records finds in *topic*, and how often."""
    base = {"kafka.bootstrap.servers": topics.bootstrap, "subscribe": topic}
    chosen = read_options(base | {"kafka.isolation.level": "read_committed"}, streaming=False)
    view = View(chosen)
    try:
        partitions = view.partitions()
        ends = view.end(partitions)
    finally:
        view.close()
    found: Counter[int] = Counter()
    for each in partitions:
        for batch in read_range(chosen, Range(each, 0, ends[each])):
            found.update(int(value) for value in batch.column("value").to_pylist())
    return found


def once(*numbers: int) -> Counter[int]:
    return Counter(numbers)


def test_a_batch_that_is_written_again_changes_nothing(topics: Topics) -> None:
    topic = topics.create("once", partitions=2)

    assert send(options(topics, topic, 0), 0, rows(1, 2)) == 2
    assert send(options(topics, topic, 0), 1, rows(3)) == 1
    assert send(options(topics, topic, 0), 0, rows(1, 2)) == 0
    assert send(options(topics, topic, 1), 0, rows(4)) == 1
    assert send(options(topics, topic, 0), 0, rows(1, 2)) == 0  # a driver that has been asleep
    assert committed(topics, topic) == once(1, 2, 3, 4)


def test_batches_of_a_new_checkpoint_are_other_batches(topics: Topics) -> None:
    topic = topics.create("again")
    send(options(topics, topic, 0, "old"), 0, rows(1))
    send(options(topics, topic, 1, "old"), 0, rows(2))

    assert send(options(topics, topic, 0, "new"), 0, rows(3)) == 1
    assert committed(topics, topic) == once(1, 2, 3)


def test_a_task_without_rows_writes_nothing(topics: Topics) -> None:
    topic = topics.create("none")

    assert send(options(topics, topic, 0), 0, rows()) == 0
    assert committed(topics, topic) == once()


def test_a_task_that_fails_leaves_nothing_and_is_tried_again(topics: Topics) -> None:
    topic = topics.create("fails")

    def failing() -> Iterator[Any]:
        yield from rows(*range(100))
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        send(options(topics, topic, 0), 0, failing())
    assert committed(topics, topic) == once()

    assert send(options(topics, topic, 0), 0, rows(*range(100))) == 100
    assert committed(topics, topic) == once(*range(100))


def test_of_two_that_do_the_same_work_one_is_stopped(topics: Topics) -> None:
    """As when Spark takes a slow executor for dead, or an operator starts a second driver."""
    topic = topics.create("two")
    begun, go_on = threading.Event(), threading.Event()
    outcome: list[BaseException] = []

    def slow() -> Iterator[Any]:
        yield from rows(1)
        begun.set()
        assert go_on.wait(60)
        yield from rows(2)

    def first() -> None:
        try:
            send(options(topics, topic, 0), 0, slow())
        except BaseException as problem:
            outcome.append(problem)

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(60)
    assert send(options(topics, topic, 0), 0, rows(1, 2)) == 2
    go_on.set()
    thread.join(60)

    assert [type(problem) for problem in outcome] == [Ended]
    assert committed(topics, topic) == once(1, 2)


PROGRAM = """
import sys, time
import pyarrow as pa
from millstream.spark.send_once import send_rows_once
from millstream.spark.sink_options import read_sink_options
options = read_sink_options(dict(pair.split("=", 1) for pair in sys.argv[1:]))
def rows():
    for number in range(1000):
        if number == 600:
            print("half", flush=True)
            time.sleep(60)
        yield pa.RecordBatch.from_pydict({"value": [str(number)] })
send_rows_once(options, options.once, 0, rows())
"""


def test_a_task_that_is_killed_is_as_if_it_had_never_run(topics: Topics) -> None:
    topic = topics.create("killed")
    words = {"kafka.bootstrap.servers": topics.bootstrap, "topic": topic}
    words |= {"pipeline": topic, "queryid": "q", "batchid": "0"}
    arguments = [f"{name}={value}" for name, value in words.items()]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.kill()
    process.wait()
    process.stdout.close()

    assert committed(topics, topic) == once()
    assert send(options(topics, topic, 0), 0, rows(*range(1000))) == 1000
    assert committed(topics, topic) == once(*range(1000))
