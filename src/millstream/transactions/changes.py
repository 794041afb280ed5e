"""What is written of a transactional id, in Kafka's own format of `__transaction_state`.

    key    0  transactional id: string

    value  0  producer id: i64, epoch: i16, timeout: i32, state: i8,
              [topic: string, [partition: i32]]?, updated: i64, started: i64
           1  as 0, flexible; tags: 0 previous producer id: i64, 1 next producer id: i64,
              2 version of the client: i16

Written as version 1; both are read. A record without a value says that the
id is forgotten. Times are wall times in milliseconds.
"""

import struct
from typing import Final

from millstream.errors import ErrorCode, Refused
from millstream.transactions.transaction import NO_PRODUCER, NOWHERE, Place, State, Transaction
from millstream.wire.primitives import Reader, write_compact_string, write_string, write_tags, write_uvarint

TRANSACTIONS_TOPIC: Final = "__transaction_state"

_NEWEST: Final = 1
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">hqhib")  # version, producer id, epoch, timeout, state
_TIMES: Final = struct.Struct(">qq")
_STATES: Final = {state.code: state for state in State}
_TOPIC_MIN_BYTES: Final = 2
_PREVIOUS_ID, _NEXT_ID, _CLIENT_VERSION = range(3)


def encode(id: str, transaction: Transaction | None) -> tuple[bytes, bytes | None]:
    """The record's key and value that say what *id* is now; None: it is forgotten."""
    key = bytearray(_I16.pack(0))
    write_string(key, id)
    return bytes(key), None if transaction is None else _value(transaction)


def decode(key: bytes, value: bytes | None) -> tuple[str, Transaction | None] | None:
    """The id a record is about and what it says; None if it is of a kind we do not keep.

    Refused with CORRUPT_MESSAGE if it is of a kind we know and makes no sense.
    """
    try:
        reader = Reader(key)
        if reader.int16() != 0:
            return None
        return reader.string(), None if value is None else _read(Reader(value))
    except Refused as refusal:
        raise Refused(
            ErrorCode.CORRUPT_MESSAGE, f"a record of {TRANSACTIONS_TOPIC}: {refusal.detail}"
        ) from None


def _value(transaction: Transaction) -> bytes:
    out = bytearray(
        _HEAD.pack(
            _NEWEST,
            transaction.producer_id,
            transaction.epoch,
            transaction.timeout_ms,
            transaction.state.code,
        )
    )
    if transaction.state is State.EMPTY:
        out.append(0)  # null
    else:
        topics: dict[str, list[int]] = {}
        for place in sorted(transaction.places):
            topics.setdefault(place.topic, []).append(place.partition)
        write_uvarint(out, len(topics) + 1)
        for topic, partitions in topics.items():
            write_compact_string(out, topic)
            write_uvarint(out, len(partitions) + 1)
            for partition in partitions:
                out += _I32.pack(partition)
            out.append(0)
    out += _TIMES.pack(transaction.updated_ms, transaction.started_ms)
    _write_tags(out, transaction)
    return bytes(out)


def _write_tags(out: bytearray, transaction: Transaction) -> None:
    tags: list[tuple[int, bytearray]] = []
    if transaction.previous_id != NO_PRODUCER:
        tags.append((_PREVIOUS_ID, bytearray(_I64.pack(transaction.previous_id))))
    if transaction.next_id != NO_PRODUCER:
        tags.append((_NEXT_ID, bytearray(_I64.pack(transaction.next_id))))
    if transaction.client_version:
        tags.append((_CLIENT_VERSION, bytearray(_I16.pack(transaction.client_version))))
    write_tags(out, tags)


def _read(reader: Reader) -> Transaction:
    version = reader.int16()
    if not 0 <= version <= _NEWEST:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"value version {version}")
    flexible = version >= 1
    producer_id, epoch, timeout_ms = reader.int64(), reader.int16(), reader.int32()
    code = reader.int8()
    if code not in _STATES:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"state {code}")
    places = _read_places(reader, flexible)
    updated_ms, started_ms = reader.int64(), reader.int64()
    tags = _read_tags(reader) if flexible else {}
    return Transaction(
        producer_id=producer_id,
        epoch=epoch,
        timeout_ms=timeout_ms,
        state=_STATES[code],
        places=places,
        updated_ms=updated_ms,
        started_ms=started_ms,
        previous_id=tags.get(_PREVIOUS_ID, NO_PRODUCER),
        next_id=tags.get(_NEXT_ID, NO_PRODUCER),
        client_version=tags.get(_CLIENT_VERSION, 0),
    )


def _read_places(reader: Reader, flexible: bool) -> frozenset[Place]:
    count = reader.compact_array(_TOPIC_MIN_BYTES) if flexible else reader.array(_TOPIC_MIN_BYTES)
    if count <= 0:
        return NOWHERE
    places: set[Place] = set()
    for _ in range(count):
        topic = reader.compact_string() if flexible else reader.string()
        partitions = reader.compact_array(4) if flexible else reader.array(4)
        places.update(Place(topic, reader.int32()) for _ in range(partitions))
        if flexible:
            reader.skip_tags()
    return frozenset(places)


def _read_tags(reader: Reader) -> dict[int, int]:
    """The numbers in the tags we know."""
    found: dict[int, int] = {}
    for _ in range(reader.uvarint()):
        tag, size = reader.uvarint(), reader.uvarint()
        inside = Reader(reader.raw(size))
        if tag in (_PREVIOUS_ID, _NEXT_ID):
            found[tag] = inside.int64()
        elif tag == _CLIENT_VERSION:
            found[tag] = inside.int16()
    return found
