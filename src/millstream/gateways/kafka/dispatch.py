"""From a frame to a handler and back.

Handlers are imported when their API is first called, so that a node starts
with the few it needs.
"""

import asyncio
import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import iscoroutinefunction
from random import Random
from typing import Final, cast, final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.env.outflow import Piece
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.fetch_sessions import FetchSessions
from millstream.gateways.kafka.handlers import api_versions, fetch, produce
from millstream.gateways.kafka.in_turn import Answer, in_turn
from millstream.gateways.kafka.lanes import Lane, Lanes
from millstream.gateways.kafka.refrain import Again, Refrain, Repeated, learn
from millstream.gateways.kafka.rounds import Rounds
from millstream.gateways.kafka.served import served
from millstream.wire.apis import API_VERSIONS, APIS, Api, RequestHeader, write_response_header
from millstream.wire.fast import Produced, read_produce
from millstream.wire.message import Message
from millstream.wire.messages.fetch import FetchRequest, FetchResponse
from millstream.wire.primitives import Reader, size_of

_PRODUCE: Final = 0
_METADATA: Final = 3
_SIZE: Final = struct.Struct(">i")
_HANDLERS: Final = "millstream.gateways.kafka.handlers."

Handler = Callable[[Broker, Session, Message, int], Answer]


@final
class Request:
    """One request as it came; *message* is None if only its header could be understood.

    A Produce request, the most frequent of all, is read without making a message of it.
    """

    __slots__ = ("client_id", "correlation_id", "key", "message", "version")

    def __init__(self, header: RequestHeader, message: Message | Produced | Again | None) -> None:
        self.key = header.api_key
        self.version = header.api_version
        self.correlation_id = header.correlation_id
        self.client_id = header.client_id or ""
        self.message = message


@final
class Dispatch:
    """The Kafka door's table of handlers. *calls* counts requests by API."""

    def __init__(
        self, broker: Broker, session_slots: int, random: Random, *, native: bool = True, linger_us: int = 0
    ) -> None:
        """*linger_us* is how long native code waits, awake, for the next request of a brisk client."""
        self.calls = dict.fromkeys(served(), 0)
        self.sessions = FetchSessions(session_slots, random)
        self._broker = broker
        self._handlers: dict[int, Handler] = {}
        self._lanes = Lanes(broker, self.calls, plain=not native)
        self.rounds = Rounds.of(broker, self.calls, linger_us) if native else None
        # Handles together what is on a lane; see `Lanes.take`. No method: it is called for each read.
        self.take = self._lanes.take
        # How long a client must wait for what it has used. No method either: it is asked for each reply.
        self.owed_ms = broker.quotas.owed_ms

    def read(self, frame: memoryview) -> Request:
        """The request in *frame*; Refused means that the connection must be closed."""
        reader = Reader(frame)
        header = RequestHeader.read(reader)
        api = APIS.get(header.api_key)
        if api is None or header.api_key not in self.calls:
            raise Refused(ErrorCode.INVALID_REQUEST, f"unknown api key {header.api_key}")
        if not api.serves(header.api_version):
            if api.key == API_VERSIONS:
                return Request(header, None)
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, f"{api.name} version {header.api_version} is not served"
            )
        if api.key == _PRODUCE:
            return Request(header, read_produce(reader.data[reader.position :], header.api_version))
        message = api.request.read(reader, header.api_version)
        # librdkafka asks for all topics with three stray bytes, which Kafka overlooks.
        if api.key != _METADATA:
            reader.finish()
        return Request(header, message)

    def handle(self, session: Session, request: Request) -> Answer:
        """What the API's handler answers, now or later; None if the client wants no answer."""
        self.calls[request.key] += 1
        quotas = self._broker.quotas
        if not quotas.counts_work:
            return self._handle(session, request)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            return self._handle(session, request)
        finally:
            quotas.worked(session, loop.time() - began)

    def topic_name(self, topic: str | bytes) -> str:
        """The name of a topic that a request names by name or by id; empty if there is none."""
        return topic if isinstance(topic, str) else self._broker.topics.image.names.get(topic, "")

    def learn(self, frame: memoryview, request: Request, last: Lane | None) -> Lane | None:
        """What later requests may share with this one, which was received as *frame*; see `lanes.py`."""
        message = request.message
        if not isinstance(message, tuple):
            return None
        return self._lanes.learn(frame, request.version, request.client_id, message, last)

    def learn_fetch(self, frame: memoryview, request: Request) -> Refrain | None:
        """What later fetches may repeat of this one, which was received as *frame*; see `refrain.py`."""
        message = request.message
        if not isinstance(message, FetchRequest):
            return None
        return learn(frame, request.version, request.client_id, message)

    def repeat(self, frame: memoryview, refrain: Refrain) -> Request | None:
        """The request in *frame*, if it is *refrain* again."""
        again = refrain.match(frame)
        return None if again is None else Request(refrain.header, again)

    def _handle(self, session: Session, request: Request) -> Answer:
        message = request.message
        if message is None:
            request.version = 0
            return api_versions.unknown_version()
        if isinstance(message, tuple):
            return produce.handle(self._broker, session, message, request.version)
        if isinstance(message, Again):
            return fetch.again(self._broker, session, message)
        if isinstance(message, FetchRequest):
            return fetch.handle(self._broker, session, message, request.version, self.sessions)
        handler = self._handlers.get(request.key)
        if handler is None:
            handler = self._handlers[request.key] = _load(APIS[request.key])
        return handler(self._broker, session, message, request.version)

    def write(self, request: Request, response: Message) -> Sequence[Piece]:
        """The pieces to send: records among them stay where they are."""
        if isinstance(response, Repeated):
            return response.refrain.pieces(response, request.correlation_id)
        head = bytearray(_SIZE.size)
        write_response_header(head, request.key, request.version, request.correlation_id)
        if isinstance(response, FetchResponse):
            # The payloads of a fetch are the slices the broker found, which can be read.
            pieces = cast(Sequence[Piece], response.write_pieces(head, request.version))
        else:
            response.write(head, request.version)
            pieces = [head]
        _SIZE.pack_into(head, 0, sum(size_of(piece) for piece in pieces) - _SIZE.size)
        return pieces


def _load(api: Api) -> Handler:
    handler = import_module(_HANDLERS + api.module).handle
    if not iscoroutinefunction(handler):
        return cast(Handler, handler)
    # Nothing is done when a coroutine is made: what the client sent behind it would be done before it.
    # Handlers that park a client are none: they begin at once, and wait in what they return.
    return lambda broker, session, message, version: in_turn(handler(broker, session, message, version))
