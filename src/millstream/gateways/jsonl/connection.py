"""One TinyMQ client: JSON lines in, JSON lines out, in request order.

Requests take effect one after the other, as if each waited for the reply to
the one before. Only `produce` may follow `produce` at once: what is sent
without waiting is written together, which gives the same answers sooner.
"""

import asyncio
from functools import partial
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.write import Placed
from millstream.errors import ErrorCode, Refused
from millstream.gateways.connection import Door, Reply
from millstream.gateways.iso import iso
from millstream.gateways.jsonl import codec
from millstream.gateways.jsonl.codec import Produce, Request, read_request
from millstream.gateways.jsonl.handlers import handle
from millstream.gateways.lines import LineConnection, said
from millstream.records.build import NewRecord

CLIENT_ID: Final = "json-lines"
_RUN: Final = 1_000  # records written by one call


@final
class JsonConnection(LineConnection):
    def __init__(self, door: Door, broker: Broker) -> None:
        super().__init__(door, broker, CLIENT_ID)
        self._next: Request | Refused | None = None  # read, but not handled

    @property
    def has_work(self) -> bool:
        return self._next is not None or super().has_work

    def advance(self) -> None:
        while not self.blocked:
            if self.busy:
                self.flush()  # replies that are ready no longer count
                if self.busy:
                    return
            request = self._read()
            if request is None:
                return
            if isinstance(request, Produce):
                if self.broker.writes.is_full:
                    self._next = request
                    self.wait_for_room()
                    return
                self._produce(request)
            elif isinstance(request, Refused):
                self.expect().pieces = (codec.error(said(request)),)
            elif self.unsafe:
                self._next = request  # until the last of the run is safe
                return
            else:
                self._begin(request)

    def _read(self) -> Request | Refused | None:
        """The next request, or what is wrong with it; None if there is none."""
        request, self._next = self._next, None
        while request is None and self.waiting:
            line = self.waiting.popleft()
            if line is None:
                detail = f"Line too long: line.max.bytes is {self.door.config().line_max_bytes}"
                return Refused(ErrorCode.INVALID_REQUEST, detail)
            try:
                request = read_request(line)
            except Refused as refusal:
                return refusal
        return request

    def _produce(self, first: Produce) -> None:
        """Write *first*, and whatever follows it that goes to the same place."""
        run = [first]
        while len(run) < _RUN:
            request = self._read()
            if (
                not isinstance(request, Produce)
                or request.topic != first.topic
                or request.partition != first.partition
            ):
                self._next = request
                break
            run.append(request)
        self._write(run)
        self.throttle()

    def _write(self, run: list[Produce]) -> None:
        records = [NewRecord(each.key, each.value) for each in run]
        try:
            done = self.broker.write(self.session, run[0].topic, records, run[0].partition)
        except Refused as refusal:
            if len(run) > 1:  # one that will not do must not take the others with it
                for each in run:
                    self._write([each])
            else:
                self.expect().pieces = (codec.error(said(refusal)),)
            return
        self.unsafe += len(run)
        reply = self.expect()
        self.after(asyncio.ensure_future(done)).add_done_callback(partial(self._written, reply, run))

    def _written(self, reply: Reply, run: list[Produce], done: "asyncio.Future[list[Placed]]") -> None:
        if done.cancelled():
            return  # the client has gone
        self.unsafe -= len(run)
        error = done.exception()
        if error is None:
            reply.pieces = (_produced(run, done.result()),)
        elif isinstance(error, Refused):
            reply.pieces = (codec.error(said(error)) * len(run),)
        else:
            self.failed(error)
            return
        self.proceed()

    def _begin(self, request: Request) -> None:
        self.blocked = True
        work = handle(self.broker, self.session, request)
        self.later(self._answer(self.expect(), work), work)

    async def _answer(self, reply: Reply, work: Any) -> None:
        try:
            pieces = codec.ok(await work)
        except Refused as refusal:
            pieces = codec.error(said(refusal))
        self.blocked = False
        self.throttle()
        self.answer(reply, pieces)


def _produced(run: list[Produce], placed: list[Placed]) -> bytes:
    times: dict[int, bytes] = {}
    told = []
    for request, (partition, offset, timestamp_ms) in zip(run, placed, strict=True):
        timestamp = times.get(timestamp_ms)
        if timestamp is None:
            timestamp = times[timestamp_ms] = iso(timestamp_ms).encode()
        told.append(codec.produced(request, partition, offset, timestamp))
    return b"".join(told)
