"""Times as the doors of text write them: ISO 8601, UTC, milliseconds."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_SECONDS: Final = -62_135_596_800  # the first and the last second that such a time can tell
_MOST_SECONDS: Final = 253_402_300_799


def iso(ms: int) -> str:
    """*ms* since 1970 as `2026-11-16T05:30:39.123Z`; other years than 1 to 9999 are cut."""
    seconds, rest = divmod(ms, 1000)
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        seconds, rest = (_LEAST_SECONDS, 0) if seconds < 0 else (_MOST_SECONDS, 999)
    return f"{_to_the_second(seconds)}.{rest:03}Z"


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
