"""The results as a table: what each peer did, and Millstream's ratio to it."""

from collections.abc import Sequence
from typing import Final

from bench.figures import Results, Spread, short, spread
from bench.goals import COMPILED, PLAIN, Goal, Verdict
from rich.table import Table

_CLIENT_IS_BUSY: Final = 0.9  # of one processor: then the load generator is what was measured


def table(results: Results, ours: str, title: str) -> Table:
    """A row a figure; each peer's median with its spread, and below it the ratio of *ours* to it."""
    names: list[str] = []
    for key in results.rows:
        names += [peer for peer in results.peers(key) if peer not in names]
    names.sort(key=lambda name: name != ours)
    made = Table(title=title, caption="Below each peer: Millstream's figure divided by its, round by round.")
    made.add_column("work")
    made.add_column("unit")
    for name in names:
        made.add_column(name, justify="right")
    for key, row in results.rows.items():
        better = "lower is better" if row.lower_is_better else ""
        made.add_row(
            row.title,
            f"{row.unit}\n[dim]{better}[/dim]",
            *(_cell(results, key, ours, name, row.lower_is_better) for name in names),
        )
    return made


def verdicts(judged: Sequence[Verdict]) -> Table:
    """A row a goal: what was asked, what was seen of each way to run, and whether that is enough."""
    made = Table(
        title="Goals", caption="Of several rows, the one that decides. Both columns: asked, then seen."
    )
    for column in ("beside", "goal", "plain Python", "compiled", "decided by"):
        made.add_column(column)
    by_goal: dict[Goal, dict[str, Verdict]] = {}
    for verdict in judged:
        by_goal.setdefault(verdict.goal, {})[verdict.ours] = verdict
    for goal, each in by_goal.items():
        decisive = dict.fromkeys(
            text
            for verdict in each.values()
            for text in (verdict.row if verdict.rows > 1 else "", verdict.note)
            if text
        )
        made.add_row(
            goal.beside or "itself",
            goal.about,
            *(_verdict(each.get(ours)) for ours in (PLAIN, COMPILED)),
            "\n".join(decisive),
        )
    return made


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None or verdict.seen is None:
        return "–"
    sign = "≤" if verdict.goal.at_most else "≥"
    times = "x" if verdict.goal.beside or verdict.goal.over else ""
    word = "[green]met[/green]" if verdict.met else "[red]missed[/red]"
    alike = verdict.rows_met if verdict.met else verdict.rows - verdict.rows_met
    rows = f" in {alike} of {verdict.rows}" if verdict.rows > 1 else ""
    return f"{sign} {short(verdict.asked)}{times}  {verdict.seen}{times}  {word}{rows}"


def _cell(results: Results, key: str, ours: str, peer: str, lower_is_better: bool) -> str:
    runs = results.peers(key).get(peer)
    if not runs:
        return "–"
    lines = [str(spread([run.value for run in runs]))]
    cost = spread([run.server_us for run in runs]).median
    if cost:
        lines.append(f"[dim]{short(cost)} µs each[/dim]")
    if any(run.client_share > _CLIENT_IS_BUSY for run in runs):
        lines.append("[yellow]client busy[/yellow]")
    ratio = results.ratio(key, ours, peer) if peer != ours else None
    if ratio is not None:
        lines.append(_ratio(ratio, lower_is_better))
    return "\n".join(lines)


def _ratio(ratio: Spread, lower_is_better: bool) -> str:
    ahead = ratio.median <= 1 if lower_is_better else ratio.median >= 1
    colour = "green" if ahead else "red"
    return f"[{colour}]{ratio.median:.2f}x ({ratio.low:.2f}–{ratio.high:.2f})[/{colour}]"
