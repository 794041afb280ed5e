"""The offset grammar: where to begin reading, and where to stop.

    start         the oldest record kept           @2026-05-01T12:00Z   the first at or after that time (UTC)
    end           after the newest                 @-1h                 the first of the last hour
    100           that offset                      @1777636800000       milliseconds since 1970; ten digits or
    -10           the last ten of each partition                        fewer are seconds
    +10           all but the first ten            @now

    100:200       from 100, up to but not including 200
    @-2h:-1h      from two hours ago until one hour ago
    -10:  :end    either side may be left out: from the start, and without a stop

A colon is also part of a time of day, so a time is matched as a whole, never split at its colons.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, final


class InvalidOffset(ValueError):
    """Text that is not in the grammar; the message says what would be."""


@final
@dataclass(frozen=True)
class Start:
    """The oldest record kept, and *skip* further on."""

    skip: int = 0


@final
@dataclass(frozen=True)
class End:
    """After the newest record, and *back* before that."""

    back: int = 0


@final
@dataclass(frozen=True)
class At:
    """This very offset."""

    offset: int


@final
@dataclass(frozen=True)
class Time:
    """The first record at or after this time, or the end if there is none."""

    at_ms: int


Point = Start | End | At | Time


@final
@dataclass(frozen=True)
class Span:
    """From *first*, up to but not including *stop*; no *stop* means whatever the caller takes for granted."""

    first: Point
    stop: Point | None = None

    @property
    def times_ms(self) -> list[int]:
        """The times that must be looked up before this can be resolved."""
        return [point.at_ms for point in (self.first, self.stop) if isinstance(point, Time)]


@final
@dataclass(frozen=True)
class Resolved:
    """A span in one partition, as offsets: read from *first*, show from *shown*, end before *stop*."""

    first: int
    shown: int
    stop: int | None


def parse(text: str, now_ms: int) -> Span:
    """The span that *text* means at *now_ms*."""
    match = _SPAN.fullmatch(text.strip())
    if match is None or not text.strip():
        raise InvalidOffset(f"offset {text!r} is not understood: say {_HINT}")
    first, colon, stop = match["first"], match["colon"], match["stop"]
    timed = first is not None and first.startswith("@")
    return Span(
        Start() if first is None else _point(first, now_ms, timed=False),
        None if colon is None or stop is None else _point(stop, now_ms, timed=timed),
    )


def resolve(span: Span, low: int, high: int, by_time: Mapping[int, int | None]) -> Resolved:
    """*span* in a partition that holds *low* up to but not including *high*.

    *by_time* gives for each of `span.times_ms` the first offset at or after it.
    An offset beyond the end is waited for: reading starts at the end, and what
    arrives before that offset is not shown.
    """
    shown = _offset(span.first, low, high, by_time)
    stop = None if span.stop is None else _offset(span.stop, low, high, by_time)
    return Resolved(min(max(shown, low), high), shown, stop)


_DURATION: Final = re.compile(r"(\d+)(ms|s|m|h|d|w)")
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_ISO: Final = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?"
_TIME: Final = rf"(?:now|-(?:\d+(?:ms|s|m|h|d|w))+|{_ISO}|\d+)"
_PLAIN: Final = r"(?:start|end|[+-]?\d+)"
_SPAN: Final = re.compile(rf"(?P<first>@{_TIME}|{_PLAIN})?(?:(?P<colon>:)(?P<stop>@?{_TIME}|{_PLAIN})?)?")
_HINT: Final = "start, end, 100, -10 (the last ten), @-1h, @2026-05-01T12:00Z, or a range such as @-2h:-1h"
_SECONDS_DIGITS: Final = 10
_MAX_OFFSET: Final = (1 << 63) - 1


def _point(text: str, now_ms: int, *, timed: bool) -> Point:
    if text == "start":
        return Start()
    if text == "end":
        return End()
    if text.startswith("@"):
        return Time(_time(text[1:], now_ms))
    if timed:
        return Time(_time(text, now_ms))
    if not re.fullmatch(r"[+-]?\d+", text):
        raise InvalidOffset(f"{text!r} is a time; write @{text}")
    number = int(text)
    if abs(number) > _MAX_OFFSET:
        raise InvalidOffset(f"offset {text} is too large")
    if text.startswith("-"):
        return End(-number)
    return Start(number) if text.startswith("+") else At(number)


def _time(text: str, now_ms: int) -> int:
    if text == "now":
        return now_ms
    if text.isdecimal():
        return _epoch(text)
    if text.startswith("-"):
        parts = _DURATION.findall(text)
        if not parts:
            raise InvalidOffset(f"time {text!r} lacks a unit: ms, s, m, h, d or w")
        return max(0, now_ms - sum(int(count) * _UNIT_MS[unit] for count, unit in parts))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        raise InvalidOffset(f"{text!r} is not a time: {problem}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, round(moment.timestamp() * 1000))


def _epoch(text: str) -> int:
    value = int(text) * (1000 if len(text) <= _SECONDS_DIGITS else 1)
    if value > _MAX_OFFSET:
        raise InvalidOffset(f"time {text} is too large")
    return value


def _offset(point: Point, low: int, high: int, by_time: Mapping[int, int | None]) -> int:
    match point:
        case Start(skip):
            return low + skip
        case End(back):
            return max(low, high - back)
        case At(offset):
            return offset
        case Time(at_ms):
            found = by_time[at_ms]
            return high if found is None else found
