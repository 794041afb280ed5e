"""The clients of a simulated broker: producers, a consumer group, and the reader who looks at the end."""

import asyncio
import itertools
from random import Random
from typing import Final, final

from millstream.sim.administrator import Administrator
from millstream.sim.clock import SimClock
from millstream.sim.history import History, Key
from millstream.sim.host import BROKER, PORT
from millstream.sim.link import Link
from millstream.sim.loop import SimLoop
from millstream.sim.member import Member
from millstream.sim.plan import Plan
from millstream.sim.producer import Habits, Producer
from millstream.sim.reader import EARLIEST, LATEST, Reader

TOPIC: Final = "orders"
LEDGER: Final = "ledger"  # compacted
GROUP: Final = "billing"
_READER: Final = "reader"
_ADMINISTRATOR: Final = "administrator"
_LEDGER_KEY: Final[Key] = (LEDGER, 0)
_BOOKKEEPER: Final = Habits(pause_s=0.1, max_records=6, max_padding=40, names=12)
_TIMEOUT_S: Final = 3.0


@final
class Workload:
    """Everything outside the broker that keeps it busy, each client on a node of its own."""

    def __init__(self, loop: SimLoop, plan: Plan, history: History) -> None:
        self.producers: dict[str, Producer] = {}
        self.members: dict[str, Member] = {}
        self.keys: list[Key] = [(TOPIC, index) for index in range(plan.partitions)]
        self._habits = (*plan.producers, _BOOKKEEPER)
        self._loop = loop
        self._plan = plan
        self._history = history
        self._clock = SimClock(loop)
        self._values = itertools.count(1)
        self._lives = itertools.count(1)
        self.administrator = Administrator(
            self._link(_ADMINISTRATOR), history, self._clock, Random(f"administrator {plan.seed}")
        )
        self._reader = Reader(_READER, self._link(_READER), history, Random(f"reader {plan.seed}"))

    @property
    def names(self) -> list[str]:
        return [*self.producers, *self.members, _ADMINISTRATOR]

    async def begin(self) -> None:
        """Make the topic, then let everybody loose."""
        plan = self._plan
        await self._loop.spawn(_READER, self._create_topics())
        self._loop.spawn(_ADMINISTRATOR, self.administrator.run())
        for index in range(len(self._habits)):
            self._start_producer(index)
        for index in range(plan.members):
            self._start_member(index)

    def churn(self, random: Random) -> None:
        """One client crashes, or leaves as it should; its successor comes some time later."""
        name = random.choice([*self.producers, *self.members])
        if self._loop.life(name) is None:
            return
        back = random.uniform(0.1, 3.0)
        if name in self.members and random.random() < 0.4:
            self._loop.note("leave", name)
            self.members[name].leave()
            back += 2.0
        else:
            self._loop.crash(name)
        start = self._start_member if name in self.members else self._start_producer
        self._loop.call_later(back, start, int(name[1:]))

    def finish(self) -> None:
        """Change nothing, send nothing new."""
        self.administrator.finish()
        for producer in self.producers.values():
            producer.finish()

    async def look(self, deadline: float) -> None:
        """See that by *deadline* everything is answered and consumed, and read it all once more."""
        waiting_for = "answers to producers"
        try:
            async with asyncio.timeout_at(deadline):
                await self._await_answers()
                waiting_for = "a full read"
                ends = await self._loop.spawn(_READER, self._read_all())
                waiting_for = "the group to commit all of it"
                await self._loop.spawn(_READER, self._await_commits(ends))
                waiting_for = "a look at every topic"
                await self._loop.spawn(_ADMINISTRATOR, self.administrator.check_all())
        except TimeoutError:
            self._history.complain("unavailable", BROKER, f"waited in vain for {waiting_for}")

    async def _create_topics(self) -> None:
        plan = self._plan
        await self._reader.create_topic(TOPIC, plan.partitions, plan.topic_settings)
        compacted = {"cleanup.policy": "compact", "segment.bytes": "2048", "min.cleanable.dirty.ratio": "0.1"}
        await self._reader.create_topic(LEDGER, 1, compacted)

    async def _read_all(self) -> dict[Key, int]:
        starts = await self._reader.offsets(self.keys, EARLIEST)
        ends = await self._reader.offsets(self.keys, LATEST)
        for key in self.keys:
            if starts[key] != 0:
                self._history.complain("start-moved", key, f"the log begins at {starts[key]}")
            await self._reader.read_all(key, starts[key], ends[key])
        ledger = await self._reader.offsets([_LEDGER_KEY], LATEST)
        await self._reader.read_all(_LEDGER_KEY, 0, ledger[_LEDGER_KEY], compacted=True)
        return ends

    async def _await_answers(self) -> None:
        while any(p.unanswered for p in self.producers.values()):  # noqa: ASYNC110  # asking costs no time here
            await asyncio.sleep(0.1)

    async def _await_commits(self, ends: dict[Key, int]) -> None:
        while await self._reader.commits(GROUP, self.keys) != ends:  # noqa: ASYNC110  # asking costs no time here
            await asyncio.sleep(0.25)

    def _start_producer(self, index: int) -> None:
        name, life = f"p{index}", self._new_life(f"p{index}")
        producer = self.producers[name] = Producer(
            life,
            self._link(name),
            [_LEDGER_KEY] if self._habits[index] is _BOOKKEEPER else self.keys,
            self._habits[index],
            self._history,
            lambda: next(self._values),
            self._clock,
            Random(f"{life} {self._plan.seed}"),
        )
        self._loop.spawn(name, producer.run())

    def _start_member(self, index: int) -> None:
        name, life = f"c{index}", self._new_life(f"c{index}")
        instance = name if self._plan.static_members else None
        member = self.members[name] = Member(
            instance or life,  # a static member's successor takes over what it owned
            GROUP,
            self._link(name),
            self._link(name),
            self.keys,
            self._history,
            Random(f"{life} {self._plan.seed}"),
            instance=instance,
        )
        self._loop.spawn(name, member.run())

    def _new_life(self, name: str) -> str:
        if self._loop.life(name) is not None:
            self._loop.crash(name)
        return f"{name}.{next(self._lives)}"

    def _link(self, name: str) -> Link:
        return Link(BROKER, PORT, name, timeout=_TIMEOUT_S)
