"""A broker that does as it is told, for what a real one would rarely do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from millstream.client.connection import Connection
from millstream.sim.loop import SimLoop
from millstream.wire.apis import APIS, RequestHeader
from millstream.wire.frame import FrameBuffer, response_frame
from millstream.wire.message import Message, read_message
from millstream.wire.messages.api_versions import ApiVersionsResponse, ApiVersionsResponseApiKey
from millstream.wire.primitives import Reader

T = TypeVar("T")
Answer = Callable[[Any], Message | Awaitable[Message | None] | None]


class Peer:
    """Answers each request by the function given for its name; None leaves it unanswered.

    *versions* are what it claims to speak; all else is as our own broker has it.
    *heard* keeps what it was asked, as (name, version, request).
    """

    def __init__(
        self, answers: dict[str, Answer], versions: dict[str, tuple[int, int]] | None = None
    ) -> None:
        self.heard: list[tuple[str, int, Message]] = []
        self.port = 0
        self._answers = {"ApiVersions": self._versions, **answers}
        self._claimed = versions or {}
        self._writers: list[asyncio.StreamWriter] = []

    def asked(self, name: str) -> list[Any]:
        return [request for heard, _, request in self.heard if heard == name]

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    @asynccontextmanager
    async def serving(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator["Peer"]:
        server = await asyncio.start_server(self._serve, host, port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.hang_up()

    @asynccontextmanager
    async def connected(self, **options: Any) -> AsyncIterator[Connection]:
        async with self.serving():
            connection = await Connection.open("127.0.0.1", self.port, **options)
            yield connection
            await connection.close()

    def _versions(self, _: Message) -> Message:
        keys = []
        for api in APIS.values():
            low, high = self._claimed.get(api.name, (api.min, api.max))
            keys.append(ApiVersionsResponseApiKey(api.key, low, high))
        return ApiVersionsResponse(api_keys=keys)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        frames = FrameBuffer()
        while data := await reader.read(65536):
            frames.feed(data)
            while (frame := frames.next()) is not None:
                source = Reader(frame)
                header = RequestHeader.read(source)
                api = APIS[header.api_key]
                request = read_message(api.request, frame[source.position :], header.api_version)
                self.heard.append((api.name, header.api_version, request))
                answer = self._answers[api.name](request)
                response = await answer if isinstance(answer, Awaitable) else answer
                if response is not None:
                    writer.write(response_frame(response, header.api_version, header.correlation_id))


def play(story: Coroutine[Any, Any, T], seed: int = 1) -> T:
    """Run *story* where time and network are simulated; nothing may be left unhandled."""
    loop = SimLoop(seed)
    try:
        result = loop.run_until_complete(story)
        assert not loop.mishaps, loop.mishaps
        return result
    finally:
        loop.close()
