"""The offset grammar."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.offsets import At, End, InvalidOffset, Point, Resolved, Span, Start, Time, parse, resolve

NOW_MS = 1_777_636_800_000  # 2026-05-01T12:00:00Z
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("start", Span(Start())),
        ("end", Span(End())),
        ("0", Span(At(0))),
        ("100", Span(At(100))),
        ("-10", Span(End(10))),
        ("+10", Span(Start(10))),
        ("@-1h", Span(Time(NOW_MS - HOUR_MS))),
        ("@-1h30m", Span(Time(NOW_MS - HOUR_MS - 30 * 60_000))),
        ("@-250ms", Span(Time(NOW_MS - 250))),
        ("@now", Span(Time(NOW_MS))),
        ("@2026-05-01", Span(Time(NOW_MS - 12 * HOUR_MS))),
        ("@2026-05-01T12:00Z", Span(Time(NOW_MS))),
        ("@2026-05-01 12:00:00", Span(Time(NOW_MS))),
        ("@2026-05-01T14:00:00.250+02:00", Span(Time(NOW_MS + 250))),
        ("@1777636800", Span(Time(NOW_MS))),
        ("@1777636800123", Span(Time(NOW_MS + 123))),
        ("100:200", Span(At(100), At(200))),
        ("100:", Span(At(100))),
        (":200", Span(Start(), At(200))),
        (":end", Span(Start(), End())),
        ("start:-5", Span(Start(), End(5))),
        ("@-2h:-1h", Span(Time(NOW_MS - 2 * HOUR_MS), Time(NOW_MS - HOUR_MS))),
        ("@-2h:@-1h", Span(Time(NOW_MS - 2 * HOUR_MS), Time(NOW_MS - HOUR_MS))),
        ("@-2h:end", Span(Time(NOW_MS - 2 * HOUR_MS), End())),
        ("@-2h:now", Span(Time(NOW_MS - 2 * HOUR_MS), Time(NOW_MS))),
        ("5:@-1h", Span(At(5), Time(NOW_MS - HOUR_MS))),
        ("@2026-05-01T10:00:2026-05-01T12:00", Span(Time(NOW_MS - 2 * HOUR_MS), Time(NOW_MS))),
        ("@2026-05-01T10:00:00Z:2026-05-01T12:00:00Z", Span(Time(NOW_MS - 2 * HOUR_MS), Time(NOW_MS))),
        ("@2026-05-01:1777636800", Span(Time(NOW_MS - 12 * HOUR_MS), Time(NOW_MS))),
    ],
)
def test_reads_the_grammar(text: str, span: Span) -> None:
    assert parse(text, NOW_MS) == span


@pytest.mark.parametrize(
    "text",
    [
        "begin",
        "1.5",
        "@",
        "@1h",
        "@-1",
        "@-5x",
        "5:-1h",
        "-1h",
        "@2026-13-01",
        "@2026-05-01T25:00",
        "1:2:3",
        "@-1h:-5",
        "--5",
        "ten",
        "0x10",
        "@+1h",
        "99999999999999999999",
        "@99999999999999999999",
        " ",
    ],
)
def test_says_what_would_be_understood(text: str) -> None:
    with pytest.raises(InvalidOffset):
        parse(text, NOW_MS)


points = st.one_of(
    st.builds(Start, st.integers(0, 2**62)),
    st.builds(End, st.integers(0, 2**62)),
    st.builds(At, st.integers(0, 2**62)),
    st.builds(Time, st.integers(0, 4_000_000_000_000)),
)


def written(point: Point, iso: bool) -> str:
    match point:
        case Start(0):
            return "start"
        case Start(skip):
            return f"+{skip}"
        case End(0):
            return "end"
        case End(back):
            return f"-{back}"
        case At(offset):
            return str(offset)
        case Time(at_ms) if iso:
            return f"@{datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec='milliseconds')}"
        case Time(at_ms):
            return f"@{at_ms:011d}"


@given(first=points, stop=st.none() | points, iso=st.booleans())
def test_reads_back_whatever_can_be_written(first: Point, stop: Point | None, iso: bool) -> None:
    text = written(first, iso)
    if stop is not None:
        if isinstance(first, Time) and not isinstance(stop, Time):
            stop = End()  # after a time, a bare number is a time as well
        text += ":" + written(stop, iso)

    assert parse(text, NOW_MS) == Span(first, stop)


@given(text=st.text(alphabet="@:-+0123456789startendowThmsdwZ. ", max_size=24) | st.text(max_size=24))
def test_answers_any_text_with_a_span_or_a_reason(text: str) -> None:
    with suppress(InvalidOffset):
        assert all(at_ms >= 0 for at_ms in parse(text, NOW_MS).times_ms)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("start", Resolved(10, 10, None)),
        ("+5", Resolved(15, 15, None)),
        ("end", Resolved(50, 50, None)),
        ("-7", Resolved(43, 43, None)),
        ("-700", Resolved(10, 10, None)),
        ("20:30", Resolved(20, 20, 30)),
        ("3", Resolved(10, 3, None)),
        ("60", Resolved(50, 60, None)),
        ("@1111111111111", Resolved(33, 33, None)),
        ("@2222222222222", Resolved(50, 50, None)),
        ("@1111111111111:2222222222222", Resolved(33, 33, 50)),
    ],
)
def test_finds_the_offsets_in_a_partition(text: str, resolved: Resolved) -> None:
    by_time = {1111111111111: 33, 2222222222222: None}

    assert resolve(parse(text, NOW_MS), low=10, high=50, by_time=by_time) == resolved


@given(
    span=st.builds(Span, points),
    low=st.integers(0, 1000),
    size=st.integers(0, 1000),
    found=st.none() | st.integers(0, 2000),
)
def test_reading_begins_inside_the_log(span: Span, low: int, size: int, found: int | None) -> None:
    found = None if found is None else min(max(found, low), low + size)
    resolved = resolve(span, low, low + size, dict.fromkeys(span.times_ms, found))

    assert low <= resolved.first <= low + size
