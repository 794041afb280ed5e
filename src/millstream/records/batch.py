"""Record batches, format v2, read in place.

A batch is one run of bytes from socket to disk to socket. Only two of its
fields change on the way, and both lie before the checksum, so stamping them
costs no CRC:

    0   i64  base_offset        stamped by the leader
    8   i32  length             bytes after this field
    12  i32  leader_epoch       stamped by the leader
    16  i8   magic              2
    17  u32  crc                CRC-32C of everything from byte 21
    21  i16  attributes         codec (bits 0-2), then one bit each: append time,
                                transactional, control, delete horizon
    23  i32  last_offset_delta  offset of the last record, less base_offset
    27  i64  base_timestamp_ms  the records' timestamps count from here
    35  i64  max_timestamp_ms
    43  i64  producer_id        -1: not idempotent
    51  i16  producer_epoch
    53  i32  base_sequence      sequence of the first record
    57  i32  record_count
    61       records, compressed as one if a codec is set
"""

import struct
from collections.abc import Iterator
from typing import Final, final

from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
from millstream.records.compression import Codec
from millstream.records.crc import crc32c

HEADER_SIZE: Final = 61
LENGTH_END: Final = 12  # where the bytes that `length` counts begin
CHECKED_FROM: Final = 21  # where the bytes that `crc` covers begin, the attributes being the first
MIN_RECORD_SIZE: Final = 7  # seven fields of at least one byte each
MAGIC: Final = 2
MAX_RECORDS: Final = 1_000_000  # a record in memory takes many times the seven bytes it may take here

CODEC_BITS: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_STAMP: Final = struct.Struct(">qii")  # base_offset, length, leader_epoch
_LENGTH: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_ATTRIBUTES: Final = struct.Struct(">h")
_MAX_TIMESTAMP: Final = struct.Struct(">q")
_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_MAX_TIMESTAMP_AT: Final = 35
assert _HEADER.size == HEADER_SIZE

_MAX_SEQUENCE: Final = 0x7FFFFFFF
assert TRANSACTIONAL < 0x100  # it is in the low byte of the attributes


@final
class Batch:
    """One batch: its header as attributes, its bytes as *data*, never copied.

    Making one reads the header and believes nothing beyond its length and
    format; `check`, and for a client's batch `check_from_client`, come before the
    rest is relied on.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp_ms",
        "crc",
        "data",
        "last_offset_delta",
        "leader_epoch",
        "max_timestamp_ms",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
    )

    data: memoryview
    size: int
    base_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, data: Buffer) -> None:
        view = memoryview(data)
        size = len(view)
        if size < HEADER_SIZE:
            raise _no_header(view)
        (
            self.base_offset,
            length,
            self.leader_epoch,
            magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp_ms,
            self.max_timestamp_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _HEADER.unpack_from(view)
        if magic != MAGIC:
            raise _old_format(magic)
        if length != size - LENGTH_END:
            raise _wrong_length(length + LENGTH_END, size)
        self.data = view
        self.size = size

    def __repr__(self) -> str:
        return (
            f"Batch({self.base_offset}..{self.last_offset}, {self.record_count} records, {self.size} bytes, "
            f"epoch {self.leader_epoch}, producer {self.producer_id}/{self.producer_epoch}"
            f"/{self.base_sequence}, attributes {self.attributes:#x})"
        )

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 if the producer counts none. After 2^31 - 1 comes 0."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & _MAX_SEQUENCE

    @property
    def codec(self) -> Codec:
        """How the records are compressed; Refused if no codec has this number."""
        number = self.attributes & CODEC_BITS
        if number > Codec.ZSTD:
            raise _unknown_codec(number)
        return Codec(number)

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def log_append_time(self) -> bool:
        """Whether every record's timestamp is max_timestamp_ms, given by a broker."""
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether compaction has put, for base_timestamp_ms, the time at which tombstones may go."""
        return self.attributes & DELETE_HORIZON != 0

    def check(self, *, allow_empty: bool = False) -> None:
        """Refuse a batch whose bytes have changed or whose counts cannot be.

        For batches from anywhere. Compaction takes records out and leaves
        offsets as they were, so there may be fewer records than offsets, and
        with *allow_empty* none at all.
        """
        if crc32c(self.data[CHECKED_FROM:]) != self.crc:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, f"checksum of the batch is not {self.crc:#010x}")

        count = self.record_count
        if count < 1 and not (count == 0 and allow_empty):
            raise Refused(ErrorCode.INVALID_RECORD, f"a batch of {count} records")
        if count > self.last_offset_delta + 1:
            raise Refused(
                ErrorCode.INVALID_RECORD, f"{count} records in {self.last_offset_delta + 1} offsets"
            )

    def check_from_client(self) -> None:
        """Refuse what only a broker may write or what no producer means; for a batch that passed `check`.

        The records themselves are not looked at: see `verify`. Whether a
        transactional batch belongs to a transaction is the caller's to know.
        """
        attributes = self.attributes
        if attributes & CONTROL:
            raise Refused(ErrorCode.INVALID_RECORD, "control batches are not for clients to write")
        if attributes & LOG_APPEND_TIME:
            raise Refused(ErrorCode.INVALID_TIMESTAMP, "append time is not for clients to give")
        if attributes & DELETE_HORIZON:
            raise Refused(ErrorCode.INVALID_RECORD, "a delete horizon is not for clients to set")

        count = self.record_count
        if self.last_offset_delta != count - 1:
            raise Refused(
                ErrorCode.INVALID_RECORD, f"{count} records in {self.last_offset_delta + 1} offsets"
            )
        number = attributes & CODEC_BITS
        if number > Codec.ZSTD:
            raise _unknown_codec(number)
        if count > MAX_RECORDS or (number == 0 and count * MIN_RECORD_SIZE > self.size - HEADER_SIZE):
            raise Refused(ErrorCode.INVALID_RECORD, f"{count} records in {self.size} bytes")
        self._check_producer()

    def stamp(self, base_offset: int, leader_epoch: int) -> None:
        """Settle, in place, where the batch lies in the log and under which leader."""
        _STAMP.pack_into(self.data, 0, base_offset, self.size - LENGTH_END, leader_epoch)
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch

    def stamp_append_time(self, now_ms: int) -> None:
        """Give every record the timestamp *now_ms*, in place; this costs a CRC."""
        data = self.data
        self.attributes |= LOG_APPEND_TIME
        self.max_timestamp_ms = now_ms
        _ATTRIBUTES.pack_into(data, CHECKED_FROM, self.attributes)
        _MAX_TIMESTAMP.pack_into(data, _MAX_TIMESTAMP_AT, now_ms)
        self.crc = crc32c(data[CHECKED_FROM:])
        _CRC.pack_into(data, _CRC_AT, self.crc)

    def _check_producer(self) -> None:
        # Without a producer id the other two mean nothing, and clients differ in what they put there.
        if self.base_sequence < -1 or self.producer_id < -1:
            raise Refused(
                ErrorCode.INVALID_RECORD, f"sequence {self.base_sequence} of producer {self.producer_id}"
            )
        if self.producer_id >= 0 and (self.producer_epoch < 0 or self.base_sequence < 0):
            raise Refused(
                ErrorCode.INVALID_RECORD,
                f"producer {self.producer_id}, epoch {self.producer_epoch}, sequence {self.base_sequence}",
            )


def is_transactional(records: memoryview) -> bool:
    """Whether what may be a batch says that it belongs to a transaction."""
    return len(records) >= HEADER_SIZE and records[CHECKED_FROM + 1] & TRANSACTIONAL != 0


def split(data: Buffer) -> Iterator[Batch]:
    """The batches in *data*, one after another; one cut short at the end is left out."""
    view = memoryview(data)
    end = len(view)
    position = 0
    while position + LENGTH_END <= end:
        (length,) = _LENGTH.unpack_from(view, position + _LENGTH_AT)
        following = position + LENGTH_END + length
        if following > end:
            return
        yield Batch(view[position:following])  # which refuses a length that is negative or too small
        position = following


def _no_header(view: memoryview) -> Refused:
    # The old formats have their magic at the same place, and may be shorter than our header.
    if len(view) > _MAGIC_AT and view[_MAGIC_AT] != MAGIC:
        return _old_format(view[_MAGIC_AT])
    return Refused(ErrorCode.CORRUPT_MESSAGE, f"{len(view)} bytes are too few for a batch")


def _old_format(magic: int) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, f"message format {magic}, where only {MAGIC} is taken")


def _unknown_codec(number: int) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, f"unknown compression codec {number}")


def _wrong_length(claimed: int, size: int) -> Refused:
    # More bytes than the batch claims are another batch: well-formed, but one is what was asked for.
    code = ErrorCode.CORRUPT_MESSAGE if claimed > size or claimed < HEADER_SIZE else ErrorCode.INVALID_RECORD
    return Refused(code, f"a batch that says it has {claimed} bytes, in {size}")
