"""Whatever subscribers do, and whenever the power goes: what queues promise."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millstream.queues.changes import QueueKey, decode_key, decode_value, encode_key, encode_value
from millstream.queues.queue import Queue, Saved

LIMIT = 4
MAX_HELD = 6


class QueueWalk(RuleBasedStateMachine):
    """A queue beside a model of it: who is owed what, as plain sets.

    A shared queue is modelled as one account that all subscribers draw on; of
    another each subscriber has an account of its own, and one is left to the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log_end = 0
        self.written = Saved(0)

    @initialize(shared=st.booleans())
    def begin(self, shared: bool) -> None:
        self.shared = shared
        self.last = 0
        self.done: set[int] = set()  # acknowledged or buried by all who were owed it
        self.done_written: set[int] = set()
        self.seen: set[int] = set()
        self.restart()

    def restart(self) -> None:
        self.queue = Queue(
            self.written, shared=self.shared, limit=LIMIT if self.shared else 0, max_held=MAX_HELD
        )
        self.owed: dict[int, set[int]] = {}
        self.left = set(self.written.held)
        self.in_flight: dict[int, set[int]] = {}
        self.done = set(self.done_written)

    def union(self) -> set[int]:
        return self.left.union(*self.owed.values())

    def someone(self, pick: int) -> int:
        return sorted(self.in_flight)[pick % len(self.in_flight)]

    def account(self, who: int) -> set[int]:
        return self.left if self.shared else self.owed[who]

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.log_end += count

    @rule(timeout_ms=st.sampled_from([0, 10, 50]))
    @precondition(lambda self: len(self.in_flight) < 3)
    def join(self, timeout_ms: int) -> None:
        self.last += 1
        self.queue.joined(self.last, timeout_ms)
        self.in_flight[self.last] = set()
        if not self.shared:
            self.owed[self.last], self.left = self.left, set()

    @rule(pick=st.integers(0, 9))
    @precondition(lambda self: self.in_flight)
    def leave(self, pick: int) -> None:
        who = self.someone(pick)
        self.queue.gone(who, self.now_ms)
        del self.in_flight[who]
        if not self.shared:
            self.left |= self.owed.pop(who)

    @rule(pick=st.integers(0, 9), most=st.integers(1, 8))
    @precondition(lambda self: self.in_flight)
    def pump(self, pick: int, most: int) -> None:
        who = self.someone(pick)
        again = [offset for offset, _ in self.queue.take(who, most, self.now_ms)]
        assert not self.done.intersection(again), "acknowledged, and delivered again"
        assert self.account(who).issuperset(again)
        self.in_flight[who] |= set(again)

        first = self.queue.position(who)
        until = min(first + min(self.queue.room(who), most - len(again)), self.log_end)
        self.queue.given(who, range(first, until), max(first, until), self.now_ms)
        new = set(range(first, until))
        if self.shared:
            assert not self.done & new, "acknowledged, and delivered again"
        self.seen |= new
        self.account(who).update(new)
        self.in_flight[who] |= new
        if not self.shared:
            self.done -= new  # one who lags is owed it though all others are done

    @rule(pick=st.integers(0, 9), offset=st.integers(0, 30))
    @precondition(lambda self: self.in_flight)
    def ack(self, pick: int, offset: int) -> None:
        who = self.someone(pick)
        held = sorted(self.in_flight[who])
        if held and offset % 3:
            offset = held[offset % len(held)]
        known = self.queue.acked(who, offset)
        assert known == (offset in self.in_flight[who])
        if known:
            self.in_flight[who].remove(offset)
            self.account(who).remove(offset)
            if offset not in self.union():
                self.done.add(offset)

    @rule(pick=st.integers(0, 9), offset=st.integers(0, 30), delay_ms=st.sampled_from([0, 20]))
    @precondition(lambda self: self.in_flight)
    def nack(self, pick: int, offset: int, delay_ms: int) -> None:
        who = self.someone(pick)
        known = self.queue.nacked(who, offset, delay_ms, self.now_ms)
        assert known == (offset in self.in_flight[who])
        self.in_flight[who].discard(offset)

    @rule(ms=st.integers(1, 40))
    def tick(self, ms: int) -> None:
        self.now_ms += ms
        due = self.queue.next_ms() <= self.now_ms
        assert self.queue.tick(self.now_ms) == due
        assert self.queue.next_ms() > self.now_ms
        for ledger in self.queue._distinct():
            for who, mine in self.in_flight.items():
                if self.shared or ledger is self.queue._ledgers[who]:
                    mine -= {o for o, held in ledger.held.items() if held.holder != who}

    @rule()
    def bury(self) -> None:
        for offset in self.queue.dead:
            assert offset in self.left
            self.queue.buried(offset)
            self.left.remove(offset)
            self.done.add(offset)

    @rule()
    def write(self) -> None:
        self.written = decode_value(encode_value(self.queue.saved()))
        self.done_written = set(self.done)

    @rule()
    def crash(self) -> None:
        self.restart()

    @invariant()
    def owes_what_the_model_owes(self) -> None:
        assert set(self.queue.saved().held) == self.union()
        if self.shared:
            assert len(self.union()) <= MAX_HELD

    def teardown(self) -> None:
        """All have gone, the power too: whoever comes then gets everything that is not done with."""
        self.restart()
        self.bury()
        expected = set(range(self.log_end)) - self.done
        self.queue.joined(99)
        got: set[int] = set()
        while True:
            again = {offset for offset, _ in self.queue.take(99, 100, self.now_ms)}
            first = self.queue.position(99)
            until = min(first + self.queue.room(99), self.log_end)
            self.queue.given(99, range(first, until), until, self.now_ms)
            new = set(range(first, until)) | again
            if not new:
                break
            for offset in new:
                assert self.queue.acked(99, offset)
            got |= new
        assert got == expected
        assert self.queue.saved() == Saved(self.log_end)


TestQueueWalk = QueueWalk.TestCase
TestQueueWalk.settings = settings(max_examples=60, stateful_step_count=40)


def test_a_written_queue_reads_back() -> None:
    saved = Saved(1 << 40, {3: 1, (1 << 40) - 1: 900_000})
    assert decode_value(encode_value(saved)) == Saved(1 << 40, {3: 1, (1 << 40) - 1: 0xFFFF})
    for group in (None, "", "grüße"):
        key = QueueKey(bytes(range(16)), 7, group)
        assert decode_key(encode_key(key)) == key


def test_a_log_that_lost_its_end_owes_nothing_beyond_it() -> None:
    saved = Saved(10, {3: 1, 7: 2})
    assert saved.cut(10) is saved
    assert saved.cut(7) == Saved(7, {3: 1})
