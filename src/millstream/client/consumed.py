"""What a consumer hands out."""

from typing import NamedTuple

from millstream.records.build import Headers


class Consumed(NamedTuple):
    """A record and where it was found."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
