"""Verdicts over transactions: all of one, or nothing, and never what was aborted.

`checks.py` lists them. Who dies without having asked for a commit has aborted,
whoever does it for him.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from millstream.sim.history import NEVER, Anomaly, History, Outcome, Poll, Processed, Send, Transaction


def transaction_anomalies(history: History) -> Iterator[Anomaly]:
    sends = [send for send in history.of(Send) if send.transaction is not None]
    of_value = {value: send.transaction for send in sends for value in send.values if send.transaction}
    polls = [poll for poll in history.of(Poll) if poll.committed]
    yield from _read_too_much(polls, of_value)
    yield from _torn(history, sends)
    yield from _exactly_once(history)


def is_surely_aborted(transaction: Transaction) -> bool:
    return transaction.outcome is Outcome.FAIL or transaction.ending == NEVER


def _read_too_much(polls: list[Poll], of_value: dict[int, Transaction]) -> Iterator[Anomaly]:
    for poll in polls:
        for offset, value in poll.records:
            transaction = of_value.get(value)
            if transaction is None:
                continue
            if is_surely_aborted(transaction):
                yield Anomaly("aborted-read", poll.key, f"{poll.process} was given {value}, at {offset}")
            elif poll.ended < transaction.ending:
                yield Anomaly("early-read", poll.key, f"{poll.process} was given {value} before its commit")


def _torn(history: History, sends: list[Send]) -> Iterator[Anomaly]:
    """Of a transaction that left anything in the final read, all is there."""
    finals = [poll for poll in history.of(Poll) if poll.final and poll.committed]
    looked_at = {poll.key for poll in finals}
    found = {value for poll in finals for _, value in poll.records}
    parts: dict[int, list[Send]] = defaultdict(list)
    for send in sends:
        if send.key in looked_at and not send.names:  # compaction may have taken what has a name
            parts[id(send.transaction)].append(send)
    for some in parts.values():
        values = [value for send in some for value in send.values]
        there = [value for value in values if value in found]
        transaction = some[0].transaction
        assert transaction is not None
        if there and len(there) < len(values):
            missing = sorted(set(values) - set(there))
            yield Anomaly(
                "torn-transaction", transaction.transactional_id, f"{there} are there, {missing} are not"
            )
        elif not there and transaction.outcome is Outcome.OK:
            yield Anomaly("lost-transaction", transaction.transactional_id, f"none of {values} is there")


def _exactly_once(history: History) -> Iterator[Anomaly]:
    """What was read and processed in transactions is there once for each that was to be read."""
    for processed in history.of(Processed):
        inputs = {
            value
            for poll in history.of(Poll)
            if poll.final and poll.committed and poll.key[0] == processed.source
            for _, value in poll.records
        }
        counts = Counter(value for _, _, value in processed.records)
        for value, count in sorted(counts.items()):
            if count > 1:
                where = [(key, offset) for key, offset, each in processed.records if each == value]
                yield Anomaly("twice-processed", processed.source, f"{value} came out at {where}")
            if value not in inputs:
                yield Anomaly("aborted-read", processed.source, f"{value} was processed, and is no input")
        for value in sorted(inputs - counts.keys()):
            yield Anomaly("not-processed", processed.source, f"{value} never came out")
