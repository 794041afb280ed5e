"""Clients on this machine: what TCP does for a path is in their way.

There is no path: what one program sends is in the memory of the other. So

- they are sent to as fast as they take it. BBR, which many systems choose, sends by a
  timer, as fast as it believes the path to be, and most of the time goes to the timers.
  Plain TCP takes its place;
- who sends large requests may send several ahead. What does not fit is kept at the
  sender, and moved on whenever the receiver has made room, on the receiver's processor.

To other machines it is left to the system, whose administrator has chosen.
"""

import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, cast

_CONGESTION: Final[int | None] = getattr(socket, "TCP_CONGESTION", None)  # Linux and FreeBSD have it
_NAME_BYTES: Final = 16
_PACES: Final = b"bbr"  # so do its later versions, which are called bbr2 and so on
_PLAIN: Final = b"reno"  # every Linux has it, and lets everybody choose it
_MOST_RECEIVED: Final = Path("/proc/sys/net/core/rmem_max")
_AHEAD_BYTES: Final = 4 << 20


def unpace_all(listening: object) -> None:
    """Do not pace what goes to clients that come to the socket *listening*, if all are on this machine."""
    there = _socket_of(listening)
    if there is not None and _is_loopback(there.getsockname()) and _is_paced(there):
        _unpace(there)


def unpace(shown: object) -> None:
    """Pace what goes to the client at the socket *shown* less, if it is on this machine.

    It keeps the timer, which a client that came to a door for this machine alone never had.
    """
    there = _socket_of(shown)
    if there is not None and _is_paced(there) and _is_neighbour(there):  # few are paced: one question
        _unpace(there)


def receive_ahead(shown: object) -> None:
    """Let the client at the socket *shown* send megabytes before we receive any, if it is on this machine."""
    there = _socket_of(shown)
    if there is not None and _may_be_ahead() and _is_neighbour(there):
        with suppress(OSError):  # as for pacing
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _AHEAD_BYTES)


def _socket_of(shown: object) -> socket.socket | None:
    return cast(socket.socket, shown) if hasattr(shown, "getsockopt") else None  # else it is simulated


def _is_neighbour(there: socket.socket) -> bool:
    """Whether the client at *there* is on this machine."""
    try:
        here, client = there.getsockname(), there.getpeername()
    except OSError:  # it may have gone by now
        return False
    return isinstance(here, tuple) and (here[0] == client[0] or _is_loopback(client))


def _is_paced(there: socket.socket) -> bool:
    if _CONGESTION is None:
        return False
    try:
        return there.getsockopt(socket.IPPROTO_TCP, _CONGESTION, _NAME_BYTES).startswith(_PACES)
    except OSError:  # no TCP, say
        return False


def _unpace(there: socket.socket) -> None:
    assert _CONGESTION is not None
    with suppress(OSError):  # it is to save time: where it cannot be done, things go on as they are
        there.setsockopt(socket.IPPROTO_TCP, _CONGESTION, _PLAIN)


@cache
def _may_be_ahead() -> bool:
    """Whether the system lets us ask for so much; it would give less than it does by itself otherwise."""
    try:
        return int(_MOST_RECEIVED.read_text()) >= _AHEAD_BYTES
    except (OSError, ValueError):  # no Linux
        return False


def _is_loopback(address: object) -> bool:
    return isinstance(address, tuple) and (address[0] == "::1" or address[0].startswith("127."))
