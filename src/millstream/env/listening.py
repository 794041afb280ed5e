"""Listening for clients, of whom many may come at once.

uvloop takes in one client a listening socket and turn of its loop. When a thousand
come back after a restart, the last of them would wait until those before had a
thousand turns of work done. So it is given each socket several times.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Final

from millstream.env.busy_poll import epoll_of
from millstream.env.neighbours import unpace_all

_BACKLOG: Final = 1024
_TIMES: Final = 8


async def listen(
    connection: Callable[[], asyncio.BaseProtocol], host: str, port: int
) -> Sequence[asyncio.Server]:
    """Have a *connection* for each client that comes; OSError if the address is taken.

    Each of the servers listens there until it is closed.
    """
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(connection, host, port, backlog=_BACKLOG, reuse_address=True)]
    for shown in servers[0].sockets:
        unpace_all(shown)
    if isinstance(loop, asyncio.SelectorEventLoop) or epoll_of(loop) is None:
        return servers  # asyncio's own takes in all that are there, and a simulated one has no sockets
    try:
        for shown in list(servers[0].sockets) * (_TIMES - 1):
            same = socket.fromfd(shown.fileno(), shown.family, shown.type)
            try:
                servers.append(await loop.create_server(connection, sock=same, backlog=_BACKLOG))
            except BaseException:
                same.close()  # nobody else has it yet
                raise
    except BaseException:
        for server in servers:
            server.close()
        raise
    return servers
