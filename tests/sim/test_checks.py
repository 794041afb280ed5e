"""Each verdict is shown a history that deserves it, and one that just does not."""

from collections.abc import Callable

import pytest

from millstream.sim.checks import check
from millstream.sim.history import (
    Assign,
    Commit,
    History,
    Hold,
    Key,
    Outcome,
    Poll,
    Processed,
    ReadCommit,
    Send,
    Transaction,
)

X: Key = ("x", 0)
Y: Key = ("y", 0)
A, B = b"a", b"b"


class Story:
    """A history in short words; values and offsets as given."""

    def __init__(self) -> None:
        self.history = History()
        self.transaction: Transaction | None = None

    def begins(self) -> "Story":
        """What is sent from now on is one transaction."""
        self.transaction = self.history.begin(
            Transaction(process="t", begun=self.history.tick(), transactional_id="id")
        )
        return self

    def asks(self) -> "Story":
        """It is to be committed."""
        assert self.transaction is not None
        self.transaction.ending = self.history.tick()
        return self

    def commits(self) -> "Story":
        self.asks()
        return self._ends(Outcome.OK)

    def aborts(self) -> "Story":
        return self._ends(Outcome.FAIL)

    def dies(self) -> "Story":
        self.transaction = None
        return self

    def _ends(self, outcome: Outcome) -> "Story":
        assert self.transaction is not None
        self.history.end(self.transaction, outcome)
        self.transaction = None
        return self

    def read(self, *records: tuple[int, int], key: Key = X, final: bool = False) -> "Story":
        """By one who wants only what is committed."""
        return self.polled(*records, position=0, by="r", key=key, final=final, committed=True)

    def processed(self, *values: int) -> "Story":
        records = [(Y, offset, value) for offset, value in enumerate(values)]
        self.history.begin(Processed(process="x", begun=self.history.tick(), source=X[0], records=records))
        return self

    def sent(
        self,
        *values: int,
        at: int | None = None,
        by: str = "p",
        key: Key = X,
        outcome: Outcome = Outcome.OK,
        names: tuple[bytes, ...] = (),
        gone: tuple[int, ...] = (),
    ) -> "Story":
        send = self.history.begin(
            Send(
                process=by,
                begun=self.history.tick(),
                key=key,
                values=values,
                offset=at,
                names=names,
                gone=frozenset(gone),
                transaction=self.transaction,
            )
        )
        self.history.end(send, outcome)
        return self

    def polled(
        self,
        *records: tuple[int, int],
        position: int | None = None,
        by: str = "c",
        generation: int | None = None,
        final: bool = False,
        key: Key = X,
        reached: int = -1,
        committed: bool = False,
    ) -> "Story":
        start = position if position is not None else records[0][0] if records else 0
        poll = self.history.begin(
            Poll(
                process=by,
                begun=self.history.tick(),
                key=key,
                position=start,
                records=list(records),
                generation=generation,
                final=final,
                reached=reached,
                committed=committed,
            )
        )
        self.history.end(poll, Outcome.OK)
        return self

    def finally_read(self, *records: tuple[int, int]) -> "Story":
        return self.polled(*records, position=0, by="final", final=True)

    def assigned(self, member: str, generation: int, *keys: Key) -> "Story":
        assign = self.history.begin(
            Assign(process=member, begun=self.history.tick(), group="g", generation=generation, keys=keys)
        )
        self.history.end(assign, Outcome.OK)
        return self

    def ask(self, member: str) -> Hold:
        """A member asks for its share, and has no answer yet."""
        return self.history.begin(Hold(process=member, begun=self.history.tick(), group="g", key=X))

    def given(self, member: str, hold: Hold | None = None) -> "Story":
        self.history.end(hold or self.ask(member), Outcome.OK)
        return self

    def confirmed(self, member: str) -> "Story":
        """The member's last hold is vouched for."""
        [each for each in self.history.of(Hold) if each.process == member][-1].confirmed = self.history.tick()
        return self

    def begin_commit(self, member: str, generation: int, offset: int) -> Commit:
        return self.history.begin(
            Commit(
                process=member,
                begun=self.history.tick(),
                group="g",
                generation=generation,
                key=X,
                offset=offset,
            )
        )

    def committed(self, member: str, generation: int, offset: int, outcome: Outcome = Outcome.OK) -> "Story":
        commit = self.begin_commit(member, generation, offset)
        if outcome is not Outcome.INFO:
            self.history.end(commit, outcome)
        return self

    def told(self, offset: int) -> "Story":
        read = self.history.begin(
            ReadCommit(process="m", begun=self.history.tick(), group="g", key=X, offset=offset)
        )
        self.history.end(read, Outcome.OK)
        return self

    def verdicts(self) -> set[str]:
        return {anomaly.kind for anomaly in check(self.history)}


S = Story

BROKEN: list[tuple[str, Callable[[], Story]]] = [
    ("inconsistent-offsets", lambda: S().sent(1, at=0).sent(2, at=0).polled((0, 1)).polled((0, 2))),
    ("inconsistent-offsets", lambda: S().sent(1, 2, at=0).polled((0, 1)).polled((1, 9))),
    ("offset-gap", lambda: S().sent(1, at=0).sent(2, at=2).finally_read((0, 1), (2, 2))),
    ("duplicate", lambda: S().sent(1, at=0).polled((0, 1), (1, 1))),
    ("duplicate", lambda: S().sent(1, at=0).polled((3, 1))),
    ("lost-write", lambda: S().sent(1, 2, 3, at=0).polled((0, 1)).polled((2, 3))),
    ("lost-write", lambda: S().sent(1, 2, 3, at=0).finally_read((0, 1), (2, 3))),
    ("unseen", lambda: S().sent(1, 2, at=0).finally_read((0, 1))),
    ("unseen", lambda: S().sent(1, at=0).finally_read()),
    ("unseen", lambda: S().sent(1).finally_read()),
    ("vanished", lambda: S().sent(1, outcome=Outcome.INFO).polled((0, 1)).finally_read()),
    ("phantom", lambda: S().polled((0, 1))),
    ("failed-read", lambda: S().sent(1, outcome=Outcome.FAIL).polled((0, 1))),
    ("nonmonotonic-send", lambda: S().sent(1, at=1).sent(2, at=0).polled((0, 2), (1, 1))),
    ("nonmonotonic-send", lambda: S().sent(1, 2, outcome=Outcome.INFO).polled((0, 2), (1, 1))),
    ("poll-skip", lambda: S().sent(1, 2, 3, at=0).polled((0, 1), (2, 3)).polled((1, 2))),
    ("poll-skip", lambda: S().sent(1, 2, at=0).polled((1, 2), position=0).polled((0, 1))),
    ("nonmonotonic-poll", lambda: S().sent(1, 2, at=0).polled((1, 2), (0, 1))),
    ("nonmonotonic-poll", lambda: S().sent(1, 2, at=0).polled((0, 1), (1, 2), position=1)),
    ("two-owners", lambda: S().assigned("m", 1, X).assigned("n", 1, Y, X)),
    ("two-owners", lambda: S().given("m").given("n").confirmed("m")),
    ("zombie-commit", lambda: S().given("m").given("n").committed("m", 1, 0)),
    ("poll-skip", lambda: S().sent(1, 2, 3, at=0).polled((0, 1), reached=3)),
    ("generation-back", lambda: S().assigned("m", 2, X).assigned("m", 1, X)),
    ("commit-beyond", lambda: S().sent(1, at=0).polled((0, 1), by="m", generation=1).committed("m", 1, 2)),
    ("commit-beyond", lambda: S().sent(1, at=0).polled((0, 1), by="m", generation=1).committed("m", 2, 1)),
    ("zombie-commit", lambda: S().assigned("m", 1, X).assigned("n", 2, X).committed("m", 1, 0)),
    ("lost-commit", lambda: S().committed("m", 1, 5).committed("m", 1, 7).told(5)),
    ("lost-commit", lambda: S().committed("m", 1, 5).told(-1)),
    ("lost-commit", lambda: S().committed("m", 1, 5, Outcome.FAIL).told(5)),
    ("aborted-read", lambda: S().begins().sent(1, at=0).aborts().read((0, 1))),
    ("aborted-read", lambda: S().begins().sent(1, at=0).dies().read((0, 1))),
    ("aborted-read", lambda: S().sent(1, at=0).read((0, 1), final=True).processed(1, 2)),
    ("early-read", lambda: S().begins().sent(1, at=0).read((0, 1)).commits()),
    (
        "torn-transaction",
        lambda: (
            S()
            .begins()
            .sent(1, at=0)
            .sent(2, at=0, key=Y)
            .commits()
            .read((0, 1), final=True)
            .read(key=Y, final=True)
        ),
    ),
    ("torn-transaction", lambda: S().begins().sent(1, 2, at=0).asks().dies().read((0, 1), final=True)),
    ("lost-transaction", lambda: S().begins().sent(1, at=0).commits().read(final=True)),
    ("unseen", lambda: S().begins().sent(1, at=0).commits().read(final=True)),
    ("vanished", lambda: S().begins().sent(1, at=0).asks().dies().read((0, 1)).read(final=True)),
    (
        "poll-skip",
        lambda: S().begins().sent(1, 2, at=0).commits().read((1, 2)).read((0, 1), (1, 2), final=True),
    ),
    ("twice-processed", lambda: S().sent(1, at=0).read((0, 1), final=True).processed(1, 1)),
    ("not-processed", lambda: S().sent(1, at=0).read((0, 1), final=True).processed()),
    ("stale-key", lambda: S().begins().sent(1, at=0, names=(A,)).commits().read(final=True)),
    ("stale-key", lambda: S().sent(1, 2, at=0, names=(A, A)).finally_read((0, 1))),
    ("stale-key", lambda: S().sent(1, 2, at=0, names=(A, B)).finally_read((0, 1))),
    ("stale-key", lambda: S().sent(1, 2, at=0, names=(A, A), gone=(2,)).finally_read((0, 1))),
]

SOUND: list[Callable[[], Story]] = [
    lambda: S(),
    lambda: S().sent(1, at=0).sent(2, at=1).polled((0, 1), (1, 2)).finally_read((0, 1), (1, 2)),
    lambda: S().sent(1, outcome=Outcome.INFO).sent(2, at=0).finally_read((0, 2)),
    lambda: S().sent(1, outcome=Outcome.INFO).sent(2, at=1).finally_read((0, 1), (1, 2)),
    lambda: S().sent(1, outcome=Outcome.FAIL).sent(2, at=0).finally_read((0, 2)),
    lambda: S().sent(1, at=1, by="p").sent(2, at=0, by="q").finally_read((0, 2), (1, 1)),
    lambda: S().sent(1, at=0).sent(2, at=0, key=Y).finally_read((0, 1)).polled((0, 2), key=Y),
    lambda: S().sent(1, 2, at=0).polled((0, 1)).polled((1, 2)).polled((0, 1), (1, 2)),
    lambda: S().sent(1, at=0).polled((0, 1)).polled(position=1),
    lambda: S().sent(1, 2, at=0).polled((0, 1)),
    lambda: S().assigned("m", 1, X).assigned("n", 1, Y).assigned("m", 2, Y).assigned("n", 2, X),
    lambda: (
        S()
        .sent(1, at=0)
        .assigned("m", 1, X)
        .polled((0, 1), by="m", generation=1)
        .committed("m", 1, 1)
        .told(1)
    ),
    lambda: S().polled(position=4, by="m", generation=3).committed("m", 3, 4).told(4),
    lambda: S().assigned("m", 1, X).assigned("n", 2, X).committed("m", 1, 0, Outcome.FAIL).told(-1),
    lambda: S().begins().sent(1, at=0).commits().read((0, 1)).read((0, 1), final=True),
    lambda: S().begins().sent(1, 2, at=0).aborts().sent(3, at=3).read((3, 3)).read((3, 3), final=True),
    lambda: S().begins().sent(1, at=0).aborts().polled((0, 1)).read(final=True),
    lambda: S().begins().sent(1, at=0).dies().read(final=True),
    lambda: S().begins().sent(1, at=0).asks().dies().read(final=True),
    lambda: S().begins().sent(1, at=0).asks().dies().read((0, 1), final=True),
    lambda: S().sent(1, 2, at=0).read((0, 1), (1, 2), final=True).processed(2, 1),
    lambda: (
        S().begins().sent(1, at=0, names=(A,)).aborts().sent(2, at=2, names=(A,)).read((2, 2), final=True)
    ),
    lambda: S().given("m").confirmed("m").given("n").confirmed("n"),
    lambda: S().given("m").committed("m", 1, -1).given("n"),
    lambda: S().sent(1, 2, at=0, names=(A, A), gone=(2,)).finally_read(),
    lambda: S().sent(1, 2, at=0, names=(A, A), gone=(2,)).finally_read((1, 2)),
    lambda: S().sent(1, at=0).polled((0, 1), reached=3),
    lambda: S().sent(1, 2, 3, at=0, names=(A, B, A)).finally_read((1, 2), (2, 3)),
    lambda: S().sent(1, at=0, names=(A,)).sent(2, outcome=Outcome.INFO, names=(A,)).finally_read((1, 2)),
]


@pytest.mark.parametrize(("verdict", "story"), BROKEN)
def test_a_broken_promise_is_found(verdict: str, story: Callable[[], Story]) -> None:
    assert verdict in story().verdicts()


@pytest.mark.parametrize("story", SOUND)
def test_a_kept_promise_is_not_accused(story: Callable[[], Story]) -> None:
    assert story().verdicts() == set()


def test_every_verdict_has_its_story() -> None:
    import millstream.sim.checks as checks

    assert checks.__doc__ is not None
    listed = {line.split()[0] for line in checks.__doc__.splitlines() if line.startswith("    ")}
    assert listed == {verdict for verdict, _ in BROKEN}


def test_a_commit_of_unknown_fate_may_be_seen_or_not() -> None:
    for seen in (1, 2):
        story = Story().sent(1, 2, at=0).polled((0, 1), (1, 2), by="m", generation=1)
        story.committed("m", 1, 1).committed("m", 1, 2, Outcome.INFO).told(seen)
        assert story.verdicts() == set()


def test_a_commit_under_way_during_the_next_generation_is_no_zombie() -> None:
    story = Story().polled(position=0, by="m", generation=1)
    commit = story.begin_commit("m", 1, 0)
    story.assigned("n", 2, X)
    story.history.end(commit, Outcome.OK)
    assert story.verdicts() == set()


def test_a_long_history_is_checked_quickly() -> None:
    """Twenty thousand records and their polls; quadratic checks would take minutes."""
    story = Story()
    for i in range(20_000):
        story.sent(i, at=i)
    for start in range(0, 20_000, 50):
        story.polled(*((i, i) for i in range(start, start + 50)))
    story.finally_read(*((i, i) for i in range(20_000)))
    assert story.verdicts() == set()


def test_one_whose_answer_was_long_on_the_way_accuses_nobody() -> None:
    """It had lost the partition before it heard that it had it, and the next owner was rightly confirmed."""
    story = Story()
    late = story.ask("n")
    story.given("m").given("n", late).confirmed("m")
    assert story.verdicts() == set()
