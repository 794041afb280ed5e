"""The clients of a simulated broker: producers, consumer groups, and the reader who looks at the end."""

import asyncio
import itertools
from random import Random
from typing import Final, final

from millstream.client.cluster import Client
from millstream.sim.administrator import Administrator
from millstream.sim.clock import SimClock
from millstream.sim.fetcher import Fetcher
from millstream.sim.history import History, Key, Outcome, Processed
from millstream.sim.host import BROKER, PORT
from millstream.sim.link import Link
from millstream.sim.loop import SimLoop
from millstream.sim.member import Member
from millstream.sim.modern_member import ModernMember
from millstream.sim.plan import INVOICES, LEDGER, PAYMENTS, TOPIC, Plan
from millstream.sim.processor import Processor
from millstream.sim.producer import Habits, Producer
from millstream.sim.reader import EARLIEST, LATEST, Reader
from millstream.sim.transactor import Transactor
from millstream.sim.tuner import Tuner
from millstream.sim.watcher import Watcher

GROUP: Final = "billing"  # of the classic protocol
MODERN_GROUP: Final = "audit"  # of the newer protocol, or on the way from one to the other
PIPELINE: Final = "pipeline"  # from payments to invoices, in transactions
_READER: Final = "reader"
_ADMINISTRATOR: Final = "administrator"
_TUNER: Final = "tuner"
_WATCHER: Final = "watcher"
_LEDGER_KEY: Final[Key] = (LEDGER, 0)
_BOOKKEEPER: Final = Habits(pause_s=0.1, max_records=6, max_padding=40, names=12, deletes=0.15)
_PAYER: Final = Habits(pause_s=0.4, max_records=3, max_padding=40)  # outside any transaction
_PAYMENT_PARTITIONS: Final = 2
_PROCESSING_S: Final = 15.0  # for the pipeline to come to its end, once nothing new comes
_INVOICE_PARTITIONS: Final = 2
_TIMEOUT_S: Final = 3.0


@final
class Workload:
    """Everything outside the broker that keeps it busy, each client on a node of its own."""

    def __init__(self, loop: SimLoop, plan: Plan, history: History) -> None:
        self.producers: dict[str, Producer] = {}
        self.members: dict[str, Member | ModernMember] = {}
        self.keys: list[Key] = [(TOPIC, index) for index in range(plan.partitions)]
        self.transactors: dict[str, Transactor] = {}
        self._renamed: dict[int, int] = {}
        self.processors: dict[str, Processor] = {}
        self._payments: list[Key] = [(PAYMENTS, index) for index in range(_PAYMENT_PARTITIONS)]
        self._invoices: list[Key] = [(INVOICES, index) for index in range(_INVOICE_PARTITIONS)]
        self._habits = (*plan.producers, _BOOKKEEPER, _PAYER)
        self._finishing = False
        self._loop = loop
        self._plan = plan
        self._history = history
        self._clock = SimClock(loop)
        self._values = itertools.count(1)
        self._lives = itertools.count(1)
        self.administrator = Administrator(
            self._link(_ADMINISTRATOR), history, self._clock, Random(f"administrator {plan.seed}")
        )
        self.tuner = Tuner(self._link(_TUNER), history, Random(f"tuner {plan.seed}"), plan.tunable)
        self._reader = Reader(_READER, self._link(_READER), history, Random(f"reader {plan.seed}"))

    @property
    def names(self) -> list[str]:
        return [*self.producers, *self.members, *self.transactors, *self.processors, _ADMINISTRATOR, _TUNER]

    @property
    def consumers(self) -> list[str]:
        return [*self.members, *self.processors]

    async def begin(self) -> None:
        """Make the topic, then let everybody loose."""
        plan = self._plan
        await self._loop.spawn(_READER, self._create_topics())
        self._loop.spawn(_ADMINISTRATOR, self.administrator.run())
        if plan.tunes:
            self._loop.spawn(_TUNER, self.tuner.run())
        for index in range(len(self._habits)):
            self._start_producer(index)
        for index in range(plan.members):
            self._start_member(index)
        for index in range(plan.modern_members):
            self._start_modern_member(index)
        for index in range(plan.transactors):
            self._start_transactor(index)
        for index in range(plan.processors):
            self._start_processor(index)
        random = Random(f"{_WATCHER} {plan.seed}")
        watcher = Watcher(
            _WATCHER,
            self._link(_WATCHER),
            self._payments,
            self._history,
            random,
            committed=random.random() < 0.6,
        )
        self._loop.spawn(_WATCHER, watcher.run())

    def churn(self, random: Random) -> None:
        """One client crashes, or leaves as it should; its successor comes some time later."""
        name = random.choice([*self.producers, *self.members, *self.transactors, *self.processors])
        if self._loop.life(name) is None:
            return
        back = random.uniform(0.1, 3.0)
        if name in self.members and random.random() < 0.4:
            self._loop.note("leave", name)
            self.members[name].leave()
            back += 2.0
        elif name not in self.transactors or random.random() < 0.5:
            self._loop.crash(name)  # else it goes on, and another comes all the same
        starts = {
            "p": self._start_producer,
            "c": self._start_member,
            "m": self._start_modern_member,
            "t": self._start_transactor,
            "u": self._start_transactor,
            "x": self._start_processor,
        }
        self._loop.call_later(back, starts[name[0]], int(name[1:]))

    def finish(self) -> None:
        """Change nothing, send nothing new."""
        self._finishing = True
        self.administrator.finish()
        self.tuner.finish()
        for producer in self.producers.values():
            producer.finish()
        for transactor in self.transactors.values():
            transactor.finish()

    async def look(self, deadline: float) -> None:
        """See that by *deadline* everything is answered and consumed, and read it all once more."""
        waiting_for = "answers to producers"
        try:
            async with asyncio.timeout_at(deadline):
                await self._await_answers()
                waiting_for = "a full read"
                ends = await self._loop.spawn(_READER, self._read_all())
                for group in (GROUP, MODERN_GROUP):
                    waiting_for = f"{group} to commit all of it"
                    await self._loop.spawn(_READER, self._await_commits(group, ends))
                waiting_for = "the last transaction to end"
                await self._loop.spawn(_READER, self._await_stable())
                waiting_for = "all payments to be processed"
                await self._loop.spawn(_READER, self._read_payments())
                waiting_for = "a look at every topic"
                await self._loop.spawn(_ADMINISTRATOR, self.administrator.check_all())
                waiting_for = "a look at every config"
                await self._loop.spawn(_TUNER, self.tuner.check_all())
        except TimeoutError:
            self._history.complain("unavailable", BROKER, f"waited in vain for {waiting_for}")

    async def _create_topics(self) -> None:
        plan = self._plan
        await self._reader.create_topic(TOPIC, plan.partitions, plan.topic_settings)
        await self._reader.create_topic(LEDGER, 1, plan.ledger_settings)
        await self._reader.create_topic(PAYMENTS, _PAYMENT_PARTITIONS, plan.payment_settings)
        await self._reader.create_topic(INVOICES, _INVOICE_PARTITIONS, plan.payment_settings)

    async def _read_all(self) -> dict[Key, int]:
        starts = await self._reader.offsets(self.keys, EARLIEST)
        ends = await self._reader.offsets(self.keys, LATEST)
        for key in self.keys:
            if starts[key] != 0:
                self._history.complain("start-moved", key, f"the log begins at {starts[key]}")
            await self._reader.read_all(key, starts[key], ends[key])
        return ends

    async def _await_stable(self) -> None:
        """Until no transaction is open any more, after which everything is there for everybody to see."""
        keys = [*self._payments, *self._invoices, _LEDGER_KEY]
        decided: dict[Key, int] = {}
        while decided != await self._reader.offsets(keys, LATEST):
            await asyncio.sleep(0.25)
            decided = await self._reader.offsets(keys, LATEST, committed=True)

    async def _read_payments(self) -> None:
        """All of the ledger and the payments, and what the pipeline has made of them when it is done."""
        ends = await self._reader.offsets([*self._payments, _LEDGER_KEY], LATEST)
        paid: set[int] = set()
        for key in self._payments:
            paid |= set(await self._reader.read_all(key, 0, ends[key], committed=True))
        await self._reader.read_all(_LEDGER_KEY, 0, ends[_LEDGER_KEY], compacted=True, committed=True)
        processed = Processed(process=_READER, begun=self._history.tick(), source=PAYMENTS, records=[])
        positions = dict.fromkeys(self._invoices, 0)
        try:
            async with asyncio.timeout(_PROCESSING_S):
                while not paid <= {value for _, _, value in processed.records}:
                    await self._reader.read_on(positions, processed.records)
        except TimeoutError:
            pass  # what is missing is named by the checks
        self._history.begin(processed)
        self._history.end(processed, Outcome.OK)

    async def _await_answers(self) -> None:
        while any(p.unanswered for p in self.producers.values()):  # noqa: ASYNC110  # asking costs no time here
            await asyncio.sleep(0.1)

    async def _await_commits(self, group: str, ends: dict[Key, int]) -> None:
        while await self._reader.commits(group, self.keys) != ends:  # noqa: ASYNC110  # asking costs no time here
            await asyncio.sleep(0.25)

    def _start_producer(self, index: int) -> None:
        name, life = f"p{index}", self._new_life(f"p{index}")
        producer = self.producers[name] = Producer(
            life,
            self._link(name),
            self._keys_of(self._habits[index]),
            self._habits[index],
            self._history,
            lambda: next(self._values),
            self._clock,
            Random(f"{life} {self._plan.seed}"),
        )
        self._loop.spawn(name, producer.run())

    def _keys_of(self, habits: Habits) -> list[Key]:
        if habits is _BOOKKEEPER:
            return [_LEDGER_KEY]
        return self._payments if habits is _PAYER else self.keys

    def _start_member(self, index: int) -> None:
        name, life = f"c{index}", self._new_life(f"c{index}")
        instance = name if self._plan.static_members else None
        member = self.members[name] = Member(
            instance or life,  # a static member's successor takes over what it owned
            GROUP,
            self._link(name),
            self._fetcher(name, life),
            self.keys,
            self._history,
            Random(f"{life} {self._plan.seed}"),
            instance=instance,
        )
        self._loop.spawn(name, member.run())

    def _start_modern_member(self, index: int) -> None:
        """One of the newer protocol or, now and then, a classic one in the same group."""
        name, life = f"m{index}", self._new_life(f"m{index}")
        random = Random(f"{life} {self._plan.seed}")
        instance = name if self._plan.static_members else None
        member: Member | ModernMember
        if self._plan.mixed and random.random() < 0.4:
            member = Member(
                life,
                MODERN_GROUP,
                self._link(name),
                self._fetcher(name, life),
                self.keys,
                self._history,
                random,
                instance=instance,
                mixed=True,
            )
        else:
            member = ModernMember(
                life,
                MODERN_GROUP,
                self._link(name),
                self._fetcher(name, life),
                self.keys,
                self._history,
                random,
                instance=instance,
                by_pattern=random.random() < 0.4,
            )
        self.members[name] = member
        self._loop.spawn(name, member.run())

    def _fetcher(self, name: str, life: str) -> Fetcher:
        random = Random(f"fetcher {life} {self._plan.seed}")
        return Fetcher(
            self._link(name), random, sessions=random.random() < 0.5, committed=random.random() < 0.5
        )

    def _start_transactor(self, index: int) -> None:
        """A new incarnation, on another machine than the last, which may not know yet that it is over."""
        name = f"t{index}" if self._loop.life(f"t{index}") is None else f"u{index}"
        for old in (f"t{index}", f"u{index}"):
            if old in self.transactors:
                self.transactors[old].superseded = True
        life = self._new_life(name)
        random = Random(f"{life} {self._plan.seed}")
        if random.random() < 0.4:
            # Nobody comes back under the old name: only time ends what was begun under it.
            self._renamed[index] = self._renamed.get(index, 0) + 1
        transactor = self.transactors[name] = Transactor(
            life,
            self._client(name, life),
            f"transactor-{index}-{self._renamed.get(index, 0)}",
            [*self._payments, _LEDGER_KEY],
            [_LEDGER_KEY],
            self._history,
            lambda: next(self._values),
            self._clock,
            random,
            version=random.choice((1, 2)),
        )
        if self._finishing:
            transactor.finish()
        self._loop.spawn(name, transactor.run())

    def _start_processor(self, index: int) -> None:
        name, life = f"x{index}", self._new_life(f"x{index}")
        random = Random(f"{life} {self._plan.seed}")
        processor = self.processors[name] = Processor(
            life,
            self._client(name, life),
            PIPELINE,
            f"processor-{index}",
            PAYMENTS,
            INVOICES,
            _INVOICE_PARTITIONS,
            self._history,
            self._clock,
            random,
            version=random.choice((1, 2)),
        )
        self._loop.spawn(name, processor.run())

    def _client(self, name: str, life: str) -> Client:
        random = Random(f"client {life} {self._plan.seed}")
        return Client(f"{BROKER}:{PORT}", client_id=name, timeout=_TIMEOUT_S, patience=6.0, random=random)

    def _new_life(self, name: str) -> str:
        if self._loop.life(name) is not None:
            self._loop.crash(name)
        return f"{name}.{next(self._lives)}"

    def _link(self, name: str) -> Link:
        return Link(BROKER, PORT, name, timeout=_TIMEOUT_S)
