"""Records pushed to browsers, by Server-Sent Events and by WebSocket.

Every event has an id that tells how far the stream has come in all its
partitions, `0:17,1:4`: whoever comes back with it, in `last-event-id` or as
`from`, goes on behind it. A listener that does not keep up is not read for; if
it takes nothing at all, its connection is closed.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final, cast, final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket

from millstream.broker.read import Records
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.queue import Queue
from millstream.gateways.http.values import message_bytes
from millstream.gateways.http.wrong import Wrong, wrong

MAX_PARTITIONS: Final = 100  # in one stream: every event's id names them all

_QUIET_SECONDS: Final = 15.0  # then a word is said, so that a listener that has gone is found out
_BAD_REQUEST: Final = 4400  # WebSocket's codes for applications, nearest to HTTP's
_NOT_FOUND: Final = 4404


@final
class Push:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    async def events(self, request: Request) -> Response:
        """Server-Sent Events: an event a record."""
        came = request.headers.get("last-event-id") or request.query_params.get("from") or "committed"
        topic = request.path_params["topic"]
        session = _session(request)
        offsets = await self._offsets(session, topic, request.query_params.get("partition"), came)
        return StreamingResponse(
            self._events(session, topic, offsets),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def websocket(self, socket: WebSocket) -> None:
        """A text message a record, the same that an event has."""
        topic = socket.path_params["topic"]
        session = _session(socket)
        came = socket.query_params.get("from") or "committed"
        await socket.accept()
        try:
            offsets = await self._offsets(session, topic, socket.query_params.get("partition"), came)
            async with aclosing(self._helpings(session, topic, offsets)) as helpings:
                async for helping in helpings:
                    if helping is not None:
                        for id, message in _messages(topic, helping, offsets):
                            await socket.send_text(f'{{"id":"{id}",{message[1:].decode()}')
        except (Wrong, Refused) as error:
            refusal = error if isinstance(error, Wrong) else wrong(error)
            body = {"success": False, "error": refusal.message, "errorCode": refusal.code}
            await socket.send_text(json_bytes(body).decode())
            await socket.close(_NOT_FOUND if refusal.status == 404 else _BAD_REQUEST)

    async def _events(self, session: Session, topic: str, offsets: dict[int, int]) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            async with aclosing(self._helpings(session, topic, offsets)) as helpings:
                async for helping in helpings:
                    if helping is None:
                        yield b": still here\n\n"
                        continue
                    yield b"".join(_event(*each) for each in _messages(topic, helping, offsets))
        except Refused as refusal:
            body = json_bytes({"success": False, "error": refusal.detail, "errorCode": refusal.code.name})
            yield b"event: error\ndata: %b\n\n" % body

    async def _helpings(
        self, session: Session, topic: str, offsets: Mapping[int, int]
    ) -> AsyncGenerator[Records | None, None]:
        """What the topic gives; None where it has given nothing for a while."""
        following = self._queue.broker.follow(session, topic, offsets)
        coming: asyncio.Future[Records] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(following))
                done, _ = await asyncio.wait([coming], timeout=_QUIET_SECONDS)
                if not done:
                    yield None
                    continue
                helping, coming = coming.result(), None
                yield helping
        finally:
            if coming is not None:
                coming.cancel()

    async def _offsets(
        self, session: Session, topic: str, partition: str | None, came: str
    ) -> dict[int, int]:
        """Where to begin in each partition that is wanted."""
        broker = self._queue.broker
        count = self._queue.partition_count(topic)
        if partition is not None:
            indexes = [self._queue.hosted(topic, partition).partition.index]
        elif count > MAX_PARTITIONS:
            raise Wrong(400, "INVALID_REQUEST", f"{topic} has {count} partitions: say which, with partition=")
        else:
            indexes = list(range(count))
        partitions = {index: broker.topics.hosted(topic, index).partition for index in indexes}
        if came == "earliest":
            return {index: each.log.start_offset for index, each in partitions.items()}
        if came == "latest":
            return {index: each.high_watermark for index, each in partitions.items()}
        offsets = await self._queue.read_offsets(session, topic, indexes)
        if came != "committed":
            given = _parse_id(came)
            for index in offsets.keys() & given.keys():
                offsets[index] = min(given[index], partitions[index].high_watermark)
        return offsets


def _messages(topic: str, helping: Records, offsets: dict[int, int]) -> list[tuple[str, bytes]]:
    """Each record with the id of its event; *offsets* move along."""
    messages = []
    for record in helping.records:
        offsets[helping.partition] = record.offset + 1
        id = ",".join(f"{index}:{offset}" for index, offset in sorted(offsets.items()))
        messages.append((id, message_bytes(topic, helping.partition, record, full=True)))
    return messages


def _event(id: str, message: bytes) -> bytes:
    # Line ends within JSON are only space.
    return b"id: %b\ndata: %b\n\n" % (id.encode(), message.replace(b"\n", b" ").replace(b"\r", b" "))


def _parse_id(text: str) -> dict[int, int]:
    try:
        pairs = [part.split(":") for part in text.split(",")]
        return {int(index): max(int(offset), 0) for index, offset in pairs}
    except ValueError:
        raise Wrong(
            400,
            "INVALID_REQUEST",
            f"{text[:100]!r} is no place in a stream: committed, earliest, latest and ids of events are",
        ) from None


def _session(connection: Request | WebSocket) -> Session:
    known = connection.scope.get("state", {}).get("session")
    return cast(Session, known) if known is not None else Session("http", "")
