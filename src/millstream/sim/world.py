"""A whole run: one node on simulated time, network and disk, its clients, and its troubles.

report = World(draw(seed)).run()
assert not report.anomalies, report
"""

import asyncio
import errno
import gc
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from millstream.env.disk import Disk
from millstream.sim.checks import check
from millstream.sim.disk import PowerCut
from millstream.sim.faults import Nemesis
from millstream.sim.history import Anomaly, History, Outcome, Poll, Send
from millstream.sim.host import BROKER, Host
from millstream.sim.life import HERE, here
from millstream.sim.loop import SimLoop
from millstream.sim.plan import Plan
from millstream.sim.workload import Workload

_CALM_S: Final = 3.0  # producers go on for a while after the last fault


@final
@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of a run."""

    plan: Plan
    anomalies: list[Anomaly]
    digest: str
    steps: int
    lives: int
    struck: dict[str, int]
    acked: int
    polled: int
    last: list[tuple[float, str]]

    def __str__(self) -> str:
        kinds = Counter(anomaly.kind for anomaly in self.anomalies)
        lines = [
            str(self.plan),
            f"anomalies: {dict(kinds) or 'none'}",
            *(f"  {anomaly}" for anomaly in self.anomalies[:20]),
            f"lives of the node: {self.lives}; faults: {self.struck}",
            f"acknowledged: {self.acked} records; polled: {self.polled} records; {self.steps} steps",
            f"trace: {self.digest}; the last events:",
            *(f"  {at:10.6f} {words}" for at, words in self.last),
        ]
        return "\n".join(lines)


@final
class World:
    """Built from a plan, run once."""

    def __init__(self, plan: Plan, *, mutate_disk: Callable[[Disk], Disk] | None = None) -> None:
        self.plan = plan
        self.history = History()
        self.loop = SimLoop(plan.seed, fifo=plan.fifo)
        self.loop.disk_delay_s = plan.disk_delay_s
        self.host = Host(self.loop, plan.seed, plan.settings, self.history, mutate_disk)
        self.workload = Workload(self.loop, plan, self.history)
        self.nemesis = Nemesis(plan, self.host, self.workload)

    def run(self) -> Report:
        """Live through the plan, then say which promises were broken."""
        listener = _ErrorListener(self.history)
        logging.getLogger("millstream").addHandler(listener)
        collecting = gc.isenabled()
        gc.disable()  # when the collector runs must not decide what happens
        try:
            self.loop.run_until_complete(self._main())
            self.loop.listen_to_the_done()
            return self._report()
        finally:
            logging.getLogger("millstream").removeHandler(listener)
            self.loop.close()
            if collecting:
                gc.enable()
            gc.collect()

    async def _main(self) -> None:
        self.host.up()
        await self.workload.begin()
        await self.nemesis.run()
        self.nemesis.heal()
        await asyncio.sleep(_CALM_S)
        self.workload.finish()
        await self.workload.look(self.plan.seconds)
        if not self.history.of(Poll) or not any(s.outcome is Outcome.OK for s in self.history.of(Send)):
            self.history.complain("idle", BROKER, "nothing was written, or nothing read, in the whole run")

    def _report(self) -> Report:
        mishaps = [
            Anomaly("mishap", mishap.node, f"{mishap.message}: {mishap.error!r}")
            for mishap in self.loop.mishaps
        ]
        polls = [poll for poll in self.history.of(Poll) if not poll.final]
        sends = [send for send in self.history.of(Send) if send.outcome is Outcome.OK]
        return Report(
            plan=self.plan,
            anomalies=check(self.history) + mishaps,
            digest=self.loop.trace.digest(),
            steps=self.loop.trace.steps,
            lives=self.host.lives,
            struck=self.nemesis.struck,
            acked=sum(len(send.values) for send in sends),
            polled=sum(len(poll.records) for poll in polls),
            last=list(self.loop.trace.last),
        )


@final
class _ErrorListener(logging.Handler):
    """An exception that was caught and logged is still one that nobody expected."""

    def __init__(self, history: History) -> None:
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record: logging.LogRecord) -> None:
        life = HERE.get()
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, PowerCut) or (life is not None and not life.alive):
            return
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return  # a full disk is nobody's mistake
        self._history.complain("logged-error", here() or BROKER, f"{record.getMessage()}: {error!r}")
