"""Conversations with one transactional id, kept as text.

    begin [as=ID/EPOCH]                   a producer begins, and may say who it was
    join TOPIC:PARTITION … by=ID/EPOCH    partitions join; new=yes for clients of the newer generation
    commit | abort by=ID/EPOCH            the transaction ends; new=yes likewise
    expire                                its time is over
    complete                              every marker is written
    restart                               all that is known is what was written

Each step is answered by the refusal, or by `ok` and who the producer is; the
last line is what the id has become. Producer ids are given out from 100 on.
"""

from pathlib import Path

from tests.support.transcript import replay

from millstream.errors import Refused
from millstream.transactions.changes import decode, encode
from millstream.transactions.transaction import (
    IMPLICIT,
    NO_PRODUCER,
    Identity,
    Place,
    Transaction,
)

_TIMEOUT_MS = 60_000


class Conversation:
    """One transactional id, talked to in words."""

    def __init__(self) -> None:
        self._transaction: Transaction | None = None
        self._next_id = 100
        self._now_ms = 1_000

    def say(self, line: str) -> str:
        word, *rest = line.split()
        options = dict(each.split("=") for each in rest if "=" in each)
        words = [each for each in rest if "=" not in each]
        self._now_ms += 1
        try:
            answer = self._step(word, words, options)
        except Refused as refusal:
            answer = f"{refusal.code.name}: {refusal.detail}"
        return f"{answer}\n{_shown(self._transaction)}"

    def _step(self, word: str, words: list[str], options: dict[str, str]) -> str:
        known = self._transaction
        version = IMPLICIT if options.get("new") else 0
        if word == "begin":
            return self._begin(_identity(options["as"]) if "as" in options else None)
        assert known is not None, "begin first"
        match word:
            case "epoch":
                known = Transaction(
                    producer_id=known.producer_id,
                    epoch=int(words[0]),
                    timeout_ms=_TIMEOUT_MS,
                    updated_ms=self._now_ms,
                )
            case "join":
                places = {Place(topic, int(index)) for topic, index in (each.split(":") for each in words)}
                known = known.joined(_identity(options["by"]), places, version, self._now_ms)
            case "commit" | "abort":
                by, commit = _identity(options["by"]), word == "commit"
                known = known.ended(by, commit, version, self._new_id(known), self._now_ms)
            case "expire":
                known = known.aborted(self._new_id(known), self._now_ms)
            case "complete":
                known = known.completed(self._now_ms)
            case "restart":
                found = decode(*encode("t", known))
                assert found is not None
                assert found[1] is not None
                known = found[1]
            case "has":
                (topic, index) = words[0].split(":")
                return str(known.has(_identity(options["by"]), Place(topic, int(index))))
            case _:
                raise AssertionError(word)
        self._transaction = known
        return f"ok {known.identity.producer_id}/{known.identity.epoch}"

    def _begin(self, expected: Identity | None) -> str:
        known = self._transaction
        if known is None:
            known = Transaction(
                producer_id=self._take_id(), epoch=0, timeout_ms=_TIMEOUT_MS, updated_ms=self._now_ms
            )
        elif known.must_abort_first(expected):
            self._transaction = known.aborted(self._new_id(known), self._now_ms)
            return "must abort first"
        else:
            known = known.initialized(expected, _TIMEOUT_MS, self._new_id(known), self._now_ms)
        self._transaction = known
        return f"ok {known.identity.producer_id}/{known.identity.epoch}"

    def _new_id(self, known: Transaction) -> int:
        return self._take_id() if known.is_exhausted else NO_PRODUCER

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1


def run(path: Path) -> None:
    replay(path, Conversation().say)


def _identity(text: str) -> Identity:
    id, epoch = text.split("/")
    return Identity(int(id), int(epoch))


def _shown(known: Transaction | None) -> str:
    if known is None:
        return "-"
    places = " ".join(f"{place.topic}:{place.partition}" for place in sorted(known.places))
    following = f" next {known.next_id}" if known.next_id != NO_PRODUCER else ""
    return f"{known.state.title} {known.producer_id}/{known.epoch}{following} [{places}]"
