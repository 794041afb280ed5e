"""How logs are kept: kafka-compat §5.10, by its numbers, and what readers see of it."""

import os
from collections.abc import Iterator

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import (
    NOW_MS,
    batch,
    create,
    describe,
    fetch,
    fetching,
    part,
    produce,
    records,
)
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.test_idempotence import new_id, send
from tests.compat.protocol.test_offsets import EARLIEST, LATEST, delete_before, look
from tests.compat.protocol.writer import NEWER, Writer, committed

from millstream.errors import ErrorCode
from millstream.records.batch import Batch, split
from millstream.records.read import read

IN_HASTE: dict[str, object] = {"log.cleaner.backoff.ms": 100, "log.retention.check.interval.ms": 100}
SMALL = {"segment.bytes": "1024"}
COMPACTED = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that looks after its logs ten times a second."""
    node = Node(tmp_path_factory.mktemp("hasty") / "data", IN_HASTE)
    try:
        yield node
    finally:
        node.close()


@pytest.fixture
def wire(hasty: Node) -> Iterator[Line]:
    with line(hasty) as made:
        yield made


def start(wire: Line, topic: str) -> int:
    return look(wire, topic, EARLIEST).offset


def end(wire: Line, topic: str) -> int:
    return look(wire, topic, LATEST).offset


def all_batches(wire: Line, topic: str) -> list[Batch]:
    """Every batch there is; an answer ends where a segment does."""
    found: list[Batch] = []
    offset, last = start(wire, topic), end(wire, topic)
    while offset < last:
        (answer,) = fetch(wire, fetching(topic, part(offset)))
        assert answer.error_code == 0
        found += split(bytes(records(answer)))
        offset = found[-1].last_offset + 1
    return found


def keyed(key: bytes, value: bytes | None) -> bytes:
    return batch(value, key=key)


def fill(wire: Line, topic: str, count: int = 30) -> None:
    """Some segments of one key."""
    for number in range(count):
        assert produce(wire, topic, keyed(b"k", b"%0100d" % number)).error_code == 0


def test_5_10_1_whole_segments_go_when_there_is_too_much(wire: Line, name: str) -> None:
    create(wire, name, configs={**SMALL, "retention.bytes": "2048"})
    fill(wire, name)
    while (kept_from := start(wire, name)) == 0:
        pass
    assert end(wire, name) == 30
    first, *_ = all_batches(wire, name)
    assert first.base_offset >= kept_from > 0
    (gone,) = fetch(wire, fetching(name, part(0)))
    assert (gone.error_code, gone.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, 30)
    assert gone.log_start_offset >= kept_from


def test_5_10_3_the_last_of_each_key_stays_where_it_was(wire: Line, name: str) -> None:
    create(wire, name, configs=COMPACTED)
    assert produce(wire, name, keyed(b"alone", b"stays")).base_offset == 0
    fill(wire, name)
    while len(found := all_batches(wire, name)) > 12:
        pass
    left = {each.key: (each.offset, each.value) for batch in found for each in read(batch, max_bytes=1 << 20)}
    assert left == {b"alone": (0, b"stays"), b"k": (30, b"%0100d" % 29)}
    assert (start(wire, name), end(wire, name)) == (0, 31)


def is_of_a_transaction(batch: Batch) -> bool:
    """Whether records of one are, or were, in it."""
    return batch.is_transactional and not batch.is_control


def test_5_10_3_what_is_not_decided_is_left_alone(wire: Line, name: str) -> None:
    """And the rest of what a transaction wrote goes with it when it was aborted."""
    create(wire, name, configs=COMPACTED)
    writer = Writer(wire, name, NEWER)
    writer.begin_at_last()
    writer.write(name, *[b"%0100d" % number for number in range(3)])
    fill(wire, name)
    assert len(all_batches(wire, name)) == 31  # nothing above the last stable offset is touched
    assert writer.abort() is ErrorCode.NONE
    # Its last batch stays as a header, which tells the next sequence, until the marker too is compacted.
    while len(found := all_batches(wire, name)) > 15 or any(map(is_of_a_transaction, found)):
        assert produce(wire, name, keyed(b"k", bytes(100))).error_code == 0
    assert committed(wire, name)[0][-1] == bytes(100)


def test_5_10_3_a_producers_sequences_outlive_its_records(wire: Line, name: str) -> None:
    create(wire, name, configs=COMPACTED)
    id = new_id(wire)
    assert send(wire, name, id, 0) == 0
    fill(wire, name)
    while len(all_batches(wire, name)) > 15:
        pass
    assert send(wire, name, id, 0) == 0  # as it was sent before
    assert send(wire, name, id, 7) == -ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(wire, name, id, 2) == 32


def test_5_3_12_gaps_and_markers_come_as_they_are(wire: Line, name: str) -> None:
    create(wire, name, configs=COMPACTED)
    writer = Writer(wire, name, NEWER)
    writer.begin_at_last()
    assert produce(wire, name, keyed(b"first", b"x")).base_offset == 0
    fill(wire, name)
    writer.write(name, b"a")
    assert writer.commit() is ErrorCode.NONE
    while len(all_batches(wire, name)) > 15:
        pass
    found = all_batches(wire, name)
    assert [each.base_offset for each in found if each.is_control] == [32]
    assert end(wire, name) == 33
    ends = [each.last_offset + 1 for each in found]
    gap = next(end for end, after in zip(ends, found[1:], strict=False) if end < after.base_offset)
    (answer,) = fetch(wire, fetching(name, part(gap)))  # nothing has this offset any more
    assert (answer.error_code, Batch(records(answer)).base_offset > gap) == (0, True)


@pytest.mark.rule("5.1.5")
def test_5_10_4_what_was_half_written_is_cut_off(mortal: Node, name: str) -> None:
    """And all that is derived from the log is known again: indexes, producers, what was aborted, epochs.

    Where a log starts is remembered, too, and where an empty one ends.
    """
    with line(mortal) as wire:
        create(wire, name, configs={"segment.bytes": "4096"})
        id = new_id(wire)
        writer = Writer(wire, name, NEWER)
        writer.begin_at_last()
        writer.write(name, b"never")
        assert writer.abort() is ErrorCode.NONE
        assert send(wire, name, id, 0) == 2
        fill(wire, name, 60)
        create(wire, f"{name}-emptied")
        fill(wire, f"{name}-emptied", 5)
        assert delete_before(wire, f"{name}-emptied", 5) == 5
        epochs = [each.leader_epoch for each in describe(wire, name).partitions]
        times = look(wire, name, NOW_MS)
        before = committed(wire, name)
    mortal.kill()
    log = mortal.data / f"{name}-0"
    newest = max(each for each in os.listdir(log) if each.endswith(".log"))
    with (log / newest).open("ab") as file:
        file.write(keyed(b"k", b"torn")[:-3])
    for each in os.listdir(log):
        if each.endswith((".index", ".timeindex")):
            (log / each).unlink()
    mortal.start()
    with line(mortal) as wire:
        assert committed(wire, name) == before
        assert look(wire, name, NOW_MS) == times
        assert send(wire, name, id, 0) == 2
        assert send(wire, name, id, 2) == 64
        assert (start(wire, f"{name}-emptied"), end(wire, f"{name}-emptied")) == (5, 5)
        assert produce(wire, f"{name}-emptied", batch(b"x")).base_offset == 5
        again = [each.leader_epoch for each in describe(wire, name).partitions]
        assert all(new >= old for new, old in zip(again, epochs, strict=True))
