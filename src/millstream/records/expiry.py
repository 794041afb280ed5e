"""How long a record is of use: it may say so itself, in a header.

`millstream-ttl-ms` holds a time in milliseconds, in ASCII digits, counted from
the record's timestamp. Anything else there, or a record without a timestamp, means
that it never expires: what cannot be understood must not be thrown away. Of
several such headers the last counts.
"""

from typing import Final

from millstream.records.build import Headers
from millstream.records.read import Record

TTL_HEADER: Final = "millstream-ttl-ms"
_DIGITS_MAX: Final = 15  # some thirty thousand years


def expires_at(record: Record) -> int | None:
    """The time in ms from which *record* is of no use any more; None if it always is."""
    if not record.headers or record.timestamp_ms < 0:
        return None
    ttl_ms = ttl_of(record.headers)
    return None if ttl_ms is None else record.timestamp_ms + ttl_ms


def is_expired(record: Record, now_ms: int) -> bool:
    at_ms = expires_at(record)
    return at_ms is not None and at_ms <= now_ms


def ttl_of(headers: Headers) -> int | None:
    """The time to live that *headers* tell; None if they tell none that makes sense."""
    for name, value in reversed(headers):
        if name == TTL_HEADER:
            return parse_ttl(value)
    return None


def parse_ttl(value: bytes | None) -> int | None:
    """The time to live in the header's *value*; None if that is no number of ours."""
    if value is None or len(value) > _DIGITS_MAX or not value.isdigit():
        return None
    return int(value)
