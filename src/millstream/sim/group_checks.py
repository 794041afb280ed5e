"""Verdicts over groups: who owned what, who committed what, and what became of it.

`checks.py` lists them.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from millstream.sim.history import (
    Anomaly,
    Assign,
    Commit,
    History,
    Hold,
    Key,
    Operation,
    Outcome,
    Poll,
    ReadCommit,
)


def group_anomalies(history: History) -> Iterator[Anomaly]:
    assigns, commits, holds = history.of(Assign), history.of(Commit), history.of(Hold)
    yield from _held_by_two(holds)
    yield from _committed_by_the_dispossessed(holds, commits)
    yield from _two_owners(assigns)
    yield from _generation_back(assigns)
    yield from _commit_beyond(history.operations)
    yield from _zombie_commits(assigns, commits)
    yield from _lost_commits(commits, history.of(ReadCommit))


def _two_owners(assigns: Iterable[Assign]) -> Iterator[Anomaly]:
    owners: dict[tuple[str, int, Key], str] = {}
    for assign in assigns:
        for key in assign.keys:
            owner = owners.setdefault((assign.group, assign.generation, key), assign.process)
            if owner != assign.process:
                yield Anomaly(
                    "two-owners", (assign.group, key), f"{owner} and {assign.process} in {assign.generation}"
                )


def _held_by_two(holds: Iterable[Hold]) -> Iterator[Anomaly]:
    """Given to one, then to another, and then the first was still told that it has it.

    Each moment is taken where it accuses nobody wrongly: what was asked for
    after the first had been told was given after that, and what the first asked
    after the other had been told was answered after that.
    """
    for key, held in _by_partition(holds).items():
        for first in held:
            for other in held:
                if (
                    other.process != first.process
                    and first.ended < other.begun
                    and other.ended < first.confirmed
                ):
                    yield Anomaly(
                        "two-owners", key, f"{other.process} was given what {first.process} went on with"
                    )


def _committed_by_the_dispossessed(holds: Iterable[Hold], commits: Iterable[Commit]) -> Iterator[Anomaly]:
    held = _by_partition(holds)
    for commit in commits:
        if commit.outcome is not Outcome.OK:
            continue
        mine = [
            hold
            for hold in held.get((commit.group, commit.key), [])
            if hold.process == commit.process and hold.ended < commit.begun
        ]
        if not mine:
            continue
        for hold in held[commit.group, commit.key]:
            if hold.process != commit.process and mine[-1].ended < hold.begun and hold.ended < commit.begun:
                yield Anomaly(
                    "zombie-commit",
                    (commit.group, commit.key),
                    f"{commit.process} committed {commit.offset} when {hold.process} had taken over",
                )


def _by_partition(holds: Iterable[Hold]) -> dict[tuple[str, Key], list[Hold]]:
    found: dict[tuple[str, Key], list[Hold]] = defaultdict(list)
    for hold in holds:
        found[hold.group, hold.key].append(hold)
    return found


def _generation_back(assigns: Iterable[Assign]) -> Iterator[Anomaly]:
    last: dict[tuple[str, str], int] = {}
    for assign in assigns:
        member = assign.group, assign.process
        if assign.generation < last.get(member, -1):
            yield Anomaly("generation-back", member, f"{assign.generation} after {last[member]}")
        last[member] = assign.generation


def _commit_beyond(operations: Iterable[Operation]) -> Iterator[Anomaly]:
    """A member may commit what it was delivered in its generation, or where it began."""
    reached: dict[tuple[str, int, Key], int] = {}
    for op in operations:
        if isinstance(op, Poll) and op.generation is not None:
            at = max(op.reached, op.records[-1][0] + 1 if op.records else op.position)
            delivered = op.process, op.generation, op.key
            reached[delivered] = max(reached.get(delivered, -1), at)
        elif isinstance(op, Commit) and op.outcome is not Outcome.FAIL:
            limit = reached.get((op.process, op.generation, op.key), -1)
            if op.offset > limit:
                yield Anomaly(
                    "commit-beyond",
                    (op.group, op.key),
                    f"{op.process} committed {op.offset} in {op.generation}, delivered up to {limit}",
                )


def _zombie_commits(assigns: list[Assign], commits: list[Commit]) -> Iterator[Anomaly]:
    begins: dict[str, list[tuple[int, int]]] = defaultdict(
        list
    )  # group -> (generation known at, highest so far)
    for assign in sorted(assigns, key=lambda op: op.ended):
        known = begins[assign.group]
        known.append((assign.ended, max(assign.generation, known[-1][1] if known else -1)))
    for commit in commits:
        known = begins[commit.group]
        before = bisect_left(known, (commit.begun, -1))
        current = known[before - 1][1] if before else -1
        if commit.outcome is Outcome.OK and commit.generation < current:
            yield Anomaly(
                "zombie-commit",
                (commit.group, commit.key),
                f"{commit.process} in {commit.generation} committed {commit.offset} when {current} had begun",
            )


def _lost_commits(commits: list[Commit], reads: list[ReadCommit]) -> Iterator[Anomaly]:
    """A read may see the last commit acknowledged before it began, or any that was then under way."""
    per_key: dict[tuple[str, Key], list[Commit]] = defaultdict(list)
    for commit in commits:
        if commit.outcome is not Outcome.FAIL:
            per_key[commit.group, commit.key].append(commit)
    for read in reads:
        if read.outcome is not Outcome.OK:
            continue
        candidates = [c for c in per_key[read.group, read.key] if c.begun < read.ended]
        settled = [c for c in candidates if c.outcome is Outcome.OK and c.ended < read.begun]
        last = max(settled, key=lambda c: c.begun, default=None)
        allowed = {c.offset for c in candidates if last is None or c.ended > last.begun}
        if last is None:
            allowed.add(-1)
        if read.offset not in allowed:
            yield Anomaly(
                "lost-commit", (read.group, read.key), f"{read.process} was told {read.offset}, not {allowed}"
            )
