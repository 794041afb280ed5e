"""A broker with HTTP doors in this process, and a client that knows no more than HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple

from tests.broker.support import SESSION, running

from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.env.clock import SystemClock
from millstream.env.disk import Disk
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.http.admin_door import AdminDoor
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.connection import HttpConnection
from millstream.gateways.http.queue_door import QueueDoor
from millstream.sim.disk import SimDisk


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Doors:
    """Both HTTP doors of one broker."""

    def __init__(self, broker: Broker, queue: int, admin: int, doors: Mapping[str, Door]) -> None:
        self.broker = broker
        self.queue = queue
        self.admin = admin
        self.doors = doors

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        admin: bool = False,
    ) -> Answer:
        """One request on a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.admin if admin else self.queue)
        try:
            writer.write(request_bytes(method, path, body, {"connection": "close", **(headers or {})}))
            return await read_answer(reader, head=method == "HEAD")
        finally:
            writer.close()


def request_bytes(
    method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> bytes:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "host: localhost"]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


async def read_answer(reader: asyncio.StreamReader, *, head: bool = False) -> Answer:
    lines = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode().split("\r\n")
    headers = {}
    for line in lines[1:]:
        if line:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
    body = b""
    if head:
        pass
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    elif "content-length" in headers:
        body = await asyncio.wait_for(reader.readexactly(int(headers["content-length"])), 60)
    return Answer(int(lines[0].split()[1]), headers, body)


@asynccontextmanager
async def doors(
    settings: Mapping[str, object] | None = None,
    disk: Disk | None = None,
    topics: Mapping[str, int] | None = None,
) -> AsyncIterator[Doors]:
    async with running(disk or SimDisk(Random(1)), settings, SystemClock()) as broker:
        for name, partitions in ({"my-topic": 2} if topics is None else topics).items():
            if name not in broker.topics:
                await broker.create_topics(SESSION, [NewTopic(name, partitions)])
        loop = asyncio.get_running_loop()
        servers, made, ports = [], {}, {}

        def gateway() -> GatewayConfig:
            return broker.live.get(GatewayConfig)

        def http() -> HttpConfig:
            return broker.live.get(HttpConfig)

        kinds = {
            "queue": QueueDoor(broker, SystemClock(), http),
            "admin": AdminDoor(broker, SystemClock(), http),
        }
        for name, kind in kinds.items():
            door = made[name] = Door(name, gateway, broker.quotas.connects)
            server = await loop.create_server(
                lambda door=door, kind=kind: HttpConnection(door, kind),  # type: ignore[misc]
                "127.0.0.1",
                0,
            )
            servers.append(server)
            ports[name] = server.sockets[0].getsockname()[1]
        try:
            yield Doors(broker, ports["queue"], ports["admin"], made)
        finally:
            for server in servers:
                server.close()
            for door in made.values():
                door.hold()
                await door.close(1.0)
