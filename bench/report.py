"""The goals of a run as a table of Markdown, for docs/performance.md.

python -m bench.report build/bench.json
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Spread, short
from bench.goals import COMPILED, PLAIN


def goals_table(goals: Sequence[Mapping[str, Any]]) -> str:
    """A line a goal: what is aimed at, and what was seen of each way to run; bold is what falls short."""
    lines = ["| beside | what | plain Python | compiled |", "|---|---|---|---|"]
    by_goal: dict[tuple[str, str], dict[str, str]] = {}
    for goal in goals:
        named = (_beside(goal), goal["about"] + (_floor(goal) if goal["own"] else ""))
        by_goal.setdefault(named, {})[goal["of"]] = _seen(goal)
    for (beside, about), seen in by_goal.items():
        lines.append(f"| {beside} | {about} | {seen.get(PLAIN, '–')} | {seen.get(COMPILED, '–')} |")
    return "\n".join(lines)


def _beside(goal: Mapping[str, Any]) -> str:
    return "itself" if goal["own"] else str(goal["beside"])


def _floor(goal: Mapping[str, Any]) -> str:
    """How the floor does, where that was noted."""
    floor = goal["note"].removeprefix("C floor: ")
    return "" if floor == goal["note"] else f" (the floor: {floor.partition(' ')[0].rstrip('x')})"


def _seen(goal: Mapping[str, Any]) -> str:
    told = str(Spread(**goal["seen"]))
    median, _, spread = told.partition(" ")
    missed = goal["rows"] - goal["rows_met"]
    many = f", {missed} of {goal['rows']}" if missed and goal["rows"] > 1 else ""
    sign = "≤" if goal["at_most"] else "≥"
    floor = "" if goal["own"] else _floor(goal)
    return (
        f"{sign} {short(goal['asked'])}: {median if goal['met'] else f'**{median}**'} {spread}{many}{floor}"
    )


if __name__ == "__main__":
    print(goals_table(json.loads(Path(sys.argv[1]).read_text())["goals"]))
