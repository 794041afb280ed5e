"""The machine a simulated node runs on: its disk and clock outlive the node's many lives."""

from collections.abc import Callable, Mapping
from contextvars import Context
from random import Random
from typing import Final, final

from millstream.broker.live_config import LiveConfig
from millstream.env.disk import Disk, DiskFailed
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry
from millstream.node.config import GROUPS, OTHER_LISTENERS
from millstream.node.node import Node
from millstream.sim.clock import SimClock
from millstream.sim.disk import PowerCut, SimDisk
from millstream.sim.history import History
from millstream.sim.loop import SimLoop
from millstream.sim.watched_disk import Seen, WatchedDisk

BROKER: Final = "broker"
PORT: Final = 9092
_DISK_BYTES: Final = 1 << 30
_TIMELESS: Final = {  # what asks how long something really took would not be the same in each run
    "busy.poll.us": 0,
    "sync.on.loop.us": 0,
}


@final
class Host:
    """Starts the node, ends it in several ways, and starts it again."""

    def __init__(
        self,
        loop: SimLoop,
        seed: int,
        settings: Mapping[str, object],
        history: History,
        mutate_disk: Callable[[Disk], Disk] | None = None,
    ) -> None:
        self.loop = loop
        self.disk = SimDisk(Random(f"disk {seed}"), capacity=_DISK_BYTES)
        self.clock = SimClock(loop)
        self.watch: Callable[[Seen], None] = _look_away
        self.lives = 0
        self.node: Node | None = None
        self._seed = seed
        self._settings = {**dict.fromkeys(OTHER_LISTENERS, ""), **_TIMELESS, **settings}
        self._history = history
        self._mutate_disk = mutate_disk
        # What is planned for a node must not die with it.
        self._outside = Context()

    @property
    def is_up(self) -> bool:
        return self.loop.life(BROKER) is not None

    @property
    def used_bytes(self) -> int:
        return (self.disk.capacity or 0) - self.disk.free_bytes()

    def up(self) -> None:
        """Start the node, unless it runs."""
        if self.is_up:
            return
        self.lives += 1
        life = self.loop.boot(BROKER)
        disk: Disk = WatchedDisk(self.disk, life, lambda seen: self.watch(seen))
        if self._mutate_disk is not None:
            disk = self._mutate_disk(disk)
        self.loop.spawn(BROKER, self._live(disk))

    def kill(self, *, back_after: float | None = None) -> None:
        """End the process; what it wrote is in the page cache."""
        if self.is_up:
            self.loop.crash(BROKER)
            self.disk.kill()
            self.node = None
        self._back(back_after)

    def cut_power(self, *, back_after: float | None = None) -> None:
        """End the machine; what was not synced is anybody's guess."""
        if self.is_up:
            self.loop.crash(BROKER, silent=True)
            self.disk.crash()
            self.node = None
        self._back(back_after)

    def stop(self, *, back_after: float) -> None:
        """Ask the process to stop cleanly, which takes it a while."""
        life, node = self.loop.life(BROKER), self.node
        if life is not None and node is not None:
            self.loop.note("stop", BROKER)
            self.loop.spawn(BROKER, self._stop(node, back_after))

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Do it some time from now, whoever is running then."""
        self.loop.call_later(seconds, call, context=self._outside)

    async def _live(self, disk: Disk) -> None:
        random = Random(f"node {self._seed} {self.lives}")
        node = Node(Env(self.clock, disk, LocalRegistry(disk), random), LiveConfig(GROUPS, self._settings))
        try:
            await node.start()
        except PowerCut:
            return
        except OSError as error:
            # A disk that is full or failing is a reason not to start.
            self.loop.note("cannot start", repr(error))
            self._exit(1.0)
            return
        except Exception as error:
            self._history.complain("start-failed", BROKER, repr(error))
            self._exit(5.0)
            raise
        self.node = node
        self.loop.note("serving", BROKER)
        failure = await node.broker.broken
        self.loop.note("disk failed", BROKER, repr(failure))
        assert isinstance(failure, DiskFailed | OSError)
        self._exit(0.5)

    async def _stop(self, node: Node, back_after: float) -> None:
        try:
            await node.stop()
        except OSError as error:
            self.loop.note("could not stop cleanly", repr(error))
        else:
            self.loop.note("stopped", BROKER)
        self._exit(back_after)

    def _exit(self, back_after: float) -> None:
        """The process ends by itself; what it is doing this very moment it finishes first."""
        life = self.loop.life(BROKER)

        def end() -> None:
            if self.loop.life(BROKER) is life:
                self.kill(back_after=back_after)

        self.loop.call_soon(end, context=self._outside)

    def _back(self, after: float | None) -> None:
        if after is not None:
            self.later(after, self.up)


def _look_away(seen: Seen) -> None: ...
