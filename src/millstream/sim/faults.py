"""Whoever breaks things: strikes by the plan, and where it hurts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, Protocol, final

from millstream.sim.host import BROKER, Host
from millstream.sim.network import Weather
from millstream.sim.plan import Plan
from millstream.sim.watched_disk import Act, Seen

_DAY_MS: Final = 86_400_000
_JUMPS_MS: Final = (1, 1000, 60_000, 3_600_000, 40 * _DAY_MS)
_MOMENTS: Final = (
    (Act.CREATE, ".log", True),  # a segment was just rolled
    (Act.SYNC, ".log", False),
    (Act.SYNC, ".log", True),
    (Act.APPEND, ".log", True),
    (Act.RENAME, "", False),
    (Act.RENAME, "", True),
    (Act.SYNC_DIR, "", False),
    (Act.SYNC_DIR, "", True),
    (Act.SYNC, "", True),
    (Act.TRUNCATE, "", True),
    (Act.REMOVE, "", True),
)


class Clients(Protocol):
    """As much of the workload as can be broken."""

    @property
    def names(self) -> list[str]: ...
    @property
    def consumers(self) -> list[str]: ...

    def churn(self, random: Random) -> None: ...


@final
class Nemesis:
    """Strikes while the troubled part lasts; `heal` takes everything back."""

    def __init__(self, plan: Plan, host: Host, clients: Clients) -> None:
        self.struck: dict[str, int] = {}
        self._plan = plan
        self._host = host
        self._loop = host.loop
        self._clients = clients
        self._random = Random(f"nemesis {plan.seed}")
        self._armed: tuple[Act, str, bool] | None = None
        self._countdown = 0
        self._strikes: dict[str, Callable[[], None]] = {
            "kill": self._kill,
            "power": self._power,
            "trigger": self._trigger,
            "restart": self._restart,
            "pause": self._pause,
            "cut": self._cut,
            "reset": self._reset,
            "storm": self._storm,
            "slow-disk": self._slow_disk,
            "full-disk": self._full_disk,
            "sync-error": self._sync_error,
            "clock": self._clock,
            "churn": self._churn,
        }
        host.watch = self._watch

    async def run(self) -> None:
        """Strike, wait, strike; in one period of four let everybody recover."""
        random, plan = self._random, self._plan
        while self._loop.time() < plan.fault_s:
            await asyncio.sleep(random.uniform(*plan.pause_s))
            if not plan.kinds or random.random() < 0.25:
                continue
            for kind in random.sample(plan.kinds, random.randint(1, min(3, len(plan.kinds)))):
                if self._loop.time() < plan.fault_s:
                    self.strike(kind)
                    await asyncio.sleep(random.uniform(0.0, 0.3))

    def strike(self, kind: str) -> None:
        self.struck[kind] = self.struck.get(kind, 0) + 1
        self._loop.note("strike", kind)
        self._strikes[kind]()

    def heal(self) -> None:
        self._loop.note("heal all")
        self._armed = None
        self._loop.network.heal()
        self._calm()
        self._fast_disk()
        self._more_room()
        self._host.disk.failing_syncs = 0
        for node in (BROKER, *self._clients.names):
            self._resume(node)
        self._host.up()

    # Ends of a node

    def _back_after(self) -> float:
        return self._random.choice((0.05, 0.5, 3.0)) * self._random.uniform(0.5, 1.5)

    def _kill(self) -> None:
        self._host.kill(back_after=self._back_after())

    def _power(self) -> None:
        self._host.cut_power(back_after=self._back_after())

    def _restart(self) -> None:
        self._host.stop(back_after=self._back_after())

    def _trigger(self) -> None:
        self._armed = self._random.choice(_MOMENTS)
        self._countdown = self._random.choice((1, 1, 2, 5, 20))

    def _watch(self, seen: Seen) -> None:
        if self._armed is None:
            return
        act, suffix, done = self._armed
        if seen.act is not act or seen.done is not done or not seen.path.endswith(suffix):
            return
        self._countdown -= 1
        if self._countdown > 0:
            return
        self._armed = None
        self._loop.note("triggered", seen.act.value, seen.path, "done" if seen.done else "begun")
        if self._random.random() < 0.7:
            self._power()
        else:
            self._kill()

    def _pause(self) -> None:
        # A consumer that stands still for longer than its session lasts thinks that nothing has happened.
        node = self._random.choice((BROKER, BROKER, self._random.choice(self._clients.consumers), None))
        node = self._random.choice(self._clients.names) if node is None else node
        life = self._loop.life(node)
        if life is not None and not life.paused:
            self._loop.pause(node)
            self._host.later(
                self._random.choice((0.2, 2.0, 5.0) if node == BROKER else (0.2, 2.8, 2.8, 9.0)),
                partial(self._resume, node),
            )

    def _resume(self, node: str) -> None:
        life = self._loop.life(node)
        if life is not None and life.paused:
            self._loop.resume(node)

    # Network

    def _cut(self) -> None:
        client = self._random.choice(self._clients.names)
        ends = [client, BROKER]
        self._random.shuffle(ends)
        self._loop.network.cut(*ends, both=self._random.random() < 0.5)
        self._host.later(self._random.uniform(0.3, 6.0), self._loop.network.heal)

    def _reset(self) -> None:
        self._loop.network.reset(BROKER)

    def _storm(self) -> None:
        self._loop.network.weather = replace(
            Weather(),
            tail_chance=self._random.choice((0.1, 0.5)),
            tail_s=self._random.choice((0.2, 1.5)),
            split_chance=0.8,
            window_bytes=self._random.choice((600, 1 << 14, 1 << 17)),
        )
        self._host.later(self._random.uniform(1.0, 5.0), self._calm)

    def _calm(self) -> None:
        self._loop.network.weather = Weather()

    # Disk and clock

    def _slow_disk(self) -> None:
        self._loop.disk_delay_s = self._random.choice(((0.02, 0.2), (0.2, 1.5)))
        self._host.later(self._random.uniform(1.0, 5.0), self._fast_disk)

    def _fast_disk(self) -> None:
        self._loop.disk_delay_s = self._plan.disk_delay_s

    def _full_disk(self) -> None:
        self._host.disk.capacity = self._host.used_bytes + self._random.choice((0, 100, 3000, 50_000))
        self._host.later(self._random.uniform(0.5, 4.0), self._more_room)

    def _more_room(self) -> None:
        self._host.disk.capacity = 1 << 30

    def _sync_error(self) -> None:
        self._host.disk.failing_syncs = 1

    def _clock(self) -> None:
        self._host.clock.jump(self._random.choice(_JUMPS_MS) * self._random.choice((-1, 1)))

    def _churn(self) -> None:
        self._clients.churn(self._random)
