"""What `_native.c` offers where it was built."""

from collections.abc import Sequence

from millstream.env.disk import Buffer

# rows, nulls, validity bitmap, offsets, data
Bytes = tuple[int, int, bytearray, bytearray, bytearray]
# rows without headers, bitmap of those with, where each row's begin, names, values, any name not ASCII
Headers = tuple[int, bytearray, bytearray, Bytes, Bytes, int]
# rows, offset, timestamp in microseconds, timestamp type, key, value, headers
Columns = tuple[int, bytearray, bytearray, bytearray, Bytes, Bytes, Headers | None]

def decode(run: Buffer, first: int, until: int, check: bool, headers: bool) -> Columns | None: ...
def encode(records: object, now_ms: int) -> tuple[bytearray, int, int] | None: ...
def end_offset(run: Buffer) -> int | None: ...
def join(
    file: object,
    view: Buffer,
    start: int,
    end: int,
    most: int,
    alike: tuple[bytes, bytes, bool, int, bytes, int, int, int],
    limits: tuple[int, int, int, int, int],
    sender: tuple[int, int, int],
    room: bytearray,
    index: int,
    log_start_offset: int,
    base_offset: int,
    position: int,
    indexed_at: int,
    newest_ms: int,
    latest_ms: int,
    /,
) -> (
    tuple[int, int, int, int, int, int, int, Sequence[tuple[int, int, int, int]], bytes, Sequence[int]] | None
): ...
def pieces(data: bytes, count: int) -> list[tuple[int, int, int, bytes | None, bool]] | None: ...
