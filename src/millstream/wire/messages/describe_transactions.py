"""DescribeTransactions (key 65). What a transactional id is doing.

Generated from wire/schema/describe_transactions.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    too_many,
    write_uvarint,
)

pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_iqqh: Final = struct.Struct(">iqqh").pack
unpack_iqqhB: Final = struct.Struct(">iqqhB").unpack_from


@final
class DescribeTransactionsRequest(Message):
    __slots__ = ("transactional_ids",)
    FIELDS = ("transactional_ids",)
    KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        transactional_ids: list[str] = EMPTY,
    ) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is EMPTY else transactional_ids

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeTransactionsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeTransactionsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeTransactionsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.transactional_ids) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.transactional_ids:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> DescribeTransactionsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > size - pos or n > budget:
        raise too_many("transactional_ids", n, size - pos)
    budget -= n
    transactional_ids: list[str] = []
    transactional_ids_count = n
    for _ in range(transactional_ids_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("transactional_ids", n - 1, size - pos)
        transactional_ids.append(data[pos:stop].tobytes().decode())
        pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeTransactionsRequest(transactional_ids)


@final
class DescribeTransactionsResponseTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class DescribeTransactionsResponseState(Struct):
    __slots__ = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")
    FIELDS = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[DescribeTransactionsResponseTopic] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics: list[DescribeTransactionsResponseTopic] = [] if topics is EMPTY else topics


@final
class DescribeTransactionsResponse(Message):
    __slots__ = ("throttle_time_ms", "transaction_states")
    FIELDS = ("throttle_time_ms", "transaction_states")
    KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[DescribeTransactionsResponseState] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states: list[DescribeTransactionsResponseState] = [] if transaction_states is EMPTY else transaction_states

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeTransactionsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeTransactionsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeTransactionsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.transaction_states) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for state in self.transaction_states:
            out += pack_h(state.error_code)
            raw = state.transactional_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            raw = state.transaction_state.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_iqqh(state.transaction_timeout_ms, state.transaction_start_time_ms, state.producer_id, state.producer_epoch)
            n = len(state.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in state.topics:
                raw = topic.topic.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(topic.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> DescribeTransactionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 28 or n > budget:
        raise too_many("transaction_states", n, size - pos)
    budget -= n
    transaction_states: list[DescribeTransactionsResponseState] = []
    transaction_states_count = n
    for _ in range(transaction_states_count):
        transaction_states_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("transactional_id", n - 1, size - pos)
        transaction_states_transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("transaction_state", n - 1, size - pos)
        transaction_states_transaction_state = data[pos:stop].tobytes().decode()
        pos = stop
        transaction_states_transaction_timeout_ms, transaction_states_transaction_start_time_ms, transaction_states_producer_id, transaction_states_producer_epoch, n = unpack_iqqhB(data, pos)
        pos += 23
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        transaction_states_topics: list[DescribeTransactionsResponseTopic] = []
        transaction_states_topics_count = n
        for _ in range(transaction_states_topics_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic", n - 1, size - pos)
            topics_topic = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            transaction_states_topics.append(DescribeTransactionsResponseTopic(topics_topic, topics_partitions))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        transaction_states.append(DescribeTransactionsResponseState(transaction_states_error_code, transaction_states_transactional_id, transaction_states_transaction_state, transaction_states_transaction_timeout_ms, transaction_states_transaction_start_time_ms, transaction_states_producer_id, transaction_states_producer_epoch, transaction_states_topics))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeTransactionsResponse(throttle_time_ms, transaction_states)
