"""The results as a picture: for every figure a bar a peer, Millstream's ratio to it, on a log scale."""

import math
from html import escape
from typing import Final

from bench.figures import Results

_BAR: Final = 14
_GAP: Final = 18
_LEFT: Final = 330
_WIDTH: Final = 560
_TOP: Final = 64
_DECADES: Final = 2.0  # to either side of 1
_COLOURS: Final = ("#1f6f8b", "#d1812b", "#5a8f3c", "#9b4f96", "#b03a48", "#6b7280")


def chart(results: Results, ours: str, title: str) -> str:
    """An SVG; bars to the right of the middle line are where *ours* is ahead."""
    others = sorted({peer for key in results.rows for peer in results.peers(key) if peer != ours})
    colours = {peer: _COLOURS[number % len(_COLOURS)] for number, peer in enumerate(others)}
    parts: list[str] = []
    y = _TOP
    for key, row in results.rows.items():
        bars = [(peer, ratio) for peer in others if (ratio := results.ratio(key, ours, peer)) is not None]
        if not bars:
            continue
        middle = y + len(bars) * _BAR / 2
        parts.append(
            f'<text x="{_LEFT - 10}" y="{middle + 4:.0f}" text-anchor="end">{escape(row.title)}</text>'
        )
        for peer, ratio in bars:
            ahead = 1 / ratio.median if row.lower_is_better and ratio.median else ratio.median
            parts.append(_bar(ahead, y, colours[peer], peer))
            y += _BAR
        y += _GAP
    return _framed(parts, colours, title, y)


def x_of(ratio: float) -> float:
    """Where on the log scale *ratio* lies; what is off it lies at its end."""
    decades = math.log10(ratio) if ratio > 0 else -_DECADES
    return _LEFT + _WIDTH / 2 * (1 + max(-_DECADES, min(_DECADES, decades)) / _DECADES)


def _bar(ahead: float, y: float, colour: str, peer: str) -> str:
    middle, end = x_of(1), x_of(ahead)
    left, width = min(middle, end), max(abs(end - middle), 1.0)
    beside = end + 4 if ahead >= 1 else end - 4
    anchor = "start" if ahead >= 1 else "end"
    return (
        f'<rect x="{left:.1f}" y="{y:.0f}" width="{width:.1f}" height="{_BAR - 3}" fill="{colour}">'
        f"<title>{escape(peer)}: {ahead:.2f}x</title></rect>"
        f'<text x="{beside:.1f}" y="{y + 10:.0f}" text-anchor="{anchor}" font-size="10">{ahead:.2g}x</text>'
    )


def _framed(parts: list[str], colours: dict[str, str], title: str, height: float) -> str:
    lines = [
        f'<line x1="{x_of(at):.1f}" x2="{x_of(at):.1f}" y1="{_TOP - 8}" y2="{height:.0f}" stroke="#ccc"/>'
        f'<text x="{x_of(at):.1f}" y="{_TOP - 12}" text-anchor="middle" fill="#666">{at:g}x</text>'
        for at in (0.01, 0.1, 1, 10, 100)
    ]
    legend, x = [], 20
    for peer, colour in colours.items():
        legend.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{colour}"/>')
        legend.append(f'<text x="{x + 14}" y="39">{escape(peer)}</text>')
        x += 40 + 7 * len(peer)
    size = f'width="{_LEFT + _WIDTH + 60}" height="{height + 20:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="20" y="20" font-size="15">{escape(title)}</text>'
        + "".join(legend + lines + parts)
        + "</svg>\n"
    )
