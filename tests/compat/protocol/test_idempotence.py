"""Idempotent producers: kafka-compat §5.5, by its numbers."""

from collections.abc import Callable

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import batch, create, produce
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.writer import NEWER, Writer

from millstream.errors import ErrorCode
from millstream.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersRequestTopic,
    DescribeProducersResponse,
)
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

DUPLICATES_KNOWN = 5
LAST_SEQUENCE = 2**31 - 1


def new_id(wire: Line, version: int = 4) -> int:
    answer = wire.ask(InitProducerIdRequest(None, 1000), InitProducerIdResponse, version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    return answer.producer_id


def send(wire: Line, topic: str, producer: int, sequence: int, epoch: int = 0, count: int = 2) -> int:
    """The base offset, or the error as a negative number."""
    answer = produce(wire, topic, batch(*[b"x"] * count, producer=(producer, epoch, sequence)))
    return -answer.error_code if answer.error_code else answer.base_offset


def test_5_5_1_what_is_known_of_a_producer(wire: Line, name: str) -> None:
    create(wire, name)
    plain, writer = new_id(wire), Writer(wire, name, NEWER)
    writer.begin_at_last()
    send(wire, name, plain, 0, count=3)
    writer.write(name, b"a")
    asked = DescribeProducersRequest([DescribeProducersRequestTopic(name, [0])])
    (topic,) = wire.ask(asked, DescribeProducersResponse, 0).topics
    (found,) = topic.partitions
    known = {
        each.producer_id: (each.producer_epoch, each.last_sequence, each.current_txn_start_offset)
        for each in found.active_producers
    }
    assert known == {plain: (0, 2, -1), writer.producer_id: (writer.epoch, 0, 3)}


def test_5_5_2_what_comes_again_is_not_written_again(wire: Line, name: str) -> None:
    create(wire, name)
    id = new_id(wire)
    assert [send(wire, name, id, 2 * i) for i in range(7)] == [2 * i for i in range(7)]

    known = range(7 - DUPLICATES_KNOWN, 7)
    assert [send(wire, name, id, 2 * i) for i in known] == [2 * i for i in known]
    forgotten = send(wire, name, id, 0)
    assert forgotten in (-ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert send(wire, name, id, 14) == 14


def test_5_5_2_a_part_of_a_batch_is_not_that_batch(wire: Line, name: str) -> None:
    create(wire, name)
    id = new_id(wire)
    send(wire, name, id, 0, count=4)
    assert send(wire, name, id, 0, count=3) == -ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(wire, name, id, 4) == 4


def test_5_5_3_epochs_and_sequences(wire: Line, name: str) -> None:
    create(wire, name)
    id = new_id(wire)
    assert send(wire, name, id, 0, epoch=3) == 0
    assert send(wire, name, id, 0, epoch=2) == -ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(wire, name, id, 5, epoch=3) == -ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(wire, name, id, 2, epoch=4) == -ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(wire, name, id, 0, epoch=4) == 2


def test_5_5_3_sequences_wrap(wire: Line, name: str) -> None:
    """Nobody knows this producer here, so it may begin anywhere."""
    create(wire, name)
    id = new_id(wire)
    assert send(wire, name, id, LAST_SEQUENCE - 1, count=2) == 0
    assert send(wire, name, id, 0) == 2
    again = new_id(wire)
    assert send(wire, name, again, LAST_SEQUENCE, count=3) == 4
    assert send(wire, name, again, 2) == 7


def test_5_5_3_producers_do_not_mind_each_other(wire: Line, name: str) -> None:
    create(wire, name, 2)
    one, other = new_id(wire), new_id(wire)
    assert [send(wire, name, id, 0) for id in (one, other)] == [0, 2]
    assert [send(wire, name, id, 2) for id in (one, other)] == [4, 6]


@pytest.mark.parametrize("end", [Node.stop, Node.kill], ids=["stop", "kill"])
def test_5_5_4_what_a_producer_sent_is_known_after_a_restart(
    mortal: Node, name: str, end: Callable[[Node], None]
) -> None:
    with line(mortal) as wire:
        create(wire, name)
        ids = [new_id(wire) for _ in range(3)]
        for round in range(6):
            for id in ids:
                send(wire, name, id, 2 * round)
    end(mortal)
    mortal.start()
    with line(mortal) as wire:
        for nth, id in enumerate(ids):
            for round in range(6 - DUPLICATES_KNOWN, 6):
                assert send(wire, name, id, 2 * round) == 6 * round + 2 * nth
            assert send(wire, name, id, 99) == -ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert send(wire, name, ids[0], 12) == 36
        assert new_id(wire) not in ids


def test_5_5_5_ids_are_never_given_twice(wire: Line) -> None:
    ids = [new_id(wire, version) for _ in range(20) for version in range(6)]
    assert len(set(ids)) == len(ids)
    had = InitProducerIdRequest(None, 1000, producer_id=ids[0], producer_epoch=3)
    again = wire.ask(had, InitProducerIdResponse, 4)
    assert (again.error_code, again.producer_epoch) == (0, 0)
    assert again.producer_id not in ids


def test_5_5_6_compacted_topics_too(wire: Line, name: str) -> None:
    create(wire, name, configs={"cleanup.policy": "compact"})
    id = new_id(wire)
    assert [send(wire, name, id, sequence) for sequence in (0, 2, 0, 2, 4)] == [0, 2, 0, 2, 4]
