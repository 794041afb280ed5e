"""What `_native.c` offers where it was built."""

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
    view: Buffer,
    start: int,
    call: bytes,
    before: bytes,
    compact: bool,
    after: int,
    room: bytearray,
    base_offset: int,
    leader_epoch: int,
    max_offsets: int,
    latest_ms: int,
    max_batch_bytes: int,
    max_bytes: int,
    position: int,
    indexed_at: int,
    interval: int,
    newest_ms: int,
    reply: bytes,
    offset_at: int,
    most: int,
    /,
) -> tuple[int, int, int, int, int, int, list[tuple[int, int, int, int]], bytearray]: ...
def pieces(data: bytes, count: int) -> list[tuple[int, int, int, bytes | None, bool]] | None: ...
