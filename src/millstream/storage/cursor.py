"""Batch after batch through a file, by their headers.

What is read here may be anything: the file is believed only as far as each
header makes sense where it stands.
"""

import struct
from typing import Final, final

from millstream.env.disk import File
from millstream.records.batch import HEADER_SIZE, LENGTH_END, LOG_APPEND_TIME, MAGIC, Batch
from millstream.records.crc import crc32c

AHEAD: Final = 4096  # enough to step from an index entry to any batch before the next
FAR_AHEAD: Final = 1 << 20  # for whoever will read it all

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CHECKED_FROM: Final = 21
_MAX_SEQUENCE: Final = 0x7FFFFFFF
assert _HEADER.size == HEADER_SIZE


class Corrupt(Exception):
    """The file does not hold what was written to it, from *position* on."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(f"{why} at byte {position}")
        self.position = position
        self.why = why


@final
class Cursor:
    """Stands on one batch at a time; `step` goes to the next.

    The attributes are the header of that batch, under the names of `Batch`.
    """

    __slots__ = (
        "_ahead",
        "_chunk",
        "_chunk_at",
        "_end",
        "_file",
        "attributes",
        "base_offset",
        "base_sequence",
        "crc",
        "last_offset",
        "leader_epoch",
        "max_timestamp_ms",
        "next_offset",
        "next_position",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
    )

    def __init__(self, file: File, position: int, end: int, next_offset: int, ahead: int = AHEAD) -> None:
        self._file = file
        self._end = end
        self._ahead = ahead
        self._chunk = b""
        self._chunk_at = position
        self.next_position = position
        self.next_offset = next_offset  # no batch from here on may begin below
        self.position = -1
        self.size = 0
        self.base_offset = self.last_offset = -1
        self.leader_epoch = -1
        self.crc = 0
        self.attributes = 0
        self.max_timestamp_ms = -1
        self.producer_id = self.producer_epoch = self.base_sequence = -1
        self.record_count = 0

    def step(self) -> bool:
        """Go to the next batch; False if the file ends here, Corrupt if what is here cannot be one."""
        position = self.next_position
        if position >= self._end:
            return False
        at = position - self._chunk_at
        if at + HEADER_SIZE > len(self._chunk):
            at = self._load(position, HEADER_SIZE)
        (
            base_offset,
            length,
            self.leader_epoch,
            magic,
            self.crc,
            self.attributes,
            last_offset_delta,
            _,
            self.max_timestamp_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _HEADER.unpack_from(self._chunk, at)
        size: int = length + LENGTH_END
        if magic != MAGIC:
            raise Corrupt(position, f"no batch (magic {magic})")
        if size < HEADER_SIZE or last_offset_delta < 0:
            raise Corrupt(position, f"no batch (size {size}, last offset delta {last_offset_delta})")
        if position + size > self._end:
            raise Corrupt(position, f"a batch of {size} bytes, cut short")
        if base_offset < self.next_offset:
            raise Corrupt(position, f"a batch with offset {base_offset}, after {self.next_offset - 1}")
        self.position = position
        self.size = size
        self.base_offset = base_offset
        self.last_offset = base_offset + last_offset_delta
        self.next_offset = self.last_offset + 1
        self.next_position = position + size
        return True

    def check(self) -> None:
        """Corrupt unless the batch's checksum is right."""
        at = self._whole()
        with memoryview(self._chunk) as view:
            if crc32c(view[at + _CHECKED_FROM : at + self.size]) != self.crc:
                raise Corrupt(self.position, "a batch with a wrong checksum")

    def batch(self) -> Batch:
        """The batch itself."""
        at = self._whole()
        return Batch(memoryview(self._chunk)[at : at + self.size])

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset - self.base_offset) & _MAX_SEQUENCE

    @property
    def append_time_ms(self) -> int:
        """The time the broker gave the records; -1 if they have the producer's."""
        return self.max_timestamp_ms if self.attributes & LOG_APPEND_TIME else -1

    def _whole(self) -> int:
        at = self.position - self._chunk_at
        if at + self.size > len(self._chunk):
            at = self._load(self.position, self.size)
        return at

    def _load(self, position: int, size: int) -> int:
        """Have *size* bytes from *position* on at hand; return where in the chunk they are."""
        self._chunk = self._file.read(position, min(max(size, self._ahead), self._end - position))
        self._chunk_at = position
        if len(self._chunk) < size:
            raise Corrupt(position, f"{len(self._chunk)} bytes where {size} were")
        return 0
