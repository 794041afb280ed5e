"""Finding out that the other end of a quiet connection is no longer there."""

import socket
from typing import Any, Final

_IDLE_SECONDS: Final = 60
_BETWEEN_SECONDS: Final = 20
_PROBES: Final = 3


def keep_alive(there: Any) -> None:
    """Have the system ask after whoever is at the socket *there*, None if simulated, while it is quiet."""
    if there is None or there.family not in (socket.AF_INET, socket.AF_INET6):
        return
    there.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_SECONDS)
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _BETWEEN_SECONDS)
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
