"""What the doors share whose requests are lines: JSON lines and text.

All whole lines of what was received are handled in one go, so that requests
which arrive together are written together. A line that is too long is answered
with an error and not kept: what is left of it is thrown away as it comes.
"""

import asyncio
from abc import abstractmethod
from collections import deque
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.env.keepalive import keep_alive
from millstream.env.outflow import Piece
from millstream.errors import Refused
from millstream.gateways.connection import Connection, Door, Reply

_UNSAFE_MAX: Final = 8_000  # records of one connection that are written and not durable yet
_LINES_A_TURN: Final = 1_000  # handled for one connection before others get the loop
_FREE_BYTES: Final = 64 << 10  # of a line that is still arriving; for more the door's budget is asked


@final
class Lines:
    """Feed it what arrives; take whole lines, without their ends. None stands for one that was too long."""

    def __init__(self, max_bytes: int) -> None:
        self.partial_bytes = 0
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._skipping = False

    @property
    def is_partial(self) -> bool:
        """Whether a line has begun and not ended."""
        return self.partial_bytes > 0 or self._skipping

    def feed(self, data: bytes) -> list[bytes | None]:
        lines: list[bytes | None] = [*data.split(b"\n")]
        rest = lines.pop()
        assert rest is not None
        if lines:
            if self.is_partial:
                lines[0] = self._whole(lines[0] or b"")
            if len(data) > self._max_bytes:
                lines = [None if line is None or len(line) > self._max_bytes else line for line in lines]
        self._keep(rest)
        return lines

    def end(self) -> list[bytes | None]:
        """What was received last ends without a line end."""
        return self.feed(b"\n") if self.is_partial else []

    def _whole(self, rest: bytes) -> bytes | None:
        whole = None
        if not self._skipping and self.partial_bytes + len(rest) <= self._max_bytes:
            whole = b"".join((*self._parts, rest))
        self._skipping = False
        self._drop()
        return whole

    def _keep(self, part: bytes) -> None:
        if part and not self._skipping:
            self._parts.append(part)
            self.partial_bytes += len(part)
            if self.partial_bytes > self._max_bytes:
                self._skipping = True
                self._drop()

    def _drop(self) -> None:
        self._parts.clear()
        self.partial_bytes = 0


class LineConnection(Connection):
    """One client whose requests are lines. A door's own kind says what they mean, in `advance`.

    *waiting* are lines not handled yet; *blocked* is set while one that was begun
    must end before the next may begin; *unsafe* counts records that are not durable yet.
    """

    def __init__(self, door: Door, broker: Broker, client_id: str) -> None:
        super().__init__(door)
        self.broker = broker
        self.session = Session(client_id, "")
        self.waiting: deque[bytes | None] = deque()
        self.blocked = False
        self.unsafe = 0
        self._client_id = client_id
        self._line_max_bytes = door.config().line_max_bytes
        self._lines = Lines(self._line_max_bytes)
        self._began_at: float | None = None
        self._borrowed = 0
        self._wants = False
        self._yields = False
        self._ended = False

    @property
    def has_work(self) -> bool:
        """Whether something was received that is not begun."""
        return bool(self.waiting)

    @property
    def busy(self) -> bool:
        # What one sends without end must not keep the loop from all others, nor from the disk.
        return self.unsafe >= _UNSAFE_MAX or super().busy

    @abstractmethod
    def advance(self) -> None:
        """Handle the lines that *waiting* has, as far as may be."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.session = Session(self._client_id, self.host)
        keep_alive(transport.get_extra_info("socket"))

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.waiting.clear()
        self._give_back()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.door.scratch

    def buffer_updated(self, nbytes: int) -> None:
        self.door.busy_poll.received()
        self._received(self._lines.feed(bytes(self.door.scratch[:nbytes])))

    def eof_received(self) -> bool:
        self._ended = True
        self._received(self._lines.end())
        return self.transport is not None and not self.transport.is_closing()

    def proceed(self) -> None:
        """Send what may be sent, begin what may be begun, since something has ended."""
        self._handle()
        if not self._is_held():
            self.read_on()

    def waiting_since(self) -> float | None:
        return self._began_at if self._reading else None

    def tidy(self) -> None:
        """Nothing is kept beyond its use."""

    def answer(self, reply: Reply, *pieces: Piece) -> None:
        """The answer that *reply* kept a place for is known."""
        reply.pieces = pieces
        self.proceed()

    def throttle(self) -> None:
        """Hear nothing from this client for as long as it must wait for what it has used."""
        owed_ms = self.broker.quotas.owed_ms(self.session)
        if owed_ms:
            self.mute(owed_ms / 1000)

    def wait_for_room(self) -> None:
        """The disk is behind: begin nothing more until it has caught up."""
        self.blocked = True
        self.later(self._wait_for_room(), None)

    def after(self, future: "asyncio.Future[Any]") -> "asyncio.Future[Any]":
        """*future*, which ends with this client."""
        self._waiting[future] = None
        future.add_done_callback(self._forget)
        return future

    async def _wait_for_room(self) -> None:
        await self.broker.writes.room()
        self.blocked = False
        self.proceed()

    def _forget(self, future: "asyncio.Future[Any]") -> None:
        self._waiting.pop(future, None)

    def _received(self, lines: list[bytes | None]) -> None:
        self.waiting.extend(lines)
        if len(lines) > _LINES_A_TURN and not self._yields:
            self._yields = True
            self._loop.call_soon(self._go_on)
        if not self._lines.is_partial:
            self._began_at = None
        elif lines or self._began_at is None:
            self._began_at = self._loop.time()
        self._handle()
        if self._lines.partial_bytes > _FREE_BYTES:
            self._borrow()
        elif self._borrowed:
            self._give_back()
        if self._is_held():
            self.hold()

    def _go_on(self) -> None:
        """Others have had their turn."""
        self._yields = False
        self.relax()

    def _handle(self) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        try:
            self.advance()
        except Exception as error:
            self.failed(error)
            return
        self.flush()
        if self._ended and not self.has_work and not self.blocked:
            self.end()

    def _is_held(self) -> bool:
        """Whether nothing more may be read: what was read is not handled, or there is no memory for it."""
        return bool(self.waiting) or self.busy or self._wants or self._yields

    def _borrow(self) -> None:
        """See to it that the line which is arriving may become as long as any."""
        if self._borrowed or self._wants:
            return
        if self.door.budget.borrow(self._line_max_bytes):
            self._borrowed = self._line_max_bytes
        else:
            self._wants = True
            self.door.budget.wait(self._line_max_bytes, self._granted)

    def _granted(self) -> None:
        self._wants = False
        self._borrowed = self._line_max_bytes
        self._began_at = self._loop.time()  # the wait was ours
        self.relax()

    def _give_back(self) -> None:
        if self._wants:
            self._wants = False
            self.door.budget.forget(self._granted)
        borrowed, self._borrowed = self._borrowed, 0
        if borrowed:
            self.door.budget.repay(borrowed)


def said(refusal: Refused) -> str:
    """What a client is told of *refusal*, on one line."""
    return " ".join(refusal.detail.split())
