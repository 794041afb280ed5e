"""Batch to records.

Most numbers in a record are varints of one byte, so that case is written out
where it happens; a call for each would double the cost. (`build` shows the
layout.) Lengths need few checks of their own: whatever they claim, a record's
fields must end exactly where its length said they would.
"""

from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import HEADER_SIZE, MAX_RECORDS, MIN_RECORD_SIZE, Batch
from millstream.records.build import Headers
from millstream.records.compression import bounded_decompress

_MAX_HEADERS: Final = MAX_RECORDS  # in a whole batch: two bytes can make one, and that one takes a hundred
_MAX_INT64: Final = (1 << 63) - 1
_MIN_INT64: Final = -(1 << 63)


@final
class Record:
    """A record as it lies in the log."""

    __slots__ = ("headers", "key", "offset", "timestamp_ms", "value")

    def __init__(
        self, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> None:
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.timestamp_ms == other.timestamp_ms
            and self.key == other.key
            and self.value == other.value
            and self.headers == other.headers
        )

    def __repr__(self) -> str:
        return f"Record({self.offset}, {self.timestamp_ms}, {self.key!r}, {self.value!r}, {self.headers!r})"


def read(batch: Batch, *, max_bytes: int) -> list[Record]:
    """The records of *batch*, which may unpack to *max_bytes*.

    Offsets rise, perhaps with gaps, and stay within the batch. Refused if the
    bytes do not make records: a broker passes on what it did not look into,
    so a reader must be ready to step over such a batch.
    """
    data = bounded_decompress(batch.codec, batch.data[HEADER_SIZE:], max_bytes)
    if not 0 <= batch.record_count <= len(data) // MIN_RECORD_SIZE:
        raise _invalid(f"{batch.record_count} records in {len(data)} bytes")
    if batch.record_count > MAX_RECORDS:
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE, f"{batch.record_count} records in one batch")
    try:
        return _records(batch, data)
    except IndexError:
        raise _invalid("the last record is cut short") from None


def _records(batch: Batch, data: bytes) -> list[Record]:
    base_offset = batch.base_offset
    base_timestamp_ms = batch.base_timestamp_ms
    append_time_ms = batch.max_timestamp_ms if batch.log_append_time else None
    last_offset_delta = batch.last_offset_delta
    last_delta = -1
    headers_left = _MAX_HEADERS
    records = []
    at = 0
    for index in range(batch.record_count):
        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        if n & 1:
            raise _invalid(f"record {index} has a negative length")
        end = at + (n >> 1)

        at += 1  # the attributes, of which there are none yet
        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 10)
        timestamp_ms = base_timestamp_ms + ((n >> 1) ^ -(n & 1))

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        delta = (n >> 1) ^ -(n & 1)

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        if n & 1:
            key = None
        else:
            key = data[at : at + (n >> 1)]
            at += n >> 1

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        if n & 1:
            value = None
        else:
            value = data[at : at + (n >> 1)]
            at += n >> 1

        n = data[at]
        at += 1
        headers: Headers = ()
        if n:
            headers, at = _headers(data, at, n, headers_left)
            headers_left -= len(headers)

        if at != end:
            raise _invalid(f"the fields of record {index} are not as long as it says")
        if not last_delta < delta <= last_offset_delta:
            raise _invalid(f"record {index} has offset delta {delta}, after {last_delta}")
        if not _MIN_INT64 <= timestamp_ms <= _MAX_INT64:
            raise _invalid(f"record {index} has timestamp {timestamp_ms}")
        last_delta = delta
        if append_time_ms is not None:
            timestamp_ms = append_time_ms
        records.append(Record(base_offset + delta, timestamp_ms, key, value, headers))

    if at != len(data):
        raise _invalid(f"the records end at byte {at} of {len(data)}")
    return records


def _headers(data: bytes, at: int, n: int, most: int) -> tuple[Headers, int]:
    """The headers whose count begins with the byte *n*, before *at*; and where they end."""
    if n > 0x7F:
        n, at = _varint(data, at, n, 5)
    if n & 1:
        raise _invalid("a negative number of headers")
    if n >> 1 > most:
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE, f"more than {_MAX_HEADERS} headers in one batch")

    headers = []
    for _ in range(n >> 1):
        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        if n & 1:
            raise _invalid("a header without a name")
        # Nobody checks names on the way in, and one bad name must not hide a batch.
        name = data[at : at + (n >> 1)].decode(errors="replace")
        at += n >> 1

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _varint(data, at, n, 5)
        value = None
        if not n & 1:
            value = data[at : at + (n >> 1)]
            at += n >> 1
        headers.append((name, value))
    return tuple(headers), at


def _varint(data: bytes, at: int, first: int, most: int) -> tuple[int, int]:
    """The rest of a varint of up to *most* bytes after its *first*, before zigzag; and where it ends."""
    n = data[at]
    at += 1
    number = first & 0x7F | (n & 0x7F) << 7
    if n < 0x80:
        return number, at
    for shift in range(14, 7 * most, 7):
        n = data[at]
        at += 1
        number |= (n & 0x7F) << shift
        if n < 0x80:
            return number, at
    raise _invalid(f"a varint longer than {most} bytes")


def _invalid(detail: str) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, detail)
