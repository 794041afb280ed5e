"""What Millstream is to reach beside its peers, and whether it did. Pure: judged by figures alone.

A goal is about one or several rows of the results, and holds if it holds in
each of them: the row that comes nearest to breaking it, or breaks it most, is
the one that is told.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from bench.figures import Measured, Results, Spread, ratios, short, spread

COMPILED: Final = "millstream"
PLAIN: Final = "millstream, plain"
SMALL_LOG_MB: Final = 100
_FLOOR: Final = "C floor"
_CLIENT_IS_THE_LIMIT: Final = 0.9  # of one processor, taken by one thread of the client


@dataclass(frozen=True, kw_only=True)
class Goal:
    """At least, or at most, so much in every row whose whole key *rows* matches."""

    about: str
    rows: str
    plain: float
    compiled: float
    at_most: bool = False
    beside: str = ""  # ratio to this peer's figure in the same row
    over: str = ""  # ratio to our own figure in this row
    cost: bool = False  # judge by the server's processor time for a message rather than by the figure
    client_may_limit: bool = False  # also met if the client's busiest thread had no more to give, and we had


class Verdict(NamedTuple):
    goal: Goal
    ours: str
    asked: float
    row: str = ""  # the one that decides
    seen: Spread | None = None  # None: not measured
    met: bool = False
    rows_met: int = 0
    rows: int = 0
    note: str = ""


_BATCHED: Final = r"produce (1 MB|16 KB), \d+ in flight, \d+ conn\."
_PIPELINED: Final = r"produce single, 64 in flight, 1 conn\."
_ALONE: Final = r"produce single, 1 in flight, 1 conn\. p50"
_CONSUMED: Final = r"consume(, | from disk, ).*"
_SYNCED: Final = ", fsync"
_SYNCED_ALONE: Final = r"produce single, 1 in flight, 1 conn\., fsync p50"
_OTHERS: Final = ("NATS JetStream", "Redis Streams", "RabbitMQ streams")


def _beside_kafka() -> list[Goal]:
    peer = "Kafka"
    return [
        Goal(about="produce 1 MB and 16 KB requests", rows=_BATCHED, plain=1.5, compiled=2, beside=peer),
        Goal(
            about="the same, synced before the acknowledgement",
            rows=_BATCHED + _SYNCED,
            plain=1.5,
            compiled=2,
            beside=peer,
        ),
        Goal(about="single messages, pipelined", rows=_PIPELINED, plain=10, compiled=30, beside=peer),
        Goal(about="consume", rows=_CONSUMED, plain=1, compiled=1.3, beside=peer),
        Goal(
            about="latency of a request, p50", rows=_ALONE, plain=0.8, compiled=0.5, at_most=True, beside=peer
        ),
        Goal(
            about="produce to consume, p50",
            rows=r"produce to consume, (low|middle) load",
            plain=0.6,
            compiled=0.6,
            at_most=True,
            beside=peer,
        ),
        Goal(about="time to start", rows="start", plain=0.2, compiled=0.2, at_most=True, beside=peer),
        Goal(about="idle memory", rows="memory", plain=0.2, compiled=0.2, at_most=True, beside=peer),
    ]


def _beside(peer: str) -> list[Goal]:
    goals = [
        Goal(about="produce in batches", rows=_BATCHED, plain=1, compiled=1, beside=peer),
        Goal(about="produce in batches, synced", rows=_BATCHED + _SYNCED, plain=1, compiled=1, beside=peer),
        Goal(about="consume", rows=_CONSUMED, plain=1, compiled=1, beside=peer),
        Goal(
            about="latency of a request, p50", rows=_ALONE, plain=1.2, compiled=1, at_most=True, beside=peer
        ),
        Goal(
            about="latency of a request, synced, p50",
            rows=_SYNCED_ALONE,
            plain=1.2,
            compiled=1,
            at_most=True,
            beside=peer,
        ),
    ]
    # RabbitMQ's streams sync nothing before they confirm: there is nothing to hold against.
    return [goal for goal in goals if peer != "RabbitMQ streams" or "synced" not in goal.about]


def _grows(work: str, large: int) -> Goal:
    """A message costs no more behind a *large* log: as much more as two measurements may differ."""
    return Goal(
        about=f"cost of a message: {work} {large:,} MB, by {SMALL_LOG_MB} MB",
        rows=f"{work} a log of {large:,} MB",
        over=f"{work} a log of {SMALL_LOG_MB} MB",
        plain=1.15,
        compiled=1.15,
        at_most=True,
        cost=True,
    )


GOALS: Final[tuple[Goal, ...]] = (
    *_beside_kafka(),
    *(goal for peer in _OTHERS for goal in _beside(peer)),
    Goal(about="produce 1 MB and 16 KB requests", rows=_BATCHED, plain=0.5, compiled=0.75, beside=_FLOOR),
    Goal(
        about="latency of a request, p50",
        rows=_ALONE,
        plain=2,
        compiled=1.5,
        at_most=True,
        beside=_FLOOR,
    ),
    Goal(
        about="one message in flight, synced, p50",
        rows=_SYNCED_ALONE,
        plain=1.3,
        compiled=1.3,
        at_most=True,
        beside="bare fdatasync",
    ),
    Goal(
        about="32 connections share syncs: pace, by that of one",
        rows=r"produce single, 1 in flight, 32 conn\., fsync",
        over="produce single, 1 in flight, 1 conn., fsync",
        plain=8,
        compiled=8,
    ),
    Goal(
        about="messages/s of one librdkafka producer",
        rows="librdkafka, produce",
        plain=1e6,
        compiled=1e6,
        client_may_limit=True,
    ),
    Goal(
        about="messages/s of one librdkafka consumer",
        rows="librdkafka, consume",
        plain=1.5e6,
        compiled=1.5e6,
        client_may_limit=True,
    ),
    Goal(
        about="pace over 1,000 partitions, by that over one",
        rows="produce 16 KB over 1,000 partitions",
        over="produce 16 KB over 1 partitions",
        plain=0.8,
        compiled=0.8,
    ),
    Goal(
        about="pace of a librdkafka producer over 1,000 partitions, by that over one",
        rows="librdkafka, produce over 1,000 partitions",
        over="librdkafka, produce",
        plain=0.8,
        compiled=0.8,
        client_may_limit=True,  # over one it keeps to few batches: over many it has more to do itself
    ),
    Goal(
        about="pace of a Java producer over 1,000 partitions, by that over one",
        rows="Java, produce over 1,000 partitions",
        over="Java, produce",
        plain=0.8,
        compiled=0.8,
    ),
    Goal(
        about="pace of 1,000 connections, by that of 8",
        rows="produce single, 8 in flight, 1,000 connections",
        over="produce single, 8 in flight, 8 connections",
        plain=0.7,
        compiled=0.7,
    ),
    *(
        _grows(work, large)
        for work in ("consume", "produce behind", "deliver behind")
        for large in (500, 2_000)
    ),
)


def judged(results: Results, goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    """Of every goal whose rows were measured, and of both ways to run; in the order of *goals*."""
    return [
        verdict
        for goal in goals
        for ours, asked in ((PLAIN, goal.plain), (COMPILED, goal.compiled))
        if (verdict := judge(results, goal, ours, asked)).seen is not None
    ]


def judge(results: Results, goal: Goal, ours: str, asked: float) -> Verdict:
    seen = [
        (found, key)
        for key in results.rows
        if re.fullmatch(goal.rows, key) and (found := _seen(results, goal, ours, key))
    ]
    if not seen:
        return Verdict(goal, ours, asked)
    met = [
        _holds(goal, found.median, asked) or _client_limits(results, goal, ours, key) for found, key in seen
    ]
    worst, row = (max if goal.at_most else min)(seen, key=lambda each: each[0].median)
    return Verdict(
        goal, ours, asked, row, worst, all(met), sum(met), len(met), _note(results, goal, ours, row, asked)
    )


def to_json(verdicts: Sequence[Verdict]) -> list[dict[str, object]]:
    return [
        {
            "about": verdict.goal.about,
            "beside": verdict.goal.beside or verdict.goal.over,
            "own": not verdict.goal.beside,  # beside is then the row of ours that it is held against, if any
            "of": verdict.ours,
            "asked": verdict.asked,
            "at_most": verdict.goal.at_most,
            "seen": verdict.seen._asdict() if verdict.seen else None,
            "row": verdict.row,
            "met": verdict.met,
            "rows_met": verdict.rows_met,
            "rows": verdict.rows,
            "note": verdict.note,
        }
        for verdict in verdicts
    ]


def _seen(results: Results, goal: Goal, ours: str, key: str) -> Spread | None:
    field: Callable[[Measured], float] = (lambda run: run.server_us) if goal.cost else (lambda run: run.value)
    figures = [field(run) for run in results.peers(key).get(ours, ())]
    if goal.beside:
        return ratios(figures, [field(run) for run in results.peers(key).get(goal.beside, ())])
    if goal.over:
        return ratios(figures, [field(run) for run in results.peers(goal.over).get(ours, ())])
    return spread(figures) if figures else None


def _holds(goal: Goal, seen: float, asked: float) -> bool:
    return seen <= asked if goal.at_most else seen >= asked


def _shares(results: Results, ours: str, key: str) -> tuple[float, float]:
    """Processors that the client and the node took, medians."""
    runs = results.peers(key)[ours]
    return spread([run.client_share for run in runs]).median, spread(
        [run.server_share for run in runs]
    ).median


def _client_limits(results: Results, goal: Goal, ours: str, key: str) -> bool:
    if not goal.client_may_limit:
        return False
    client, server = _shares(results, ours, key)
    return client >= _CLIENT_IS_THE_LIMIT and server < client


def _note(results: Results, goal: Goal, ours: str, key: str, asked: float) -> str:
    if goal.beside and goal.beside != _FLOOR:
        floor = _seen(results, goal, _FLOOR, key)
        # What the system calls alone do not reach is not for us to reach.
        return "" if floor is None or _holds(goal, floor.median, asked) else f"{_FLOOR}: {floor}x"
    if goal.over and (floor := _seen(results, goal, _FLOOR, key)) is not None:
        return f"{_FLOOR}: {floor}x"
    if not goal.client_may_limit:
        return ""
    client, server = _shares(results, ours, key)
    limit = "the client is the limit: " if _client_limits(results, goal, ours, key) else ""
    return f"{limit}its busiest thread took {short(client)} of a processor, the node {short(server)}"
