"""A bar chart, as text for a terminal and as SVG for everywhere else."""

from collections.abc import Sequence
from html import escape
from typing import Final

Bars = Sequence[tuple[str, float]]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_WIDTH, _HEIGHT = 860, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 24, 64, 52
_INK, _SOFT, _GRID, _BAR = "#1f2430", "#6b7280", "#e5e7eb", "#2f7ed8"
_MOST_LABELS: Final = 10


def text_chart(bars: Bars, width: int) -> list[str]:
    """A line a bar, the longest as wide as there is room in *width* columns."""
    if not bars:
        return []
    names = max(len(name) for name, _ in bars)
    values = [f"{value:,.0f}" for _, value in bars]
    room = max(8, width - names - max(map(len, values)) - 3)
    most = max(max(value for _, value in bars), 1e-9)
    lines = []
    for (name, value), said in zip(bars, values, strict=True):
        whole, part = divmod(round(max(value, 0) / most * room * 8), 8)
        bar = _EIGHTHS[8] * whole + (_EIGHTHS[part] if part else "")
        lines.append(f"{name:>{names}} {bar} {said}")
    return lines


def svg_chart(bars: Bars, title: str, subtitle: str) -> str:
    """The same as a picture."""
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    top = nice_top(max((value for _, value in bars), default=1.0))
    step = wide / max(len(bars), 1)
    every = -(-len(bars) // _MOST_LABELS) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="system-ui, sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 28, title, size=18, fill=_INK, weight="600"),
        _text(_LEFT, 48, subtitle, size=12, fill=_SOFT),
    ]
    for part in range(5):
        y = _TOP + high - high * part / 4
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>'
        )
        parts.append(_text(_LEFT - 8, y + 4, f"{top * part / 4:,.0f}", size=11, fill=_SOFT, anchor="end"))
    for number, (name, value) in enumerate(bars):
        size = high * max(value, 0) / top
        x = _LEFT + step * number + step * 0.12
        parts.append(
            f'<rect x="{x:.1f}" y="{_TOP + high - size:.1f}" width="{step * 0.76:.1f}" height="{size:.1f}" '
            f'rx="2" fill="{_BAR}"><title>{escape(name)}: {value:,.0f}</title></rect>'
        )
        if number % every == 0:
            middle = _LEFT + step * (number + 0.5)
            parts.append(_text(middle, _TOP + high + 20, name, size=11, fill=_SOFT, anchor="middle"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def nice_top(most: float) -> float:
    """The next round number that four even steps lead to."""
    power = 1.0
    while power * 10 <= most:
        power *= 10
    while power > most > 0:
        power /= 10
    return next((each * power for each in (1, 2, 4, 6, 8, 10) if each * power >= most), 1.0) or 1.0


def _text(
    x: float, y: float, words: str, *, size: int, fill: str, anchor: str = "start", weight: str = "400"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )
