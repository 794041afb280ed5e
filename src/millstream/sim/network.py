"""The simulated network: who listens where, which links are cut, and what the weather is like."""

import asyncio
import errno
from contextvars import Context, copy_context
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, final

from millstream.sim.life import HERE, Life, here
from millstream.sim.transport import Address, Factory, Mark, SimTransport

if TYPE_CHECKING:
    from millstream.sim.loop import SimLoop

_OWN: Final = frozenset({None, "", "0.0.0.0", "::", "127.0.0.1", "::1", "localhost"})
_SYN_RETRY_S: Final = 1.0


@dataclass
class Weather:
    """How the network behaves at present; faults change it as a run goes on."""

    delay_s: tuple[float, float] = (0.0001, 0.001)
    tail_chance: float = 0.01
    tail_s: float = 0.2
    split_chance: float = 0.1
    window_bytes: int = 1 << 17


@final
class Network:
    """Who listens where, which links are cut, and every connection there is."""

    def __init__(self, loop: "SimLoop", random: Random) -> None:
        self.loop = loop
        self.random = random
        self.weather = Weather()
        self.outside = Context()  # arrivals are the kernel's work: no crash or pause of a node stops them
        self._listeners: dict[Address, SimServer] = {}
        self._transports: dict[SimTransport, None] = {}
        self._cuts: set[tuple[str, str]] = set()
        self._held: list[SimTransport] = []
        self._next_port = 32768

    def delay(self) -> float:
        """How long the next segment takes."""
        low, high = self.weather.delay_s
        delay = low + (high - low) * self.random.random()
        if self.random.random() < self.weather.tail_chance:
            delay += self.weather.tail_s * self.random.random()
        return delay

    def listen(self, factory: Factory, host: str | None, port: int) -> "SimServer":
        address = (here() if host in _OWN or host is None else host, port or self._port())
        if address in self._listeners:
            raise OSError(errno.EADDRINUSE, f"{address} is in use")
        server = self._listeners[address] = SimServer(self, factory, address)
        return server

    def listens(self, server: "SimServer") -> bool:
        return self._listeners.get(server.address) is server

    def unlisten(self, server: "SimServer") -> None:
        if self.listens(server):
            del self._listeners[server.address]

    async def connect(
        self, factory: Factory, host: str | None, port: int
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        """A connection to whoever listens at *host* and *port*, which takes as long as a cut lasts."""
        name = here() if host in _OWN or host is None else host
        await asyncio.sleep(self.delay())
        while self.is_cut(here(), name) or self.is_cut(name, here()):  # noqa: ASYNC110  # SYNs are retried
            await asyncio.sleep(_SYN_RETRY_S)
        server = self._listeners.get((name, port))
        if server is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens at {name}:{port}")

        mine = (here(), self._port())
        near = SimTransport(self, copy_context(), mine, server.address)
        far = SimTransport(self, server.context.copy(), server.address, mine)
        near.join(far)
        self._transports |= {near: None, far: None}
        self.loop.call_soon(server.accept, far, context=far.context)
        protocol = near.open(factory)
        return near, protocol

    def gone(self, transport: SimTransport) -> None:
        self._transports.pop(transport, None)

    def bury(self, life: Life, *, silent: bool) -> None:
        """*life* has ended: nobody listens for it, and its peers will be told, *silent* or not.

        A process that dies leaves a kernel that resets its connections. When
        the machine dies nobody does, until it is back and asked.
        """
        for server in [s for s in self._listeners.values() if s.context.get(HERE) is life]:
            self.unlisten(server)
        for transport in [t for t in self._transports if t.life is life]:
            transport.die(self.random.uniform(0.5, 8.0) if silent else 0.0)

    def reset(self, node: str) -> int:
        """Break every connection of *node*, as a firewall that lost its table does; how many there were."""
        broken = [t for t in self._transports if t.life is not None and t.life.node == node]
        for transport in broken:
            transport.send_mark(Mark.RESET)
            transport.peer.send_mark(Mark.RESET)
        self.loop.note("reset", len(broken), "connections of", node)
        return len(broken)

    def cut(self, source: str, target: str, *, both: bool = True) -> None:
        """Hold what *source* sends to *target*, and the other way round if *both*."""
        self._cuts.add((source, target))
        if both:
            self._cuts.add((target, source))
        self.loop.note("cut", source, "<->" if both else "->", target)

    def heal(self) -> None:
        """Mend every cut; what was held arrives now, in its order."""
        if not self._cuts:
            return
        self._cuts.clear()
        self.loop.note("heal")
        held, self._held = self._held, []
        for transport in held:
            transport.arrive_later()

    def hold(self, transport: SimTransport) -> None:
        """Something *transport* sent is stopped by a cut; it may be long closed itself."""
        self._held.append(transport)

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def _port(self) -> int:
        self._next_port += 1
        return self._next_port


@final
class SimServer(asyncio.AbstractServer):
    """Accepts connections at one address, on behalf of the node that opened it."""

    def __init__(self, network: Network, factory: Factory, address: Address) -> None:
        self.network = network
        self.factory = factory
        self.address = address
        self.context = copy_context()

    @property
    def sockets(self) -> "tuple[ListeningSocket, ...]":
        return (ListeningSocket(self.address),) if self.is_serving() else ()

    def accept(self, transport: SimTransport) -> None:
        """Take the connection out of the backlog; runs as the node."""
        if self.is_serving():
            transport.open(self.factory)
        else:
            transport.abort()

    def close(self) -> None:
        self.network.unlisten(self)

    async def wait_closed(self) -> None:
        """Return at once: connections already made are their owners' business."""

    def is_serving(self) -> bool:
        return self.network.listens(self)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.network.loop

    async def start_serving(self) -> None:
        """Return at once: it serves from the start."""

    async def serve_forever(self) -> None:
        try:
            await self.network.loop.create_future()
        finally:
            self.close()


@final
class ListeningSocket:
    """As much of a socket as tells its address."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def getsockname(self) -> Address:
        return self._address
