"""A real node on simulated time: rebalances take no time, and a crash is one call."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.sim.history import History
from millstream.sim.host import Host
from millstream.sim.loop import SimLoop

T = TypeVar("T")
BOOTSTRAP = "broker:9092"


@dataclass(frozen=True)
class Sim:
    """What a story has to play with."""

    loop: SimLoop
    host: Host

    def client(self, **options: Any) -> Client:
        return Client(BOOTSTRAP, **{"timeout": 5.0, "patience": 60.0, "random": Random(7), **options})

    def producer(self, client: Client, **options: Any) -> Producer:
        """One whose clock agrees with the node's."""
        return Producer(client, clock=self.host.clock, **options)

    async def up(self) -> None:
        """Start the node, and wait until it serves."""
        self.host.up()
        while self.host.node is None:  # noqa: ASYNC110  # it has no event, and this time is free
            await asyncio.sleep(0.01)


def simulate(
    story: Callable[[Sim], Awaitable[T]], *, seed: int = 1, settings: Mapping[str, object] | None = None
) -> T:
    """Run *story* with a node that serves; nothing may be left unhandled."""
    loop = SimLoop(seed)
    defaults = {
        "listeners": f"PLAINTEXT://{BOOTSTRAP}",
        "log.dir.ballast.bytes": 4096,
        "offsets.topic.num.partitions": 3,
    }
    sim = Sim(loop, Host(loop, seed, {**defaults, **(settings or {})}, History()))

    async def main() -> T:
        await sim.up()
        return await story(sim)

    try:
        result = loop.run_until_complete(main())
        assert not loop.mishaps, loop.mishaps
        return result
    finally:
        loop.close()
