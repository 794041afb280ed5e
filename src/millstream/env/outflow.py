"""Large replies, sent beside the transport, which must have nothing of its own to send meanwhile.

Files are handed to the socket by `sendfile`, without passing through this process.
Nothing is kept for a client that is slow: what its socket does not take stays in
the file.
"""

import errno
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol, cast, final

from millstream.env.disk import Buffer, File

BUFFERS: Final = (bytes, bytearray, memoryview)
LARGE_BYTES: Final = 64 << 10  # what is smaller is read: to copy it costs less than a call of its own
KEPT_BYTES: Final = 2 << 20  # of one reply in memory, for a client that may be slow
_TINY_BYTES: Final = 4 << 10  # as `LARGE_BYTES`, of a reply that is too large to be kept
_NEVER_WAITS: Final = getattr(socket, "SOCK_NONBLOCK", 0)
_MSG_MORE: Final = getattr(socket, "MSG_MORE", 0)  # elsewhere the beginning of a reply leaves by itself


class Payload(Protocol):
    """A part of a reply that stays on disk until it is sent."""

    @property
    def file(self) -> File: ...

    @property
    def position(self) -> int: ...

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


Piece = Buffer | Payload


class Shown(Protocol):
    """As much as both loops show of a transport's socket."""

    @property
    def family(self) -> int: ...

    @property
    def type(self) -> int: ...

    @property
    def proto(self) -> int: ...

    def fileno(self) -> int: ...


@final
class Plug:
    """The socket of a transport, for who has something to send beside it."""

    __slots__ = ("_kind", "descriptor")

    def __init__(self, shown: Shown) -> None:
        self.descriptor = shown.fileno()
        # Whatever a program has set as the time-out of its sockets: this one must never wait.
        self._kind = int(shown.family), int(shown.type) | _NEVER_WAITS, int(shown.proto)

    def send(self, data: memoryview, *, more: bool) -> int:
        """How many bytes of *data* the socket takes; it may wait with them if there is *more* to come."""
        # An object of ours for the socket of another: made for this call, and gone without closing it.
        own = socket.SocketType(*self._kind, self.descriptor)
        try:
            return own.send(data, _MSG_MORE if more else 0)
        finally:
            own.detach()


class Transport(Protocol):
    def get_extra_info(self, name: str) -> object: ...


def plug_of(transport: Transport) -> Plug | None:
    """The socket of *transport*, if files may be sent to it as they are.

    Not through TLS, nor where there is no socket, as in the simulator.
    """
    if not hasattr(os, "sendfile") or transport.get_extra_info("sslcontext") is not None:
        return None
    shown = transport.get_extra_info("socket")
    return Plug(cast(Shown, shown)) if hasattr(shown, "fileno") else None


def send_now(descriptor: int, data: bytes) -> int:
    """How many bytes of *data* the socket takes at once."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


def on_disk(pieces: Sequence[Piece]) -> int:
    """How many bytes of *pieces* lie in files that can be sent from."""
    size = 0
    for piece in pieces:
        if not isinstance(piece, BUFFERS):
            if not piece.file.lends:
                return 0
            size += piece.size
    return size


@final
class _Range:
    __slots__ = ("descriptor", "left", "position")

    def __init__(self, descriptor: int, position: int, left: int) -> None:
        self.descriptor = descriptor
        self.position = position
        self.left = left


@final
class Outflow:
    """One reply under way. Its files stay open until `close`: whoever deletes one does not take it away."""

    def __init__(self, plug: Plug, pieces: Sequence[Piece], size: int) -> None:
        """*pieces* have *size* bytes on disk: see `on_disk`."""
        self.is_blocked = False
        self._plug = plug
        self._parts: deque[memoryview | _Range] = deque()
        self._borrowed: list[File] = []
        small: list[Buffer] = []
        least = _TINY_BYTES if size > KEPT_BYTES else LARGE_BYTES
        try:
            for piece in pieces:
                if isinstance(piece, BUFFERS):
                    small.append(piece)
                elif piece.size < least:
                    small.append(read_whole(piece))
                else:
                    descriptor = piece.file.lend()
                    self._borrowed.append(piece.file)
                    self._add(small)
                    small = []
                    self._parts.append(_Range(descriptor, piece.position, piece.size))
        except BaseException:
            self.close()
            raise
        self._add(small)

    @property
    def is_done(self) -> bool:
        return not self._parts

    def send(self, most: int) -> bool:
        """Send as much as the socket takes, but not much more than *most*; whether that was all.

        If not, *is_blocked* tells that the socket took no more.
        """
        parts = self._parts
        self.is_blocked = False
        while parts and most > 0:
            part = parts[0]
            try:
                if isinstance(part, _Range):
                    count = min(part.left, most)
                    sent = os.sendfile(self._plug.descriptor, part.descriptor, part.position, count)
                    self._sent(part, sent)
                else:
                    sent = self._plug.send(part, more=len(parts) > 1)
                    self._drop(part, sent)
                most -= sent
            except BlockingIOError:
                self.is_blocked = True
                return False
        return not parts

    def take(self, most: int) -> bytes:
        """The next bytes, up to *most* of them, for somebody else to send."""
        part = self._parts[0]
        if isinstance(part, _Range):
            data = os.pread(part.descriptor, min(most, part.left), part.position)
            self._sent(part, len(data))
        else:
            data = bytes(part[:most])
            self._drop(part, len(data))
        return data

    def close(self) -> None:
        """Give back what was borrowed."""
        self._parts.clear()
        while self._borrowed:
            self._borrowed.pop().give_back()

    def _add(self, small: list[Buffer]) -> None:
        if small:
            self._parts.append(memoryview(small[0] if len(small) == 1 else b"".join(small)))

    def _sent(self, part: _Range, count: int) -> None:
        if not count:
            raise _cut_short()
        part.position += count
        part.left -= count
        if not part.left:
            self._parts.popleft()

    def _drop(self, part: memoryview, count: int) -> None:
        if count == len(part):
            self._parts.popleft()
        else:
            self._parts[0] = part[count:]


def read_whole(payload: Payload) -> bytes:
    """All of *payload*: a reply has said how long it is."""
    data = payload.read()
    if len(data) != payload.size:
        raise _cut_short()
    return data


def _cut_short() -> OSError:
    return OSError(errno.EIO, "a file was cut under its reader")
