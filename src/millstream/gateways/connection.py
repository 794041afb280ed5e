"""What the TCP doors share: flow control, replies in order, limits.

Replies leave in the order of their requests, whatever order they are ready
in. A connection stops reading while its client takes no replies or has too
many requests under way, so that no client can make the node grow.
"""

import asyncio
import errno
import inspect
import logging
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from mmap import mmap
from typing import Any, Final, Protocol, TypeVar, cast, final

from millstream.env.busy_poll import BusyPoll
from millstream.env.disk import Buffer
from millstream.env.neighbours import unpace
from millstream.env.outflow import (
    BUFFERS,
    LARGE_BYTES,
    Outflow,
    Piece,
    Plug,
    on_disk,
    plug_of,
    read_whole,
    send_now,
)
from millstream.gateways.budget import Budget
from millstream.gateways.config import GatewayConfig

log = logging.getLogger(__name__)
T = TypeVar("T")

_WRITE_HIGH_BYTES: Final = 1 << 20
_SHORT_BYTES: Final = 16 << 10  # of replies that are worth putting together to be sent at once
_PART_BYTES: Final = 16 << 10  # for the transport to wait with until the socket takes more
_TURN_BYTES: Final = 4 << 20  # to one client before others are served
_OUT_OF_REACH: Final = frozenset(
    {errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}
)
_SCRATCH_BYTES: Final = 1 << 20
_SWEEP_SECONDS: Final = 1.0
_LOAD_MAX: Final = 10_000
_WARNINGS_A_SWEEP: Final = 10


class Cancelled(Protocol):
    """What ends with its client."""

    def cancel(self) -> object: ...


class Reply:
    """A place in the order of replies; *pieces* is None until the reply is known."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: Sequence[Piece] | None = None


class Replies(Reply):
    """One place for the replies to several *requests* that came one behind the other."""

    __slots__ = ("requests",)

    def __init__(self, requests: int) -> None:
        self.pieces = None
        self.requests = requests


@final
class Door:
    """One listener's connections and what they share."""

    def __init__(
        self,
        name: str,
        config: Callable[[], GatewayConfig],
        connects: Callable[[str], bool] = lambda host: True,
    ) -> None:
        """*connects* says whether one more connection from a host is within its quota."""
        self.name = name
        self.config = config
        self._connects = connects
        self.connections: dict[Connection, None] = {}
        self.closing = False
        self.opened = 0
        self.refused = 0
        self.budget = Budget(config().queued_max_bytes)
        self.busy_poll = BusyPoll(config().busy_poll_us)
        # One for all: what is received is taken from it before the next connection is served.
        # It takes up memory as it is first used.
        self.scratch = memoryview(mmap(-1, _SCRATCH_BYTES))
        self._by_host: Counter[str] = Counter()
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._warnings_left = _WARNINGS_A_SWEEP
        self._warnings_held = 0

    def admit(self, connection: "Connection") -> bool:
        """Whether *connection* may stay, by the limits on their number."""
        config = self.config()
        if len(self.connections) >= config.max_connections:
            self.refuse(connection.host, f"max.connections={config.max_connections} are open")
            return False
        if self._by_host[connection.host] >= config.max_connections_per_ip:
            self.refuse(connection.host, f"max.connections.per.ip={config.max_connections_per_ip} are open")
            return False
        if not self._connects(connection.host):
            self.refuse(connection.host, "connection_creation_rate is exceeded")
            return False
        self.opened += 1
        self.connections[connection] = None
        self._by_host[connection.host] += 1
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)
        return True

    def gone(self, connection: "Connection") -> None:
        if connection in self.connections:
            del self.connections[connection]
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]
            if not self.connections and self._emptied is not None and not self._emptied.done():
                self._emptied.set_result(None)

    def refuse(self, host: str, reason: str) -> None:
        """Note that a connection from *host* is closed by us; a flood of them is counted, not logged."""
        self.refused += 1
        if self._warnings_left:
            self._warnings_left -= 1
            log.warning("connection closed door=%s peer=%s reason=%s", self.name, host, reason)
        else:
            self._warnings_held += 1

    def hold(self) -> None:
        """Start nothing new for any client."""
        self.closing = True
        for connection in list(self.connections):
            connection.hold()

    async def close(self, seconds: float) -> None:
        """Send what is ready to be sent, for so long at the most, and close every connection."""
        self.closing = True
        for connection in list(self.connections):
            connection.end()
        if self.connections:
            self._emptied = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._emptied], timeout=seconds)
        for connection in list(self.connections):
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    def _sweep(self) -> None:
        """Once a second, instead of a timer for each connection."""
        self._sweeper = None
        if self._warnings_held:
            log.warning("connections closed door=%s more=%d", self.name, self._warnings_held)
        self._warnings_left, self._warnings_held = _WARNINGS_A_SWEEP, 0
        now = asyncio.get_running_loop().time()
        for connection in list(self.connections):
            connection.look(now)
        if self.connections:
            self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)


class Connection(asyncio.BufferedProtocol, ABC):
    """One client. A door's own kind of connection says how bytes become requests."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.host = ""
        self.transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._max_in_flight = door.config().max_in_flight
        self._replies: deque[Reply] = deque()
        self._joined = 0  # requests under way, beyond one for each of the replies
        self._load = 0  # how much those that wait keep in memory, by the parts of what they ask
        self._waiting: dict[Cancelled, Awaitable[Any] | None] = {}
        self._reading = True
        self._writable = True
        self._ending = False
        self._muted: asyncio.TimerHandle | None = None
        self._in_turn = False
        self._active_at = self._loop.time()
        self._stalled_at: float | None = None
        self._unsent_bytes = 0
        self._plug: Plug | None = None  # to send to beside the transport
        self._descriptor = -1  # the plug's
        self._outflow: Outflow | None = None  # the first of the replies, sent in part

    @abstractmethod
    def proceed(self) -> None:
        """Go on with requests that were received but held back."""

    @abstractmethod
    def waiting_since(self) -> float | None:
        """When the request that is still arriving began to, if one is."""

    @abstractmethod
    def tidy(self) -> None:
        """Give back memory that is not needed now."""

    @property
    def busy(self) -> bool:
        """Whether nothing more may be started for this client."""
        return (
            not self._writable
            or self._muted is not None
            or self._in_turn
            or self.door.closing
            or len(self._replies) + self._joined >= self._max_in_flight
            or self._load > _LOAD_MAX
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own kind does not inherit from it
        peer = transport.get_extra_info("peername")
        self.host = str(peer[0]) if peer else "local"
        if not self.door.admit(self):
            self.abort()
            return
        self.transport.set_write_buffer_limits(high=_WRITE_HIGH_BYTES)
        unpace(transport.get_extra_info("socket"))
        self._plug = plug_of(self.transport)
        if self._plug is not None:
            self._descriptor = self._plug.descriptor

    def connection_lost(self, error: Exception | None) -> None:
        self.door.gone(self)
        self.transport = None
        self._descriptor = -1
        self._end_outflow()
        self._replies.clear()
        self._joined = 0
        if self._muted is not None:
            self._muted.cancel()
        for future in list(self._waiting):
            future.cancel()
        self.tidy()

    def eof_received(self) -> bool:
        # Replies that are on their way still go out to a client that only closed its own side.
        self._ending = bool(self._replies)
        return self._ending

    def pause_writing(self) -> None:
        self._writable = False
        self._stalled_at = self._loop.time()

    def resume_writing(self) -> None:
        self._writable = True
        self._stalled_at = None
        self.flush()
        self.relax()

    def expect(self) -> Reply:
        """Keep a place for the reply to the request that is being handled."""
        reply = Reply()
        self._replies.append(reply)
        return reply

    def expect_many(self, requests: int) -> Reply:
        """Keep one place for the replies to so many requests, which are handled together."""
        reply = Replies(requests)
        self.expect_these(reply)
        return reply

    def expect_these(self, replies: Replies) -> None:
        """Keep a place for *replies*, of requests that are handled together."""
        self._replies.append(replies)
        self._joined += replies.requests - 1

    def later(self, work: Awaitable[None], awaits: Awaitable[Any] | None) -> None:
        """Run *work* on behalf of this client, no longer than it stays; what it *awaits* ends with it."""
        task = asyncio.ensure_future(work)
        self._waiting[task] = awaits
        task.add_done_callback(self._finished)

    def when(self, future: "asyncio.Future[T]", then: Callable[[T], None]) -> None:
        """Call *then* with what *future* gives, if this client is still here by then."""
        self._waiting[future] = None
        future.add_done_callback(partial(self._given, then))

    def take_turn(self, future: "asyncio.Future[T]", then: "Callable[[asyncio.Future[T]], None]") -> None:
        """Begin nothing else for this client until *future* is done; then call *then* with it."""
        self._in_turn = True
        self.hold()
        self._waiting[future] = None
        future.add_done_callback(partial(self._turn_over, then))

    def _turn_over(self, then: "Callable[[asyncio.Future[T]], None]", future: "asyncio.Future[T]") -> None:
        self._waiting.pop(future, None)
        self._in_turn = False
        if not future.cancelled():
            then(future)
            self.relax()

    def flush(self) -> None:
        """Send every reply that is known and whose turn it is."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        replies = self._replies
        # A client that takes all we have as fast as the disk gives it would else keep us for that long.
        left = _TURN_BYTES
        is_any = False
        try:
            while self._writable and replies and (pieces := replies[0].pieces) is not None:
                is_any = True
                if len(replies) == 1 and len(pieces) == 1 and type(pieces[0]) is bytes:  # as most are
                    self._drop_first()
                    self._write_now(transport, pieces[0])
                elif self._outflow is not None or self._begin_outflow(transport, pieces):
                    if not self._flow_on(transport):
                        left = 0
                else:
                    left -= self._write_some(transport)
                if left <= 0:
                    self._loop.call_soon(self._flush_later)
                    break
        except OSError as error:
            if isinstance(error, ConnectionError) or error.errno in _OUT_OF_REACH:
                self.abort()  # the client has gone
            else:
                self.failed(error)  # half a reply may be out: there is nothing to say behind it
            return
        self._active_at = self._loop.time()
        if is_any:
            self.door.busy_poll.replied()
        if self._ending and not replies:
            transport.close()

    def _write_some(self, transport: asyncio.Transport) -> int:
        """Send the first replies, about as many as fill the transport's buffer; how many bytes they have."""
        replies = self._replies
        out: list[Buffer] = []
        size = 0
        while replies and (pieces := replies[0].pieces) is not None and size < _WRITE_HIGH_BYTES:
            for piece in pieces:
                data = piece if isinstance(piece, BUFFERS) else read_whole(piece)
                size += len(data)
                out.append(data)
            self._drop_first()
        if size <= _SHORT_BYTES:
            self._write_now(transport, b"".join(out))
        elif len(out) == 1:
            transport.write(out[0])
        else:
            transport.writelines(out)
        return size

    def _begin_outflow(self, transport: asyncio.Transport, pieces: Sequence[Piece]) -> bool:
        """Whether the reply of *pieces* goes to the socket beside the transport."""
        if self._plug is None:
            return False
        size = on_disk(pieces)
        if size < LARGE_BYTES or transport.get_write_buffer_size():
            return False
        self._outflow = Outflow(self._plug, pieces, size)
        return True

    def _flow_on(self, transport: asyncio.Transport) -> bool:
        """Send more of the outflow, until it ends or the socket takes no more; False if a turn is over."""
        outflow = self._outflow
        assert outflow is not None
        while self._writable and not outflow.send(_TURN_BYTES):
            if not outflow.is_blocked:
                return False
            # The transport waits for the socket with a little of it, and tells us when that is gone.
            transport.set_write_buffer_limits(high=0)
            transport.write(outflow.take(_PART_BYTES))
        if outflow.is_done:
            transport.set_write_buffer_limits(high=_WRITE_HIGH_BYTES)
            self._end_outflow()
            self._drop_first()
            return not self._replies
        return True

    def _flush_later(self) -> None:
        self.flush()
        self.relax()

    def _end_outflow(self) -> None:
        if self._outflow is not None:
            self._outflow.close()
            self._outflow = None

    def _drop_first(self) -> None:
        reply = self._replies.popleft()
        if isinstance(reply, Replies):
            self._joined -= reply.requests - 1

    def _write_now(self, transport: asyncio.Transport, data: bytes) -> None:
        """Send *data*, which is short, straight to the socket: the transport would do so a little later."""
        if self._descriptor >= 0 and not transport.get_write_buffer_size():
            sent = send_now(self._descriptor, data)
            if sent == len(data):
                return
            data = data[sent:]
        transport.write(data)

    def send(self, data: bytes) -> None:
        """Send *data* at once; for who has seen that no reply is before it."""
        transport = self.transport
        if transport is not None and not transport.is_closing():
            try:
                self._write_now(transport, data)
            except OSError:
                self.abort()  # the client has gone
                return
            self._active_at = self._loop.time()
            self.door.busy_poll.replied()

    def hold(self) -> None:
        """Stop reading."""
        if self._reading and self.transport is not None and not self.transport.is_closing():
            self._reading = False
            self.transport.pause_reading()

    def relax(self) -> None:
        """Go on where `hold` stopped, if this client may."""
        if self._reading or self.busy or self.transport is None or self.transport.is_closing():
            return
        self.proceed()

    def read_on(self) -> None:
        if not self._reading and self.transport is not None and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()

    def mute(self, seconds: float) -> None:
        """Hear nothing from this client for so long, whatever it sends; what it is owed is still sent."""
        if self._muted is not None:
            self._muted.cancel()
        self._muted = self._loop.call_later(seconds, self._unmute)
        self.hold()

    def failed(self, error: BaseException) -> None:
        """A request brought out a bug of ours: log it once, and close."""
        log.error("request failed door=%s peer=%s", self.door.name, self.host, exc_info=error)
        self.refuse("an error of ours; the log has it")

    def refuse(self, reason: str) -> None:
        """Close at once, since *reason* leaves nothing sensible to reply."""
        if self.transport is not None and not self.transport.is_closing():
            self.door.refuse(self.host, reason)
            self.abort()

    def end(self) -> None:
        """Close once all replies are sent."""
        self._ending = True
        self.flush()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def look(self, now: float) -> None:
        """Close if something took too long."""
        config = self.door.config()
        if self.transport is not None and self.transport.is_closing():
            self._look_at_end(now, config.write_timeout_ms / 1000)
            return
        since = self.waiting_since()
        if since is not None and now - since > config.frame_timeout_ms / 1000:
            self.refuse(f"a request did not arrive whole in {config.frame_timeout_ms} ms")
        elif self._stalled(now, config.write_timeout_ms / 1000):
            self.refuse(f"the client took none of its replies for {config.write_timeout_ms} ms")
        elif not self._replies and now - self._active_at > config.idle_ms / 1000:
            self.refuse(f"idle for {config.idle_ms} ms")
        else:
            self.tidy()

    def _look_at_end(self, now: float, seconds: float) -> None:
        """It is closed once all is sent: not if the client takes nothing of that."""
        if self._stalled_at is None:
            self._stalled_at = now
        elif self._stalled(now, seconds):
            self.abort()

    def _stalled(self, now: float, seconds: float) -> bool:
        if self._stalled_at is None or self.transport is None:
            return False
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent_bytes:
            self._stalled_at = now  # slow, but alive
        self._unsent_bytes = unsent
        return now - self._stalled_at > seconds

    def _given(self, then: Callable[[T], None], future: "asyncio.Future[T]") -> None:
        self._waiting.pop(future, None)
        if not future.cancelled():
            then(future.result())

    def _finished(self, task: "asyncio.Future[None]") -> None:
        awaited = self._waiting.pop(task, None)
        if task.cancelled():
            _abandon(awaited)  # the client may have left before it was begun
            return
        error = task.exception()
        if error is not None:
            self.failed(error)

    def _unmute(self) -> None:
        self._muted = None
        self.relax()


def _abandon(work: object) -> None:
    """Close *work* if it was never begun, and whatever it was given to await: nobody else would."""
    if inspect.iscoroutine(work) and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
        given = {} if work.cr_frame is None else work.cr_frame.f_locals
        for each in list(given.values()):
            _abandon(each)
        work.close()
