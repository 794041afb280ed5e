"""`with Broker() as broker:` and `async with Broker() as broker:`.

In both forms the broker has a thread and a loop of its own, so that it serves
whatever the program around it does, and outlives the loops of single tests.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Any, Final, Self, TypeVar, final

from millstream.broker.live_config import LiveConfig
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic
from millstream.cluster.image import Topic
from millstream.embedded import forking
from millstream.embedded.faults import Faults
from millstream.embedded.moving import MovingClock, MovingLoop
from millstream.embedded.thread import LoopThread
from millstream.env.clock import SystemClock
from millstream.env.disk import Disk, RealDisk
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry
from millstream.env.memory import MemoryDisk, MemoryRegistry
from millstream.errors import Refused
from millstream.gateways.kafka import faults as kafka_faults
from millstream.node.config import GROUPS, OTHER_LISTENERS, Address, NodeConfig, listeners_of
from millstream.node.node import Node
from millstream.settings import InvalidSetting

T = TypeVar("T")

_SESSION: Final = Session("embedded", "local")
_MEMORY_BYTES: Final = 1 << 30

# A broker for a while: nothing outlives the process, and nobody waits for latecomers.
_EPHEMERAL: Final[Mapping[str, object]] = {
    "flush.policy": "os",
    "log.dir.ballast.bytes": 0,
    "log.segment.delete.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "connections.max.idle.ms": 1 << 40,  # a jump in time need not cut off whoever is idle
}


class NotRunning(RuntimeError):
    """The broker was not started, was stopped, or belongs to another process."""


@final
class Broker:
    """A whole broker in this process.

    Without a *directory* it lives in memory, *memory_bytes* of it at the most,
    and is gone when it stops; with one it keeps everything there, synced as a
    server does. *settings* go by Kafka's names, as a mapping or as keywords
    with `_` for `.`: `Broker(num_partitions=3)`. Of its *doors* only Kafka's
    is open unless others are named: `http.queue`, `admin`, `jsonl`, `text`.
    *faults* are to be had unless it is on a directory, where they are off
    unless asked for: they cost a little on every request.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        doors: Iterable[str] = (),
        memory_bytes: int = _MEMORY_BYTES,
        faults: bool | None = None,
        **more: object,
    ) -> None:
        self._directory = None if directory is None else Path(directory)
        self._live = LiveConfig(GROUPS, self._settings(host, port, doors, settings or {}, more))
        listeners_of(self._live.get(NodeConfig))
        self._memory_bytes = memory_bytes
        self._has_faults = directory is None if faults is None else faults
        self._thread: LoopThread | None = None
        self._node: Node | None = None
        self._disk_used: Disk | None = None
        self._faults: Faults | None = None
        self._pid = 0

    # Life

    def start(self) -> Self:
        """Serve; return once clients can connect."""
        if self._thread is not None:
            raise RuntimeError("this broker runs already")
        disk = self._disk()
        thread = LoopThread(MovingLoop if self._has_faults else _quick_loop())
        try:
            node = thread.run(self._start(disk, thread.loop)).result()
        except BaseException:
            thread.stop()
            _close(disk)
            raise
        self._thread, self._node, self._disk_used, self._pid = thread, node, disk, os.getpid()
        forking.started(self)
        return self

    def stop(self) -> None:
        """Stop cleanly; nothing happens if it does not run, or runs in another process."""
        thread, node = self._thread, self._node
        self._thread = self._node = self._faults = None
        if thread is None or node is None or self._pid != os.getpid():
            return
        forking.stopped(self)
        try:
            thread.run(node.stop()).result()
        finally:
            thread.stop()
            _close(self._disk_used)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "AsyncBroker":
        await asyncio.to_thread(self.start)
        return AsyncBroker(self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    # Where it is

    @property
    def bootstrap_servers(self) -> str:
        """What Kafka clients call by this name: `127.0.0.1:54321`."""
        return ",".join(map(str, self.node.addresses))

    @property
    def addresses(self) -> list[Address]:
        """Where it serves the Kafka protocol."""
        return list(self.node.addresses)

    def door(self, name: str) -> Address:
        """Where it serves another protocol: `http.queue`, `admin`, `jsonl` or `text`."""
        address = self.node.by_setting.get(_listener(name))
        if address is None:
            raise ValueError(f"this broker's door {name!r} is shut: start it as Broker(doors=[{name!r}])")
        return address

    @property
    def http_url(self) -> str:
        """Where it serves the HTTP queue API, if that door is open."""
        return f"http://{self.door('http.queue')}"

    @property
    def admin_url(self) -> str:
        """Where it serves the admin REST API, if that door is open."""
        return f"http://{self.door('admin')}"

    @property
    def faults(self) -> Faults:
        """What a test may do to it."""
        self._running()
        if self._faults is None:
            raise ValueError("this broker has no faults to offer: start it as Broker(..., faults=True)")
        return self._faults

    # What it does

    def create_topic(
        self, name: str, partitions: int = -1, configs: Mapping[str, object] | None = None
    ) -> str:
        """Create a topic; its name. `Refused` says why that cannot be. -1: as many partitions as usual."""
        return self.run(self._create(name, partitions, configs or {})).result()

    def delete_topic(self, name: str, *, wait: bool = True) -> None:
        """Delete a topic and all it holds; unless *wait*, soon, and whether or not there is one."""
        deleted = self.run(self._delete(name))
        if wait:
            deleted.result()

    def topics(self) -> list[str]:
        """The names of all topics, but for those that the broker keeps for itself."""
        return self.call(self._names)

    # For its other forms

    @property
    def node(self) -> Node:
        """The node within; it belongs to the broker's own loop: use `run` or `call` to reach it."""
        self._running()
        assert self._node is not None
        return self._node

    def run(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run *work* on the broker's own loop."""
        try:
            thread = self._running()
        except NotRunning:
            work.close()
            raise
        return thread.run(work)

    def call(self, function: Callable[[], T]) -> T:
        """Call *function* on the broker's own loop."""
        return self._running().call(function)

    def descriptors(self) -> list[int]:
        """Every socket it has open."""
        return [] if self._node is None else self._node.descriptors()

    # Helpers

    def _running(self) -> LoopThread:
        if self._thread is None:
            raise NotRunning("this broker does not run: use `with Broker() as broker:`, or start it")
        if self._pid != os.getpid():
            raise NotRunning("this broker runs in the process that started it, of which this one is a fork")
        return self._thread

    def _disk(self) -> Disk:
        return MemoryDisk(self._memory_bytes) if self._directory is None else RealDisk(str(self._directory))

    async def _start(self, disk: Disk, loop: asyncio.AbstractEventLoop) -> Node:
        clock = MovingClock() if self._has_faults else SystemClock()
        planned = kafka_faults.Faults() if self._has_faults else None
        registry = MemoryRegistry() if isinstance(disk, MemoryDisk) else LocalRegistry(disk)
        env = Env(clock, disk, registry, SystemRandom())
        node = Node(env, self._live, planned)
        await node.start()
        if planned is not None and isinstance(clock, MovingClock) and isinstance(loop, MovingLoop):
            memory = disk if isinstance(disk, MemoryDisk) else None
            self._faults = Faults(self, node, planned, clock, loop, memory)
        return node

    async def _create(self, name: str, partitions: int, configs: Mapping[str, object]) -> str:
        asked = NewTopic(name, partitions, configs={key: _shown(value) for key, value in configs.items()})
        (made,) = await self.node.broker.create_topics(_SESSION, [asked])
        if isinstance(made, Refused):
            raise made
        assert isinstance(made, Topic)
        return made.name

    async def _delete(self, name: str) -> None:
        await self.node.broker.delete_topic(_SESSION, name)

    def _names(self) -> list[str]:
        return sorted(name for name in self.node.broker.topics.by_name() if not name.startswith("__"))

    def _settings(
        self,
        host: str,
        port: int,
        doors: Iterable[str],
        given: Mapping[str, object],
        more: Mapping[str, object],
    ) -> dict[str, object]:
        settings: dict[str, object] = (
            dict(_EPHEMERAL) if self._directory is None else {"log.dir": str(self._directory)}
        )
        settings["busy.poll.us"] = 0  # it would take the time of the very program that is to send something
        settings["listeners"] = (f"PLAINTEXT://{host}:{port}",)
        opened = [_listener(door) for door in doors]
        settings |= {name: f"{host}:0" if name in opened else "" for name in OTHER_LISTENERS}
        known = {name.replace(".", "_"): name for name in LiveConfig(GROUPS, {}).names()}
        keywords = {known.get(key, key): value for key, value in more.items()}
        twice = given.keys() & keywords.keys()
        if twice:
            raise InvalidSetting(f"{', '.join(sorted(twice))}: given twice, in settings and as a keyword")
        return {**settings, **given, **keywords}


@final
class AsyncBroker:
    """A running `Broker`, for a program that has a loop of its own: what takes time is awaited."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def bootstrap_servers(self) -> str:
        """What Kafka clients call by this name: `127.0.0.1:54321`."""
        return self._broker.bootstrap_servers

    @property
    def addresses(self) -> list[Address]:
        """Where it serves the Kafka protocol."""
        return self._broker.addresses

    def door(self, name: str) -> Address:
        """Where it serves another protocol: `http.queue`, `admin`, `jsonl` or `text`."""
        return self._broker.door(name)

    @property
    def http_url(self) -> str:
        """Where it serves the HTTP queue API, if that door is open."""
        return self._broker.http_url

    @property
    def admin_url(self) -> str:
        """Where it serves the admin REST API, if that door is open."""
        return self._broker.admin_url

    @property
    def faults(self) -> Faults:
        """What a test may do to it; each call is done in a moment."""
        return self._broker.faults

    async def create_topic(
        self, name: str, partitions: int = -1, configs: Mapping[str, object] | None = None
    ) -> str:
        """Create a topic; its name. `Refused` says why that cannot be. -1: as many partitions as usual."""
        return await asyncio.to_thread(self._broker.create_topic, name, partitions, configs)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic and all it holds."""
        await asyncio.to_thread(self._broker.delete_topic, name)

    async def topics(self) -> list[str]:
        """The names of all topics, but for those that the broker keeps for itself."""
        return await asyncio.to_thread(self._broker.topics)


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # no wheel for this system: asyncio's own loop serves as well, more slowly
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.Loop
    return factory


def _close(disk: Disk | None) -> None:
    if isinstance(disk, RealDisk):
        disk.close()  # this process may live on for long without it


def _listener(door: str) -> str:
    """The setting that opens *door*."""
    if f"{door}.listener" not in OTHER_LISTENERS:
        known = ", ".join(sorted(name.removesuffix(".listener") for name in OTHER_LISTENERS))
        raise InvalidSetting(f"there is no door {door!r}; besides Kafka's there are {known}")
    return f"{door}.listener"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
