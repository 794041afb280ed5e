"""Connections of one's own.

A broker answers the requests of one connection in order, so a fetch or a join
that is parked there holds up all that follow. Whoever parks takes a lane.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import final

from millstream.client.connection import Connection


@final
class Lane:
    """At most one connection to each broker, opened when it is first needed."""

    def __init__(self, open: Callable[[int], Awaitable[Connection]]) -> None:
        self._open = open
        self._connections: dict[int, Connection] = {}
        self._opening: dict[int, asyncio.Lock] = {}

    async def to(self, node: int) -> Connection:
        """The connection to broker *node*; Unreachable if there can be none."""
        connection = self.ready(node)
        if connection is not None:
            return connection
        async with self._opening.setdefault(node, asyncio.Lock()):
            connection = self.ready(node)
            if connection is None:
                connection = self._connections[node] = await self._open(node)
            return connection

    def ready(self, node: int) -> Connection | None:
        """The connection to *node*, if it is open already."""
        connection = self._connections.get(node)
        return None if connection is None or connection.closed else connection

    def nodes(self) -> list[int]:
        """The brokers that we are connected to."""
        return [node for node in sorted(self._connections) if self.ready(node)]

    async def close(self) -> None:
        """Close every connection."""
        connections, self._connections = self._connections, {}
        for node in sorted(connections):
            await connections[node].close()
