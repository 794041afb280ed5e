"""One connection to one broker: requests out, responses back in the same order.

Any number of requests may be under way; each `send` takes its place in the
stream when it is called, so calls made in order are handled in order. A request
that is not answered in time closes the connection, since everything behind it
is stuck as well and the broker may be gone.
"""

import asyncio
import os
import re
import struct
from collections import deque
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Final, Generic, TypeVar, final

from millstream.client.refusals import check
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import RequestHeader, response_header_version
from millstream.wire.frame import FrameBuffer, request_frame
from millstream.wire.message import Message, read_message
from millstream.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.wire.primitives import Reader

MAX_RESPONSE_BYTES: Final = 256 << 20  # a fetch of 50 MB and one large batch, with room to spare
_SOFTWARE: Final = "millstream"
_SOFTWARE_VERSION: Final = "1"
_INT16: Final = struct.Struct(">h")

R = TypeVar("R", bound=Message)


@final
@dataclass(slots=True)
class _Waiting(Generic[R]):
    """A request that was sent, and where its response is to go."""

    correlation_id: int
    response: type[R]
    version: int
    answer: "asyncio.Future[R]"


@final
class Connection(asyncio.Protocol):
    """Opened by `Connection.open`; its `versions` are what the broker at the other end speaks.

    *features* are those its cluster has agreed on, with their levels.
    """

    def __init__(self, address: str, client_id: str | None) -> None:
        self.address = address
        self.versions: dict[int, tuple[int, int]] = {}
        self.features: dict[str, int] = {}
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = FrameBuffer(MAX_RESPONSE_BYTES)
        self._waiting: deque[_Waiting[Any]] = deque()
        self._next_id = 0
        self._lost: Unreachable | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = self._loop.create_future()

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = "millstream",
        ssl: SSLContext | None = None,
        timeout: float = 10.0,
    ) -> "Connection":
        """A connection to *host*:*port* that has agreed on versions; Unreachable if not in *timeout* s."""
        connection = cls(f"{host}:{port}", client_id)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                await loop.create_connection(lambda: connection, host, port, ssl=ssl)
                await connection._agree_on_versions()
        except TimeoutError:
            connection.abort(f"did not answer within {timeout:g} s")
            raise Unreachable(f"{host}:{port} did not answer within {timeout:g} s") from None
        except Unreachable:
            raise
        except OSError as problem:
            raise Unreachable(f"cannot connect to {host}:{port}: {_reason(problem)}") from problem
        except BaseException:
            connection.abort("was given up")
            raise
        return connection

    @property
    def closed(self) -> bool:
        """Whether nothing can be sent any more."""
        return self._lost is not None

    @property
    def under_way(self) -> int:
        """How many requests were sent and wait for their answer."""
        return len(self._waiting)

    def version_for(self, request: type[Message], at_most: int | None = None) -> int:
        """The newest version of *request* that both ends speak; Refused if there is none."""
        theirs = self.versions.get(request.KEY)
        name = request.__name__.removesuffix("Request")
        if theirs is None:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"{self.address} does not serve {name}")
        newest = min(theirs[1], request.MAX_VERSION if at_most is None else at_most)
        if newest < max(theirs[0], request.MIN_VERSION):
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{self.address} serves {name} {theirs[0]} to {theirs[1]}, "
                f"we speak {request.MIN_VERSION} to {request.MAX_VERSION}",
            )
        return newest

    async def request(
        self,
        request: Message,
        response: type[R],
        *,
        version: int | None = None,
        at_most: int | None = None,
        timeout: float = 30.0,
    ) -> R:
        """Send *request*, and wait for the *response*.

        The version is *version*, or else the newest that both ends speak and
        that is no newer than *at_most*.
        """
        await self._drained()
        if version is None and self._lost is None:
            version = self.version_for(type(request), at_most)
        answer = self.send(request, response, version or 0)
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            name = type(request).__name__.removesuffix("Request")
            self.abort(f"did not answer {name} within {timeout:g} s")
            raise Unreachable(f"{self.address} did not answer {name} within {timeout:g} s") from None

    def send(self, request: Message, response: type[R], version: int) -> "asyncio.Future[R]":
        """Send *request* now; the response, when it comes."""
        answer: asyncio.Future[R] = self._loop.create_future()
        correlation_id = self._write(request, version)
        self._waiting.append(_Waiting(correlation_id, response, version, answer))
        return answer

    async def tell(self, request: Message, *, at_most: int | None = None) -> None:
        """Send *request*, to which there is no response: a Produce with acks 0."""
        await self._drained()
        version = 0 if self._lost else self.version_for(type(request), at_most)
        self._write(request, version)

    def abort(self, reason: str) -> None:
        """Close at once; whoever waits for a response is told *reason*."""
        self._fail(Unreachable(f"{self.address} {reason}"))

    async def close(self) -> None:
        """Close, and return when the other end's socket is done with."""
        if self._transport is not None:
            self._fail(Unreachable(f"{self.address}: we closed the connection"), politely=True)
            await self._ended

    async def _drained(self) -> None:
        """Wait while the broker takes less than we send."""
        while not self._writable.is_set():  # all wake together, and the first may fill it again
            await self._writable.wait()

    def _write(self, request: Message, version: int) -> int:
        if self._lost is not None:
            raise Unreachable(*self._lost.args)
        assert self._transport is not None
        self._next_id = (self._next_id + 1) & 0x7FFFFFFF
        header = RequestHeader(request.KEY, version, self._next_id, self._client_id)
        self._transport.write(request_frame(header, request))
        return self._next_id

    async def _agree_on_versions(self) -> None:
        """Ask in our newest ApiVersions; a broker that is older says so and names what it speaks."""
        version = ApiVersionsRequest.MAX_VERSION
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE, client_software_version=_SOFTWARE_VERSION
        )
        said = await self.send(request, ApiVersionsResponse, version)
        if said.error_code == ErrorCode.UNSUPPORTED_VERSION:
            theirs = [each.max_version for each in said.api_keys if each.api_key == ApiVersionsRequest.KEY]
            said = await self.send(request, ApiVersionsResponse, min([version - 1, *theirs]) if theirs else 0)
        check(said.error_code, f"{self.address} would not tell its versions")
        self.versions = {each.api_key: (each.min_version, each.max_version) for each in said.api_keys}
        self.features = {each.name: each.max_version_level for each in said.finalized_features}

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(Unreachable(f"{self.address} closed the connection{f' ({_reason(exc)})' if exc else ''}"))
        if not self._ended.done():
            self._ended.set_result(None)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._frames.feed(data)
            while self._lost is None and (frame := self._frames.next()) is not None:
                self._received(frame)
        except Refused as refusal:
            self.abort(f"is not a Kafka broker, or broken: {refusal.detail}")

    def _received(self, frame: memoryview) -> None:
        reader = Reader(frame)
        correlation_id = reader.int32()
        if not self._waiting or self._waiting[0].correlation_id != correlation_id:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, f"an answer to nothing we asked (id {correlation_id})")
        waiting = self._waiting[0]
        if response_header_version(waiting.response.KEY, waiting.version) >= 1:
            reader.skip_tags()
        body = frame[reader.position :]
        version = waiting.version
        if (
            waiting.response is ApiVersionsResponse
            and _INT16.unpack_from(body)[0] == ErrorCode.UNSUPPORTED_VERSION
        ):
            version = 0  # whatever was asked, so that anybody can read it
        response = read_message(waiting.response, body, version)
        self._waiting.popleft()
        if not waiting.answer.done():  # else whoever asked has gone
            waiting.answer.set_result(response)

    def _fail(self, reason: Unreachable, *, politely: bool = False) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._writable.set()
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(Unreachable(*reason.args))
                answer.exception()  # seen: a caller that has left must not make the loop complain
        if self._transport is not None:
            if politely:
                self._transport.close()
            else:
                self._transport.abort()


def _reason(problem: BaseException) -> str:
    """The operating system's words, without its numbers and addresses."""
    if isinstance(problem, OSError) and problem.errno is not None:
        return os.strerror(problem.errno) if problem.errno > 0 else problem.strerror or str(problem)
    # One host, several addresses: asyncio joins what it was told for each.
    numbers = dict.fromkeys(int(each) for each in re.findall(r"\[Errno (\d+)\]", str(problem)))
    if numbers:
        return ", ".join(os.strerror(number) for number in numbers)
    return str(problem) or type(problem).__name__
