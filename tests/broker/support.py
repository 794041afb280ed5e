"""A broker in this process, on a simulated disk, without doors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random

from millstream.broker.broker import Broker
from millstream.broker.live_config import LiveConfig
from millstream.broker.session import Session
from millstream.env.clock import Clock
from millstream.env.disk import Disk
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry
from millstream.node.config import GROUPS
from millstream.records.build import NewRecord, build
from millstream.storage.store import Store

SESSION = Session("test", "127.0.0.1")
NOW_MS = 1_700_000_000_000


class FixedClock(Clock):
    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms


@asynccontextmanager
async def running(
    disk: Disk, settings: Mapping[str, object] | None = None, clock: Clock | None = None
) -> AsyncIterator[Broker]:
    """A broker on *disk*, stopped cleanly at the end."""
    env = Env(clock or FixedClock(), disk, LocalRegistry(disk), Random(7))
    store = Store(disk, ballast_bytes=0, min_free_percent=0.0)
    store.open()
    await env.registry.start()
    live = LiveConfig(GROUPS, {"log.dir.ballast.bytes": 0, "log.dir.min.free.percent": 0, **(settings or {})})
    broker = Broker(env, live, store, "cluster", "data")
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()
        store.close()
        await env.registry.stop()


def batch(value: bytes = b"v", *, producer_id: int = -1, sequence: int = -1) -> memoryview:
    epoch = -1 if producer_id < 0 else 0
    record = NewRecord(b"k", value)
    return memoryview(
        build([record], now_ms=NOW_MS, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    )
