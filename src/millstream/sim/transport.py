"""Simulated TCP: ordered, late, cut into arbitrary pieces, and never lossy while it lasts.

    writer -> unsent -> flying -> inbox -> reader

`unsent` is the transport's own buffer, which a crash loses. `flying` and
`inbox` are the kernels' and the wire's, together no larger than the window; a
reader that stops reading fills them, and then the writer is told to pause.
A cut holds bytes as a broken link does, and gives them all back when healed.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from enum import Enum
from typing import TYPE_CHECKING, Final, final

from millstream.sim.life import HERE, Life

if TYPE_CHECKING:
    from millstream.sim.network import Network

Address = tuple[str, int]
Factory = Callable[[], asyncio.BaseProtocol]

_RECEIVE_BYTES: Final = 1 << 18  # what asyncio asks of a socket at a time


class Mark(Enum):
    """What travels in a stream beside bytes."""

    END = "end"  # the writer is done: FIN
    RESET = "reset"  # the connection is gone: RST


@final
class SimTransport(asyncio.Transport):
    """One end of a connection; what it tells its protocol is told as the node it belongs to."""

    peer: "SimTransport"

    def __init__(self, network: "Network", context: Context, local: Address, remote: Address) -> None:
        super().__init__({"sockname": local, "peername": remote, "socket": None})
        self.context = context
        self.life: Life | None = context.get(HERE)
        self.node = local[0]
        self._network = network
        self._loop = network.loop
        self._protocol: asyncio.BaseProtocol = asyncio.Protocol()
        # Towards the peer
        self._unsent: deque[memoryview | Mark] = deque()
        self._unsent_bytes = 0
        self._flying: deque[bytes | Mark] = deque()
        self._window_used = 0
        self._arrives_at = 0.0
        # From the peer
        self._inbox: deque[bytes | Mark] = deque()
        self._reading = False
        self._delivery_due = False
        # Our own state
        self._broken = False
        self._closing = False
        self._closed = False
        self._ended = False
        self._protocol_paused = False
        self._high = 1 << 16
        self._low = 1 << 14

    def join(self, peer: "SimTransport") -> None:
        self.peer, peer.peer = peer, self

    def open(self, factory: Factory) -> asyncio.BaseProtocol:
        """Make the protocol and begin to read; runs as the node."""
        self._protocol = factory()
        self._protocol.connection_made(self)
        if not self._closing:
            self._reading = True
            self._deliver_soon()
        return self._protocol

    # What protocols ask of a transport

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._closing and not self._reading:
            self._reading = True
            self._deliver_soon()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        if self._closing:
            return
        assert not self._ended, "written after write_eof"
        for data in list_of_data:
            # Not copied until it is sent, as uvloop does: who changes a buffer after writing it is found out.
            view = memoryview(data).cast("B")
            if len(view):
                self._unsent.append(view)
                self._unsent_bytes += len(view)
        if self._broken:
            self._fail_soon()
            return
        self._pump()
        if self._unsent_bytes > self._high and not self._protocol_paused:
            self._protocol_paused = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._ended and not self._closing:
            self._ended = True
            self._unsent.append(Mark.END)
            self._pump()

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = 1 << 16 if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high}) must not be below low ({low}), nor low below 0")
        self._high, self._low = high, low

    def close(self) -> None:
        """Stop reading, send what is left, then say goodbye."""
        if self._closing:
            return
        self._closing = True
        self._reading = False
        if self._inbox and self._inbox[0] is not Mark.END:
            # As TCP does: who closes without having read everything resets the connection.
            self._unsent.append(Mark.RESET)
        elif not self._ended:
            self._unsent.append(Mark.END)
        self._ended = True
        self._pump()

    def abort(self) -> None:
        """Drop what is left, and the connection with it."""
        self._lose(None)
        self.send_mark(Mark.RESET)

    # What the simulation does with it

    def send_mark(self, mark: Mark, after: float = 0.0) -> None:
        """Send *mark* behind what is already on its way."""
        self._flying.append(mark)
        self.arrive_later(after)

    def die(self, reset_after: float) -> None:
        """Its node is gone: no callback any more, what was unsent is lost, the peer is reset."""
        self._closing = self._closed = True
        self._network.gone(self)
        self._drop_unsent()
        if self._network.random.random() < 0.5:  # what was on the wire may be lost with the machine
            self._flying = deque(b"" for _ in self._flying)
        self.send_mark(Mark.RESET, reset_after)

    def arrive_later(self, after: float = 0.0) -> None:
        """Let the oldest thing flying arrive, when its time comes."""
        # A stream keeps its order: nothing overtakes what was sent before.
        network = self._network
        self._arrives_at = max(self._arrives_at, self._loop.time() + after + network.delay())
        self._loop.call_at(self._arrives_at, self._arrive, context=network.outside)

    # Bytes on their way out

    def _pump(self) -> None:
        """Send as much as the window takes; runs as the kernel, or in the writer's own call."""
        network = self._network
        while self._unsent:
            head = self._unsent[0]
            if isinstance(head, Mark):
                self._unsent.popleft()
                self.send_mark(head)
                continue
            room = network.weather.window_bytes - self._window_used
            if room <= 0:
                break
            size = min(len(head), room)
            if size > 1 and network.random.random() < network.weather.split_chance:
                size = 1 + int(network.random.random() * (size - 1))
            if size == len(head):
                self._unsent.popleft()
            else:
                self._unsent[0] = head[size:]
            self._unsent_bytes -= size
            self._window_used += size
            self._flying.append(bytes(head[:size]))
            self.arrive_later()
        if self._protocol_paused and self._unsent_bytes <= self._low:
            self._loop.call_soon(self._resume_protocol, context=self.context)
        if self._closing and not self._unsent and not self._closed:
            self._lose(None)

    def _resume_protocol(self) -> None:
        if self._protocol_paused and not self._closed and self._unsent_bytes <= self._low:
            self._protocol_paused = False
            self._protocol.resume_writing()

    def _arrive(self) -> None:
        """The oldest thing flying reaches the peer's kernel, unless the link is cut."""
        if self._network.is_cut(self.node, self.peer.node):
            self._network.hold(self)
        elif self._flying:
            self.peer._accept(self._flying.popleft())

    # Bytes on their way in

    def _accept(self, piece: bytes | Mark) -> None:
        """*piece* arrives; runs as the kernel, whatever the node does."""
        if self._closed:
            if not isinstance(piece, Mark) and (self.life is None or self.life.alive):
                self.send_mark(Mark.RESET)  # bytes for a socket that is closed
            return
        if piece == b"":
            return
        if isinstance(piece, bytes) and self.life is not None:
            self._loop.trace.data(self._loop.time(), self.life.number, piece)
        self._inbox.append(piece)
        if piece is Mark.RESET:
            self._broken = True
            if self._unsent:
                self._fail_soon()
        self._deliver_soon()

    def _deliver_soon(self) -> None:
        if self._inbox and self._reading and not self._delivery_due:
            self._delivery_due = True
            self._loop.call_soon(self._deliver, context=self.context)

    def _deliver(self) -> None:
        """Hand the protocol what has arrived; runs as the node."""
        self._delivery_due = False
        if self._closing or not self._reading or not self._inbox:
            return
        try:
            if isinstance(self._inbox[0], Mark):
                self._deliver_mark(self._inbox[0])
            else:
                self._deliver_bytes()
        except Exception as error:  # asyncio's transports end the connection on any error of the protocol
            self._loop.call_exception_handler(
                {"message": "a protocol failed", "exception": error, "transport": self}
            )
            self.abort()
        self._deliver_soon()

    def _deliver_mark(self, mark: Mark) -> None:
        self._inbox.popleft()
        if mark is Mark.RESET:
            self._lose(ConnectionResetError(errno.ECONNRESET, "connection reset by peer"))
        else:
            assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol)
            if not self._protocol.eof_received():
                self.close()

    def _deliver_bytes(self) -> None:
        protocol = self._protocol
        if isinstance(protocol, asyncio.BufferedProtocol):
            buffer = memoryview(protocol.get_buffer(-1)).cast("B")
            assert len(buffer), "get_buffer gave no room"
            data = self._take(min(len(buffer), _RECEIVE_BYTES))
            buffer[: len(data)] = data
            del buffer  # the protocol may want to resize it
            self.peer._read(len(data))
            protocol.buffer_updated(len(data))
        else:
            assert isinstance(protocol, asyncio.Protocol)
            data = self._take(_RECEIVE_BYTES)
            self.peer._read(len(data))
            protocol.data_received(data)

    def _take(self, limit: int) -> bytes:
        """Up to *limit* bytes from the inbox, as one read of a socket gives them."""
        head = self._inbox.popleft()
        assert isinstance(head, bytes)
        if len(head) < limit and self._inbox and isinstance(self._inbox[0], bytes):
            parts, size = [head], len(head)
            while size < limit and self._inbox and isinstance(more := self._inbox[0], bytes):
                parts.append(more)
                size += len(more)
                self._inbox.popleft()
            head = b"".join(parts)
        if len(head) > limit:
            self._inbox.appendleft(head[limit:])
            head = head[:limit]
        return head

    def _read(self, size: int) -> None:
        """The peer has read *size* bytes of ours, so that more may follow."""
        self._window_used -= size
        if self._unsent:
            self._loop.call_soon(self._pump_unless_dead, context=self._network.outside)

    def _pump_unless_dead(self) -> None:
        if not self._closed:
            self._pump()

    # Ends

    def _fail_soon(self) -> None:
        error = ConnectionResetError(errno.ECONNRESET, "connection reset by peer")
        self._loop.call_soon(self._lose, error, context=self.context)

    def _lose(self, error: Exception | None) -> None:
        """The connection is over; the protocol hears of it once, soon."""
        if self._closed:
            return
        self._closing = self._closed = True
        self._reading = False
        self._drop_unsent()
        self._network.gone(self)
        self._loop.call_soon(self._protocol.connection_lost, error, context=self.context)

    def _drop_unsent(self) -> None:
        self._unsent.clear()
        self._unsent_bytes = 0
