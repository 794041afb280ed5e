"""Batches to Arrow columns, for whoever wants many records at once: pipelines and queries.

The columns are those of Spark's Kafka connector: key, value, topic, partition,
offset, timestamp, timestampType and, if asked for, headers. Where the native
part was built it turns a whole run of batches into columns in one call; what
it will not take (a codec, a wrong checksum, a malformed record) goes the plain
way, through `read`. So both ways accept and refuse the same.
"""

import struct
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, final

import pyarrow as pa

from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import CHECKED_FROM, CODEC_BITS, HEADER_SIZE, LENGTH_END, Batch, split
from millstream.records.compression import MAX_UNPACKED, bounded_decompress
from millstream.records.read import Record, read

if TYPE_CHECKING:
    from millstream.records import _native
else:
    try:
        from millstream.records import _native
    except ImportError:
        _native = None

NATIVE: Final[ModuleType | None] = _native  # None where it was not built

MAX_OFFSET: Final = (1 << 63) - 1

_TIMESTAMP: Final = pa.timestamp("us", "UTC")
_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
_HEADERS: Final = pa.list_(pa.field("element", _HEADER))  # null where a record has none
_FIELDS: Final = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", _TIMESTAMP),
    ("timestampType", pa.int32()),
]
SCHEMA: Final = pa.schema(_FIELDS)
SCHEMA_WITH_HEADERS: Final = pa.schema([*_FIELDS, ("headers", _HEADERS)])

_PIECE_BYTES: Final = 8 << 20  # of unpacked records before they are handed out
_MAX_MS: Final = MAX_OFFSET // 1000  # times beyond what microseconds can tell stay at the end of it
_LENGTH: Final = struct.Struct(">i")
_LENGTH_AT: Final = 8
_ATTRIBUTES: Final = struct.Struct(">h")


@final
class Decoder:
    """Turns runs of batches of one partition into Arrow record batches.

    One batch may unpack to *max_bytes*. *plain* does without native code.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        *,
        headers: bool = False,
        max_bytes: int = MAX_UNPACKED,
        plain: bool = False,
    ) -> None:
        self.schema = SCHEMA_WITH_HEADERS if headers else SCHEMA
        self._headers = headers
        self._max_bytes = max_bytes
        self._native = None if plain else _native
        self._topic = pa.scalar(topic, pa.string())
        self._partition = pa.scalar(partition, pa.int32())
        self._topics: Any = pa.repeat(self._topic, 0)
        self._partitions: Any = pa.repeat(self._partition, 0)

    def decode(self, run: Buffer, first: int = 0, until: int = MAX_OFFSET) -> Iterator[Any]:
        """The records in *run* with offsets from *first* and before *until*, a few MB at a time.

        Markers of transactions are left out, and so is a batch cut short at
        the end; whether a transaction was aborted is for the caller to know.
        Refused, as by `check` and `read`, where a batch is damaged.
        """
        if self._native is not None:
            found = self._native.decode(run, first, until, True, self._headers)
            if found is not None:
                if found[0]:
                    yield self._from_native(found)
                return
        for piece in _unpacked(run, first, until, self._max_bytes):
            batch = self._piece(piece, first, until)
            if batch.num_rows:
                yield batch

    def _piece(self, piece: bytearray, first: int, until: int) -> Any:
        """The columns of *piece*, batches that are unpacked and whose checksums were right."""
        if self._native is not None:
            found = self._native.decode(piece, first, until, False, self._headers)
            if found is not None:
                return self._from_native(found)
        records: list[Record] = []
        types: list[int] = []
        for batch in split(piece):
            wanted = [each for each in read(batch, max_bytes=self._max_bytes) if first <= each.offset < until]
            records += wanted
            types += [int(batch.log_append_time)] * len(wanted)
        return self._from_records(records, types)

    def _from_native(self, found: "_native.Columns") -> Any:
        rows, offsets, timestamps, types, key, value, headers = found
        columns = [
            _bytes(pa.binary(), *key),
            _bytes(pa.binary(), *value),
            *self._where(rows),
            _numbers(pa.int64(), rows, offsets),
            _numbers(_TIMESTAMP, rows, timestamps),
            _numbers(pa.int32(), rows, types),
        ]
        if headers is not None:
            columns.append(_header_lists(rows, *headers))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _from_records(self, records: list[Record], types: list[int]) -> Any:
        columns = [
            pa.array([each.key for each in records], pa.binary()),
            pa.array([each.value for each in records], pa.binary()),
            *self._where(len(records)),
            pa.array([each.offset for each in records], pa.int64()),
            pa.array([microseconds(each.timestamp_ms) for each in records], pa.int64()).cast(_TIMESTAMP),
            pa.array(types, pa.int32()),
        ]
        if self._headers:
            columns.append(pa.array([each.headers or None for each in records], _HEADERS))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _where(self, rows: int) -> tuple[Any, Any]:
        """The columns that say the same in every row: made once for the longest, and cut from it."""
        if rows > len(self._topics):
            self._topics = pa.repeat(self._topic, rows)
            self._partitions = pa.repeat(self._partition, rows)
        return self._topics[:rows], self._partitions[:rows]


def end_offset(run: Buffer, default: int) -> int:
    """The offset after the last whole batch of *run*, *default* if there is none; Refused if malformed."""
    found = None if _native is None else _native.end_offset(run)
    if found is None:
        found = -1
        for batch in split(run):
            found = batch.last_offset + 1
    return default if found == -1 else found


def microseconds(ms: int) -> int:
    """A time in ms as Arrow and Spark have it; one that is out of their range stays at its end."""
    return max(-_MAX_MS, min(ms, _MAX_MS)) * 1000


def _unpacked(run: Buffer, first: int, until: int, max_bytes: int) -> Iterator[bytearray]:
    """*run* from *first* until *until* as batches that are checked, unpacked and no markers."""
    out = bytearray()
    for batch in split(run):
        if batch.is_control or batch.last_offset < first:
            continue
        if batch.base_offset >= until:
            break
        batch.check(allow_empty=True)
        if batch.last_offset > MAX_OFFSET:
            raise Refused(ErrorCode.INVALID_RECORD, f"a batch with offsets up to {batch.last_offset}")
        _unpack(batch, out, max_bytes)
        if len(out) >= _PIECE_BYTES:
            yield out
            out = bytearray()
    if out:
        yield out


def _unpack(batch: Batch, out: bytearray, max_bytes: int) -> None:
    """*batch* without its codec, at the end of *out*; its checksum is that of the batch as it was."""
    start = len(out)
    out += batch.data[:HEADER_SIZE]
    out += bounded_decompress(batch.codec, batch.data[HEADER_SIZE:], max_bytes)
    _LENGTH.pack_into(out, start + _LENGTH_AT, len(out) - start - LENGTH_END)
    _ATTRIBUTES.pack_into(out, start + CHECKED_FROM, batch.attributes & ~CODEC_BITS)


def _numbers(kind: Any, rows: int, data: bytearray) -> Any:
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(data)])


def _bytes(kind: Any, rows: int, nulls: int, validity: bytearray, places: bytearray, data: bytearray) -> Any:
    known = pa.py_buffer(validity) if nulls else None
    return pa.Array.from_buffers(kind, rows, [known, pa.py_buffer(places), pa.py_buffer(data)], nulls)


def _header_lists(
    rows: int,
    without: int,
    some: bytearray,
    places: bytearray,
    names: "_native.Bytes",
    values: "_native.Bytes",
    foreign: int,
) -> Any:
    if foreign:  # not all ASCII, and perhaps no text at all: decoded as `read` does
        as_read = [name.decode(errors="replace") for name in _bytes(pa.binary(), *names).to_pylist()]
        keys = pa.array(as_read, pa.string())
    else:
        keys = _bytes(pa.string(), *names)
    pairs = pa.StructArray.from_arrays([keys, _bytes(pa.binary(), *values)], fields=list(_HEADER))
    known = pa.py_buffer(some) if without else None
    return pa.Array.from_buffers(_HEADERS, rows, [known, pa.py_buffer(places)], without, children=[pairs])
