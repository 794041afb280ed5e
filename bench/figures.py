"""Figures of several rounds, and how two servers compare in them. Pure: no clock, no processes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final


class Measured(NamedTuple):
    """What one run of a workload gave: *value* is what counts, the rest explains it."""

    value: float
    server_us: float = 0.0  # processor time of the server for a message
    client_share: float = 0.0  # of one processor, taken by the load generator
    p99_us: float = 0.0
    server_share: float = 0.0  # of one processor, taken by the server


class Spread(NamedTuple):
    """The median of several, with the lowest and the highest."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.low)}–{short(self.high)})"


@dataclass(frozen=True)
class Row:
    """One thing that is measured, as the table and the chart name it."""

    key: str
    title: str
    unit: str
    lower_is_better: bool = False


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread | None:
    """*ours* divided by *theirs*, round by round; None if there is nothing to compare.

    Rounds are interleaved, so what disturbs the machine disturbs both of a pair.
    """
    pairs = [(mine, other) for mine, other in zip(ours, theirs, strict=False) if other > 0]
    return spread([mine / other for mine, other in pairs]) if pairs else None


def short(value: float) -> str:
    """Three digits and a unit: 1.23 k, 45.6 M."""
    for limit, divisor, letter in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if abs(value) >= limit:
            return f"{value / divisor:.3g}{letter}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


@final
class Results:
    """All that was measured: row by row, peer by peer, round by round."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self._measured: dict[str, dict[str, list[Measured]]] = {}

    def add(self, row: Row, peer: str, measured: Measured) -> None:
        self.rows[row.key] = row
        self._measured.setdefault(row.key, {}).setdefault(peer, []).append(measured)

    def peers(self, key: str) -> Mapping[str, Sequence[Measured]]:
        return self._measured.get(key, {})

    def values(self, key: str, peer: str) -> list[float]:
        return [each.value for each in self._measured.get(key, {}).get(peer, ())]

    def ratio(self, key: str, ours: str, theirs: str) -> Spread | None:
        return ratios(self.values(key, ours), self.values(key, theirs))

    def server_ratio(self, key: str, ours: str, theirs: str) -> Spread | None:
        """Processor time for a message, ours by theirs: what a loaded machine tells truest."""
        measured = self._measured.get(key, {})
        return ratios(
            [each.server_us for each in measured.get(ours, ())],
            [each.server_us for each in measured.get(theirs, ())],
        )

    def to_json(self) -> dict[str, object]:
        return {
            key: {
                "title": self.rows[key].title,
                "unit": self.rows[key].unit,
                "lower_is_better": self.rows[key].lower_is_better,
                "peers": {peer: [each._asdict() for each in runs] for peer, runs in peers.items()},
            }
            for key, peers in self._measured.items()
        }
