"""Were promises kept? Verdicts over a history, after Jepsen's workload for Kafka.

For each partition the log is pieced together from what consumers saw and
producers were told; then every operation is held against it.

    inconsistent-offsets  two values at one offset
    offset-gap            the final read jumps over offsets
    duplicate             one value at two offsets
    lost-write            acknowledged, later values were read, this one never
    unseen                acknowledged, not in the final read, nor anything after it
    vanished              read once, not in the final read
    phantom               read, never sent
    failed-read           read, though its send was refused for good
    nonmonotonic-send     a producer's values lie in the log in another order than sent
    poll-skip             a fetch passed over a record
    nonmonotonic-poll     a fetch went back, before its position or within itself
    two-owners            two members own a partition in one generation
    generation-back       a member is given an older generation than it had
    commit-beyond         committed more than was delivered in the member's generation
    zombie-commit         a commit accepted after a later generation had begun
    lost-commit           the group forgot an acknowledged commit
    stale-key             in a compacted log, an older value than was acknowledged is the last of its key

Clients complain of what they meet themselves, and that counts as much.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import final

from millstream.sim.history import (
    Anomaly,
    Assign,
    Commit,
    History,
    Key,
    Operation,
    Outcome,
    Poll,
    ReadCommit,
    Send,
)


def check(history: History) -> list[Anomaly]:
    """Every promise that *history* shows to be broken."""
    sends, polls = history.of(Send), history.of(Poll)
    found = list(history.complaints)
    for key in sorted({op.key for op in sends} | {op.key for op in polls}):
        log = PieceOfLog(key, [s for s in sends if s.key == key], [p for p in polls if p.key == key])
        found += log.anomalies_if_compacted() if any(send.names for send in log.sends) else log.anomalies()
    return found + list(_groups(history))


@final
class PieceOfLog:
    """One partition as its clients saw it."""

    def __init__(self, key: Key, sends: list[Send], polls: list[Poll]) -> None:
        self.key = key
        self.sends = sends
        self.polls = polls
        self.read = {value for poll in polls for _, value in poll.records}
        self.final = {value for poll in polls if poll.final for _, value in poll.records}
        self.has_final = any(poll.final for poll in polls)
        self.values: dict[int, set[int]] = defaultdict(set)  # offset -> what was seen there
        self.offsets: dict[int, set[int]] = defaultdict(set)  # value -> where it was seen
        for poll in polls:
            for offset, value in poll.records:
                self._saw(offset, value)
        for send in sends:
            if send.outcome is Outcome.OK and send.offset is not None:
                for i, value in enumerate(send.values):
                    self._saw(send.offset + i, value)
        self.order = sorted(self.values)
        lasting = self.final if self.has_final else self.read
        self.highest_read = max((min(self.offsets[value]) for value in lasting), default=-1)

    def _saw(self, offset: int, value: int) -> None:
        self.values[offset].add(value)
        self.offsets[value].add(offset)

    def anomalies(self) -> Iterator[Anomaly]:
        yield from self.anomalies_of_any_log()
        yield from self._say("offset-gap", self.offset_gaps())
        yield from self._say("lost-write", self.lost_writes())
        yield from self._say("unseen", self.unseen())
        yield from self._say("vanished", self.vanished())
        yield from self._say("poll-skip", self.poll_skips())

    def anomalies_if_compacted(self) -> Iterator[Anomaly]:
        yield from self.anomalies_of_any_log()
        yield from self._say("stale-key", self.stale_keys())

    def anomalies_of_any_log(self) -> Iterator[Anomaly]:
        yield from self._say("inconsistent-offsets", self.inconsistent_offsets())
        yield from self._say("duplicate", self.duplicates())
        yield from self._say("phantom", self.phantoms())
        yield from self._say("failed-read", self.failed_reads())
        yield from self._say("nonmonotonic-send", self.nonmonotonic_sends())
        yield from self._say("nonmonotonic-poll", self.nonmonotonic_polls())

    def _say(self, kind: str, details: Iterable[str]) -> Iterator[Anomaly]:
        return (Anomaly(kind, self.key, detail) for detail in details)

    def inconsistent_offsets(self) -> Iterator[str]:
        for offset in self.order:
            if len(self.values[offset]) > 1:
                yield f"offset {offset} holds {sorted(self.values[offset])}"

    def offset_gaps(self) -> Iterator[str]:
        offsets = sorted(o for poll in self.polls if poll.final for o, _ in poll.records)
        for before, after in pairwise(offsets):
            if after > before + 1:
                yield f"nothing between offsets {before} and {after}"

    def duplicates(self) -> Iterator[str]:
        for value, offsets in self.offsets.items():
            if len(offsets) > 1:
                yield f"value {value} at offsets {sorted(offsets)}"

    def lost_writes(self) -> Iterator[str]:
        for value, offset in self._acknowledged_and_never_read():
            if offset <= self.highest_read:
                yield f"value {value}, acknowledged at offset {offset}, was passed over"

    def unseen(self) -> Iterator[str]:
        if not self.has_final:
            return  # it may only be late
        for value, offset in self._acknowledged_and_never_read():
            if offset > self.highest_read:
                yield f"value {value}, acknowledged at offset {offset}, beyond all that was read"

    def vanished(self) -> Iterator[str]:
        if self.has_final:
            for value in sorted(self.read - self.final):
                yield f"value {value}, once read at {sorted(self.offsets[value])}, is not in the final read"

    def phantoms(self) -> Iterator[str]:
        sent = {value for send in self.sends for value in send.values}
        for value in sorted(self.read - sent):
            yield f"value {value} at {sorted(self.offsets[value])} was never sent"

    def failed_reads(self) -> Iterator[str]:
        for send in self.sends:
            if send.outcome is Outcome.FAIL:
                for value in send.values:
                    if value in self.read:
                        yield f"value {value} was refused, and read at {sorted(self.offsets[value])}"

    def nonmonotonic_sends(self) -> Iterator[str]:
        last: dict[str, tuple[int, int]] = {}  # process -> its last value and where that is
        for send in self.sends:
            for value in send.values:
                if value not in self.offsets:
                    continue
                offset = min(self.offsets[value])
                before = last.get(send.process)
                if before is not None and offset < before[1]:
                    yield f"{send.process} sent {before[0]} (at {before[1]}) before {value} (at {offset})"
                last[send.process] = value, offset

    def poll_skips(self) -> Iterator[str]:
        for poll in self.polls:
            expected = poll.position
            for offset, _ in poll.records:
                if offset > expected and (missed := self._first_at_or_after(expected)) < offset:
                    yield f"{poll.process} asked for {expected} and was given {offset}, not {missed}"
                expected = offset + 1

    def nonmonotonic_polls(self) -> Iterator[str]:
        for poll in self.polls:
            expected = poll.position
            for offset, _ in poll.records:
                if offset < expected:
                    yield f"{poll.process} asked for {expected} and was given {offset}"
                expected = offset + 1

    def stale_keys(self) -> Iterator[str]:
        """Each name has one writer, who sent its values in order; the last may also be unanswered."""
        name_of = {
            value: name for send in self.sends for value, name in zip(send.values, send.names, strict=True)
        }
        last = {
            name_of[value]: value
            for poll in self.polls
            if poll.final
            for _, value in poll.records
            if value in name_of
        }
        acked: dict[bytes, int] = {}
        for send in self.sends:
            if send.outcome is Outcome.OK:
                acked |= zip(send.names, send.values, strict=True)
        for name, value in acked.items():
            if self.has_final and last.get(name, -1) < value:
                yield f"{name!r} is {last.get(name)}, though {value} was acknowledged"

    def _acknowledged_and_never_read(self) -> Iterator[tuple[int, int]]:
        for send in self.sends:
            if send.outcome is Outcome.OK:
                for value in send.values:
                    if value not in (self.final if self.has_final else self.read):
                        yield value, max(self.offsets.get(value, {0}))

    def _first_at_or_after(self, offset: int) -> int:
        return self.order[bisect_left(self.order, offset)]


def _groups(history: History) -> Iterator[Anomaly]:
    assigns, commits = history.of(Assign), history.of(Commit)
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
            at = op.records[-1][0] + 1 if op.records else op.position
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
