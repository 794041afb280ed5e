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
    two-owners            two members own a partition in one generation, or at the same time
    generation-back       a member is given an older generation than it had
    commit-beyond         committed more than was delivered in the member's generation, or time
    zombie-commit         a commit accepted after a later generation, or another's time, had begun
    lost-commit           the group forgot an acknowledged commit
    stale-key             in a compacted log, the last of a key is older than what was acknowledged
    aborted-read          a reader of what is committed, or who processed it, met what was not
    early-read            a reader of what is committed met it before its commit was asked for
    torn-transaction      of a transaction some is there and some is not
    lost-transaction      committed, and none of it is there
    twice-processed       read, processed and written in transactions, and there twice
    not-processed         or not at all

Clients complain of what they meet themselves, and that counts as much.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import final

from millstream.sim.group_checks import group_anomalies
from millstream.sim.history import NEVER, Anomaly, History, Key, Outcome, Poll, Send
from millstream.sim.transaction_checks import transaction_anomalies


def check(history: History) -> list[Anomaly]:
    """Every promise that *history* shows to be broken."""
    sends, polls = history.of(Send), history.of(Poll)
    found = list(history.complaints)
    for key in sorted({op.key for op in sends} | {op.key for op in polls}):
        log = PieceOfLog(key, [s for s in sends if s.key == key], [p for p in polls if p.key == key])
        found += log.anomalies_if_compacted() if any(send.names for send in log.sends) else log.anomalies()
    return [*found, *group_anomalies(history), *transaction_anomalies(history)]


@final
class PieceOfLog:
    """One partition as its clients saw it."""

    def __init__(self, key: Key, sends: list[Send], polls: list[Poll]) -> None:
        self.key = key
        self.sends = sends
        self.polls = polls
        self.transactional = any(send.transaction for send in sends)
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
        passing = {value for send in sends if send.transaction for value in send.values} - self.final
        self.committed_order = [offset for offset in self.order if not self.values[offset] & passing]
        lasting = self.final if self.has_final else self.read
        self.highest_read = max((min(self.offsets[value]) for value in lasting), default=-1)

    def _saw(self, offset: int, value: int) -> None:
        self.values[offset].add(value)
        self.offsets[value].add(offset)

    def anomalies(self) -> Iterator[Anomaly]:
        yield from self.anomalies_of_any_log()
        if not self.transactional:  # else there are markers between
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
            for value in sorted(self._lasting() - self.final):
                yield f"value {value}, once read at {sorted(self.offsets[value])}, is not in the final read"

    def _lasting(self) -> set[int]:
        """What was read by those who see only what stays."""
        passing = {value for send in self.sends if send.transaction for value in send.values}
        return {
            value
            for poll in self.polls
            for _, value in poll.records
            if poll.committed or value not in passing
        }

    def phantoms(self) -> Iterator[str]:
        sent = {value for send in self.sends for value in send.values}
        for value in sorted(self.read - sent):
            yield f"value {value} at {sorted(self.offsets[value])} was never sent"

    def failed_reads(self) -> Iterator[str]:
        for send in self.sends:
            if send.outcome is Outcome.FAIL and send.transaction is None:
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
            order = self.committed_order if poll.committed else self.order
            for offset, _ in poll.records:
                if offset > expected and (missed := _first(order, expected)) < offset:
                    yield f"{poll.process} asked for {expected} and was given {offset}, not {missed}"
                expected = offset + 1
            if poll.reached > expected and (missed := _first(order, expected)) < poll.reached:
                yield f"{poll.process} asked for {expected} and was sent on to {poll.reached}, not {missed}"

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
            if send.fate is Outcome.OK:
                acked |= zip(send.names, send.values, strict=True)
        gone = {value for send in self.sends for value in send.gone}
        for name, value in acked.items():
            if not self.has_final or (value in gone and name not in last):
                continue  # of what was deleted the tombstone may have gone too
            if last.get(name, -1) < value:
                yield f"{name!r} is {last.get(name)}, though {value} was acknowledged"

    def _acknowledged_and_never_read(self) -> Iterator[tuple[int, int]]:
        for send in self.sends:
            if send.fate is Outcome.OK:
                for value in send.values:
                    if value not in (self.final if self.has_final else self.read):
                        yield value, max(self.offsets.get(value, {0}))


def _first(offsets: list[int], offset: int) -> int:
    """The first of *offsets* that is not before *offset*."""
    at = bisect_left(offsets, offset)
    return offsets[at] if at < len(offsets) else NEVER
