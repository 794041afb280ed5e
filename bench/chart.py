"""The results as a picture: a line a figure, and on it a dot a peer, at Millstream's ratio to it."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from bench.figures import Results, Spread

_LINE: Final = 24
_LEFT: Final = 340
_WIDTH: Final = 640
_RIGHT: Final = 30
_TOP: Final = 112
_DECADES: Final = (-2, 3)  # from a hundredth to a thousand times; what is off lies at the end
_DOT: Final = 5.5
_COLOURS: Final = {
    "Kafka": "#d1495b",
    "NATS JetStream": "#2a7f9e",
    "Redis Streams": "#e0872b",
    "RabbitMQ streams": "#6a994e",
    "C floor": "#7b6d8d",
    "bare fdatasync": "#4a4a4a",
}
_OTHER: Final = "#9aa0a6"


def chart(results: Results, ours: str, title: str, subtitle: str = "", leave_out: Sequence[str] = ()) -> str:
    """An SVG; dots to the right of the middle line are where *ours* is ahead, less or more being better."""
    rows = [
        (row.title, dots)
        for key, row in results.rows.items()
        if (
            dots := {
                peer: _ahead(ratio) if row.lower_is_better else ratio
                for peer in results.peers(key)
                if peer not in (ours, *leave_out) and (ratio := results.ratio(key, ours, peer)) is not None
            }
        )
    ]
    present = {peer for _, dots in rows for peer in dots}
    peers = [peer for peer in _COLOURS if peer in present] + sorted(present - set(_COLOURS))
    marks = "".join(_row(number, name, dots) for number, (name, dots) in enumerate(rows))
    return _framed(marks, len(rows), peers, title, subtitle)


def x_of(ratio: float) -> float:
    """Where on the log scale *ratio* lies; what is off it lies at its end."""
    low, high = _DECADES
    decades = math.log10(ratio) if ratio > 0 else low
    return _LEFT + _WIDTH * (max(low, min(high, decades)) - low) / (high - low)


def _ahead(ratio: Spread) -> Spread:
    """Where less is better, half as much is twice as good."""
    return Spread(*(1 / each if each else math.inf for each in (ratio.median, ratio.high, ratio.low)))


def _row(number: int, name: str, dots: dict[str, Spread]) -> str:
    middle = _TOP + (number + 0.5) * _LINE
    label = f'<text x="{_LEFT - 14}" y="{middle + 4:.0f}" text-anchor="end">{escape(name)}</text>'
    # The widest first: what is precise lies on top.
    drawn = sorted(dots.items(), key=lambda each: x_of(each[1].low) - x_of(each[1].high))
    return label + "".join(_dot(peer, ratio, middle) for peer, ratio in drawn)


def _dot(peer: str, ratio: Spread, y: float) -> str:
    colour = _COLOURS.get(peer, _OTHER)
    return (
        f'<line x1="{x_of(ratio.low):.1f}" x2="{x_of(ratio.high):.1f}" y1="{y:.0f}" y2="{y:.0f}" '
        f'stroke="{colour}" stroke-width="2.5" stroke-opacity="0.45"/>'
        f'<circle cx="{x_of(ratio.median):.1f}" cy="{y:.0f}" r="{_DOT}" fill="{colour}" stroke="white">'
        f"<title>{escape(peer)}: {ratio.median:.2f}x ({ratio.low:.2f}–{ratio.high:.2f})</title></circle>"
    )


def _framed(marks: str, rows: int, peers: list[str], title: str, subtitle: str) -> str:
    bottom = _TOP + rows * _LINE
    middle = x_of(1)
    grid = []
    for ratio in (10**decade for decade in range(_DECADES[0], _DECADES[1] + 1)):
        x, colour = f"{x_of(ratio):.1f}", "#333" if ratio == 1 else "#ccd0d5"
        grid.append(f'<line x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{bottom}" stroke="{colour}"/>')
        grid.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle" fill="#555">{ratio:g}x</text>')
    sides = (
        f'<text x="{middle - 14:.0f}" y="{_TOP - 30}" text-anchor="end" fill="#555">← behind</text>'
        f'<text x="{middle + 14:.0f}" y="{_TOP - 30}" fill="#555">Millstream ahead →</text>'
    )
    legend, at = [], 20.0
    for peer in peers:
        legend.append(f'<circle cx="{at + 6:.0f}" cy="60" r="{_DOT}" fill="{_COLOURS.get(peer, _OTHER)}"/>')
        legend.append(f'<text x="{at + 17:.0f}" y="64">{escape(peer)}</text>')
        at += 44 + 7 * len(peer)
    shades = [
        f'<rect x="0" y="{_TOP + number * _LINE}" width="100%" height="{_LINE}" fill="#f4f5f7"/>'
        for number in range(0, rows, 2)
    ]
    width, height = _LEFT + _WIDTH + _RIGHT, bottom + 34
    about = "Dot: the median of ratios taken round by round; line: the lowest and the highest."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="12.5">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="20" y="24" font-size="17" font-weight="bold">{escape(title)}</text>'
        f'<text x="20" y="43" fill="#555">{escape(subtitle)}</text>'
        + "".join(shades + grid)
        + sides
        + "".join(legend)
        + marks
        + f'<text x="20" y="{bottom + 22}" fill="#555">{about}</text></svg>\n'
    )
