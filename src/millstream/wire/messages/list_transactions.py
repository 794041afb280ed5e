"""ListTransactions (key 66). Every transactional id of a coordinator, or those that match.

Generated from wire/schema/list_transactions.txt by tools/generate_messages.py: change that, not this.
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

pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_q: Final = struct.Struct(">q").unpack_from
pack_q: Final = struct.Struct(">q").pack
unpack_qB: Final = struct.Struct(">qB").unpack_from


@final
class ListTransactionsRequest(Message):
    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")
    FIELDS = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")
    KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        state_filters: list[str] = EMPTY,
        producer_id_filters: list[int] = EMPTY,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is EMPTY else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is EMPTY else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListTransactionsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListTransactionsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListTransactionsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.state_filters) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.state_filters:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        n = len(self.producer_id_filters) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += struct.pack(f">{len(self.producer_id_filters)}q", *self.producer_id_filters)
        if version >= 1:
            out += pack_q(self.duration_filter)
        if version >= 2:
            transactional_id_pattern = self.transactional_id_pattern
            if transactional_id_pattern is None:
                raw = b""
                n = 0
            else:
                raw = transactional_id_pattern.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> ListTransactionsRequest:
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
        raise too_many("state_filters", n, size - pos)
    budget -= n
    state_filters: list[str] = []
    state_filters_count = n
    for _ in range(state_filters_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("state_filters", n - 1, size - pos)
        state_filters.append(data[pos:stop].tobytes().decode())
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("producer_id_filters", n, size - pos)
    budget -= n
    producer_id_filters: list[int] = list(struct.unpack_from(f">{n}q", data, pos))
    pos += 8 * n
    if version >= 1:
        (duration_filter,) = unpack_q(data, pos)
        pos += 8
    else:
        duration_filter = -1
    transactional_id_pattern = None
    if version >= 2:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            transactional_id_pattern = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("transactional_id_pattern", n - 1, size - pos)
            transactional_id_pattern = data[pos:stop].tobytes().decode()
            pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern)


@final
class ListTransactionsResponseState(Struct):
    __slots__ = ("transactional_id", "producer_id", "transaction_state")
    FIELDS = ("transactional_id", "producer_id", "transaction_state")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


@final
class ListTransactionsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")
    FIELDS = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")
    KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = EMPTY,
        transaction_states: list[ListTransactionsResponseState] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters: list[str] = [] if unknown_state_filters is EMPTY else unknown_state_filters
        self.transaction_states: list[ListTransactionsResponseState] = [] if transaction_states is EMPTY else transaction_states

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListTransactionsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListTransactionsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListTransactionsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        n = len(self.unknown_state_filters) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.unknown_state_filters:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        n = len(self.transaction_states) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for state in self.transaction_states:
            raw = state.transactional_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_q(state.producer_id)
            raw = state.transaction_state.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> ListTransactionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > size - pos or n > budget:
        raise too_many("unknown_state_filters", n, size - pos)
    budget -= n
    unknown_state_filters: list[str] = []
    unknown_state_filters_count = n
    for _ in range(unknown_state_filters_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("unknown_state_filters", n - 1, size - pos)
        unknown_state_filters.append(data[pos:stop].tobytes().decode())
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 11 or n > budget:
        raise too_many("transaction_states", n, size - pos)
    budget -= n
    transaction_states: list[ListTransactionsResponseState] = []
    transaction_states_count = n
    for _ in range(transaction_states_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("transactional_id", n - 1, size - pos)
        transaction_states_transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
        transaction_states_producer_id, n = unpack_qB(data, pos)
        pos += 9
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("transaction_state", n - 1, size - pos)
        transaction_states_transaction_state = data[pos:stop].tobytes().decode()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        transaction_states.append(ListTransactionsResponseState(transaction_states_transactional_id, transaction_states_producer_id, transaction_states_transaction_state))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states)
