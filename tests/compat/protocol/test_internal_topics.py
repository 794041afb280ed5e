"""Topics of the broker's own, in formats that tools read: kafka-compat §5.14."""

import struct
from collections.abc import Callable
from typing import final

from tests.compat.node import Node
from tests.compat.protocol.asking import create, describe
from tests.compat.protocol.line import Line
from tests.compat.protocol.member import Member, share
from tests.compat.protocol.writer import NEWER, Writer

from millstream.errors import ErrorCode
from millstream.records.read import read

OFFSET_KEY, GROUP_KEY, TRANSACTION_KEY = 1, 2, 0
OFFSET_VALUE, GROUP_VALUE, TRANSACTION_VALUE = 3, 3, 1
ONGOING, COMPLETE_COMMIT = 1, 4


@final
class Fields:
    """Kafka's fields, one after another; written here once more so that nothing of ours reads them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, format: str) -> int:
        (value,) = struct.unpack_from(f">{format}", self._data, self._at)
        self._at += struct.calcsize(f">{format}")
        return int(value)

    def bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def text(self) -> str:
        return self.bytes(self.number("h")).decode()

    @property
    def is_read(self) -> bool:
        return self._at == len(self._data)


def last(node: Node, topic: str, partitions: int, version: int, name: str) -> tuple[Fields, Fields]:
    """Key and value of the last record whose key has *version* and begins with *name*, both after those."""
    for index in range(partitions):
        for batch in reversed(node.batches(topic, index)):
            for record in read(batch, max_bytes=1 << 20):
                key = Fields(record.key or b"")
                if not batch.is_control and key.number("h") == version and key.text() == name:
                    assert record.value is not None
                    return key, Fields(record.value)
    raise AssertionError(f"nothing of {name} in {topic}")


def test_5_14_offsets_and_members_are_written_in_kafkas_format(
    node: Node, wire: Line, member: Callable[..., Member], name: str
) -> None:
    create(wire, name)
    one = member(name, instance="static")
    one.join()
    share(one)
    assert one.commit(name, 5, metadata="note") == 0
    partitions = len(describe(wire, "__consumer_offsets").partitions)

    key, value = last(node, "__consumer_offsets", partitions, OFFSET_KEY, name)
    assert (key.text(), key.number("i"), key.is_read) == (name, 0, True)
    assert (value.number("h"), value.number("q"), value.number("i")) == (OFFSET_VALUE, 5, 0)
    assert (value.text(), value.number("q") > 0, value.is_read) == ("note", True, True)

    key, value = last(node, "__consumer_offsets", partitions, GROUP_KEY, name)
    assert key.is_read
    assert (value.number("h"), value.text(), value.number("i")) == (GROUP_VALUE, "consumer", 1)
    assert (value.text(), value.text(), value.number("q") > 0) == ("range", one.id, True)
    assert (value.number("i"), value.text(), value.text()) == (1, one.id, "static")
    assert (value.text(), value.text()) == ("line", "/127.0.0.1")
    assert (value.number("i"), value.number("i")) == (one.rebalance_ms, one.session_ms)
    assert value.bytes(value.number("i")) == b"mine"
    assert value.bytes(value.number("i")) == one.id.encode()
    assert value.is_read


def test_5_14_transactions_are_written_in_kafkas_format(node: Node, wire: Line, name: str) -> None:
    create(wire, name)
    writer = Writer(wire, name, NEWER)
    writer.begin_at_last()

    def written() -> list[int]:
        """Version, producer id, epoch, timeout, state."""
        partitions = len(describe(wire, "__transaction_state").partitions)
        key, value = last(node, "__transaction_state", partitions, TRANSACTION_KEY, name)
        assert key.is_read
        return [value.number(format) for format in "hqhib"]

    writer.write(name, b"a")
    id = writer.producer_id
    assert written() == [TRANSACTION_VALUE, id, writer.epoch, 60_000, ONGOING]
    assert writer.commit() is ErrorCode.NONE
    while (now := written())[-1] != COMPLETE_COMMIT:
        pass
    assert now == [TRANSACTION_VALUE, id, writer.epoch, 60_000, COMPLETE_COMMIT]
