"""One Kafka client: frames in, replies out in the order of their requests.

Whole frames are handled straight from the door's shared buffer, so an idle
connection holds no memory. Only a frame that is cut short by the end of what
was received gets a buffer of its own, grown as its bytes arrive, never from
what its length claims. The rest of a large one is received there. That of a small
one is received in the shared buffer behind a copy of what there is of it, so that
what the client sent behind it comes along.
"""

import asyncio
import struct
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Final, Protocol, final

from millstream.broker.session import Session
from millstream.env.neighbours import receive_ahead
from millstream.env.outflow import Piece
from millstream.errors import Refused
from millstream.gateways.connection import Connection, Door, Reply
from millstream.gateways.kafka.dispatch import Request
from millstream.gateways.kafka.in_turn import Answer, InTurn, Settled
from millstream.gateways.kafka.lanes import Acks, Lane
from millstream.gateways.kafka.postponed import Postponed
from millstream.gateways.kafka.refrain import Refrain
from millstream.gateways.kafka.rounds import Rounds
from millstream.wire.frame import check_size
from millstream.wire.message import Message

_SIZE: Final = struct.Struct(">i")
_SIZE_BYTES: Final = 4
_PRODUCE: Final = 0
_FETCH: Final = 1
_VAIN_MAX: Final = 4
_MIN_REQUEST_BYTES: Final = 8
_FREE_BYTES: Final = 64 << 10  # frames up to this size borrow nothing from the budget
_LEAST_BYTES: Final = 1024
_FIRST_BYTES: Final = 1 << 20  # a buffer starts no larger than this, whatever the frame's length
_KEEP_BYTES: Final = (
    2 << 20
)  # a buffer up to this size is kept a while, for a client that sends many such frames
_KEEP_SECONDS: Final = 2.0
_CAREFUL_BYTES: Final = 256 << 10
_BEGUN_US: Final = 500_000
_HURRIES: Final = 4


class Dispatches(Protocol):
    """What a connection needs of the door's table of handlers."""

    @property
    def rounds(self) -> Rounds | None: ...

    def read(self, frame: memoryview, /) -> Request: ...

    def handle(self, session: Session, request: Request) -> Answer: ...

    def owed_ms(self, session: Session, /) -> int: ...

    def write(self, request: Request, response: Message) -> Sequence[Piece]: ...

    def learn(self, frame: memoryview, request: Request, last: Lane | None, /) -> Lane | None: ...

    def learn_fetch(self, frame: memoryview, request: Request, /) -> Refrain | None: ...

    def repeat(self, frame: memoryview, refrain: Refrain, /) -> Request | None: ...

    def take(
        self, session: Session, lane: Lane, view: memoryview, start: int, end: int, most: int, /
    ) -> "tuple[int, int, bytes | Acks | None]": ...


@final
class KafkaConnection(Connection):
    def __init__(self, door: Door, dispatch: Dispatches, advertised: tuple[str, int] | None) -> None:
        super().__init__(door)
        self._dispatch = dispatch
        self._advertised = advertised
        self._request_max_bytes = door.config().request_max_bytes
        self._session = Session("", "")
        self._buffer: bytearray | None = None  # for a frame that did not arrive whole
        self._filled = 0
        self._frame_bytes = 0  # of that frame with its length; 0 while not even that is known
        self._borrowed = 0
        self._began_at: float | None = None
        self._held = b""  # received, but not to be handled while busy
        self._lane: Lane | None = None  # what the last request that wrote was on
        self._refrain: Refrain | None = None  # what the last fetch was
        self._in_vain = 0  # fetches learned that never came again
        self._has_lanes = self._request_max_bytes >= len(door.scratch)  # else each needs its size checked
        rounds = dispatch.rounds  # they check no size
        self._rounds = rounds if rounds and rounds.frame_bytes <= self._request_max_bytes else None
        self._is_guest = False  # of theirs
        self._brisk = 0  # requests in a row that came soon after a reply
        self._together = 1  # how many of them came at once, the last time
        self._was_given_back = False  # by rounds
        self._offered = 0  # how much could be received
        self._is_ahead = False  # it has sent large requests, and may send several before they are received

    @property
    def client_id(self) -> str:
        """What the client last called itself."""
        return self._session.client_id

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        here = self._advertised or (transport.get_extra_info("sockname") or ("127.0.0.1", 9092))[:2]
        self._session = Session("", self.host, advertised=(str(here[0]), int(here[1])))

    def connection_lost(self, error: Exception | None) -> None:
        self._leave_rounds()  # before the descriptor is somebody else's
        super().connection_lost(error)
        self.door.budget.forget(self._granted)
        self._drop_buffer()
        self._held = b""

    def get_buffer(self, sizehint: int) -> memoryview:
        room = self.door.scratch
        if self._replies:
            room = room[:_CAREFUL_BYTES]  # what cannot be begun now must be kept
        if self._buffer is not None and self._began_at is not None:
            if self._rejoins:
                room[: self._filled] = memoryview(self._buffer)[: self._filled]
                room = room[self._filled :]
            else:
                room = memoryview(self._buffer)[self._filled : self._frame_bytes or len(self._buffer)]
        self._offered = len(room)
        return room

    def buffer_updated(self, nbytes: int) -> None:
        self.door.busy_poll.received()
        if nbytes == self._offered:
            self._rest()
        if self._is_guest:  # what comes this way is answered this way
            self._take(memoryview(bytearray(self._leave_rounds() + bytes(self.door.scratch[:nbytes]))))
        elif self._began_at is None:
            lane, scratch = self._lane, self.door.scratch
            start = 0
            if lane is not None and not self._replies and not self.busy:
                start = self._take_lane(lane, scratch, 0, nbytes)
                if start == nbytes:
                    return  # as most come: whole, and like the last
            self._take(scratch[start:nbytes])
            self.flush()
            if self._began_at is None and not self._replies:
                self._visit_rounds()  # of several runs none could: there were replies before its own
            return
        elif self._rejoins:
            self._rejoin(nbytes)
        else:
            self._filled += nbytes
            self._grow_frame()
        self.flush()

    def proceed(self) -> None:
        held, self._held = self._held, b""
        if held:
            self._take(memoryview(bytearray(held)))
            self.flush()
        if not self._held and not self.busy and not self._waits_for_budget():
            self.read_on()

    def hold(self) -> None:
        if self._is_guest:
            self._held = self._leave_rounds()
        super().hold()

    def end(self) -> None:
        self._leave_rounds()
        super().end()

    def abort(self) -> None:
        self._leave_rounds()
        super().abort()

    def look(self, now: float) -> None:
        if self._is_guest and self._rounds is not None:
            visits, begun_us = self._rounds.look(self._descriptor)
            if visits:
                self._active_at = now
            if begun_us > _BEGUN_US and (begun := self._leave_rounds()):
                self._begin(memoryview(begun))  # it takes its time to arrive: that is watched from here
                self._began_at = now - begun_us / 1_000_000
            elif self._is_guest:
                self._drop_buffer()  # rounds have their own
        super().look(now)

    def given_back(self, data: bytes | None, unsent: bytes | None) -> None:
        """What rounds made of this client: see `Guest`."""
        self._no_guest()
        if self.transport is None or self.transport.is_closing():
            return
        if data is None:
            self.abort()
            return
        self._active_at = self._loop.time()
        self._brisk = 0  # or who has gone would come again
        self._was_given_back = True
        try:
            if unsent:
                self.transport.write(unsent)
            if data:
                self._take(memoryview(bytearray(data)))
                self.flush()
        except Exception as error:
            self.failed(error)  # the others that were given back are still to be told

    def waiting_since(self) -> float | None:
        return self._began_at if self._reading else None

    def tidy(self) -> None:
        if self._began_at is None and self._loop.time() - self._active_at > _KEEP_SECONDS:
            self._drop_buffer()

    def _rest(self) -> None:
        """There is more to be received: after everybody else had a turn."""
        if self.transport is not None:
            self.transport.pause_reading()
            self._loop.call_soon(self._rested)

    def _rested(self) -> None:
        if self._reading and not self._is_guest and self.transport and not self.transport.is_closing():
            self.transport.resume_reading()

    def _take(self, view: memoryview) -> None:
        """Handle every whole frame of *view*; keep what is left for later."""
        start, end = 0, len(view)
        while end - start >= _SIZE_BYTES:
            if self.busy:
                self.flush()  # replies that are ready no longer count
                if self.busy:
                    self._held = view[start:].tobytes()
                    self.hold()
                    return
            (size,) = _SIZE.unpack_from(view, start)
            if not self._legal(size, view[start : start + _SIZE_BYTES]):
                return
            stop = start + _SIZE_BYTES + size
            if stop > end:
                break
            if self._lane is not None:
                after = self._take_lane(self._lane, view, start, end)
                if after > start:
                    start = after
                    continue
            self._handle(view[start + _SIZE_BYTES : stop])
            if self.transport is None or self.transport.is_closing():
                return
            start = stop
        if start < end and not self._visit_rounds(view[start:]):
            self._begin(view[start:])

    def _take_lane(self, lane: Lane, view: memoryview, start: int, end: int) -> int:
        """Handle together all requests from *start* on that are on *lane*; where they end."""
        most = self._max_in_flight - len(self._replies) - self._joined
        try:
            stop, requests, answer = self._dispatch.take(self._session, lane, view, start, end, most)
        except Exception as error:
            self.failed(error)
            return end
        self._together = requests + (stop < end) or 1  # a part of another came along
        if isinstance(answer, bytes):
            # What follows may be answered along with it: a write a run would be one a partition.
            if self._replies or not self._writable or stop < end:
                self.expect_many(requests).pieces = (answer,)
            else:
                self.send(answer)
                if self._rounds is not None and stop - start <= requests * self._rounds.frame_bytes:
                    self._visit_rounds()
        elif answer is not None:
            self.expect_these(answer)
            answer.tell = self._told
        return stop

    def _told(self) -> None:
        """What was written on a lane is safe, or it is too late: its replies are known."""
        try:
            self.flush()
            self.relax()
            self._visit_rounds()
        except Exception as error:
            self.failed(error)  # the others that were waiting for the same sync are still to be told

    def _visit_rounds(self, begun: memoryview | None = None) -> bool:
        """Be served by rounds from now on, if this client stays with one partition and waits for nothing.

        It may have *begun* to send a frame, of which rounds then take care.
        """
        rounds, lane, transport = self._rounds, self._lane, self.transport
        if rounds is None or lane is None or not lane.is_steady or self._is_guest:
            return False
        is_brisk = self.door.busy_poll.gap_us < rounds.brisk_us or rounds.is_brisk
        # Who came back once is not taken again for one burst.
        together = 1 if self._was_given_back else self._together
        # Where a consumer waits for each message, a round would end with each: there is nothing to save.
        if together == 1 and lane.hosted is not None and lane.hosted.has_readers_waiting:
            is_brisk = False
        # Two slow ones may be in step for a while. Who sends several at once is in a hurry anyway.
        self._brisk = self._brisk + (1 if together == 1 else _HURRIES * together) if is_brisk else 0
        if self._brisk < rounds.brisk_requests:
            return False  # a node that sleeps in between is quicker without them
        if begun is not None:
            if len(begun) >= _SIZE_BYTES and _SIZE.unpack_from(begun)[0] > rounds.frame_bytes - _SIZE_BYTES:
                return False
            self.flush()  # what is known by now
        if (
            lane.hosted is None
            or transport is None
            or self._replies
            or not self._reading
            or self._held
            or self._began_at is not None
            or self._descriptor < 0
            or self.busy
            or transport.is_closing()
            or transport.get_write_buffer_size()
        ):
            return False
        if not rounds.admit(
            self._descriptor, self, lane.hosted, lane, b"" if begun is None else bytes(begun)
        ):
            return False
        self._is_guest = True
        transport.pause_reading()
        return True

    def _leave_rounds(self) -> bytes:
        """Be no guest of theirs any more; what the client has begun to send."""
        if not self._is_guest or self._rounds is None:
            return b""
        begun = self._rounds.dismiss(self._descriptor)
        self._no_guest()
        return begun

    def _no_guest(self) -> None:
        self._is_guest = False
        if self._reading and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def _legal(self, size: int, prefix: memoryview) -> bool:
        if _MIN_REQUEST_BYTES <= size <= self._request_max_bytes:
            return True
        try:
            check_size(prefix, self._request_max_bytes)
            self.refuse(f"a frame of {size} bytes: no request is so short")
        except Refused as refusal:
            self.refuse(refusal.detail)
        return False

    def _begin(self, part: memoryview) -> None:
        """Keep the first *part* of a frame that is still arriving."""
        self._began_at = self._loop.time()
        self._filled = 0
        self._frame_bytes = 0
        if len(part) >= _SIZE_BYTES:
            self._frame_bytes = _SIZE.unpack_from(part)[0] + _SIZE_BYTES
        self._room(max(len(part), _LEAST_BYTES))
        assert self._buffer is not None
        self._buffer[: len(part)] = part
        self._filled = len(part)
        if self._frame_bytes > _FREE_BYTES and not self._is_ahead and self.transport is not None:
            self._is_ahead = True
            receive_ahead(self.transport.get_extra_info("socket"))
        if self._borrow():
            self._room(min(self._frame_bytes, max(_FIRST_BYTES, 2 * self._filled)))
        else:
            self.hold()
            self.door.budget.wait(self._frame_bytes - self._borrowed, self._granted)

    @property
    def _rejoins(self) -> bool:
        """Whether the frame that did not arrive whole is one of the small."""
        return 0 < self._frame_bytes <= _FREE_BYTES

    def _rejoin(self, nbytes: int) -> None:
        """So much has arrived in the shared buffer, behind the beginning of a small frame."""
        assert self._buffer is not None
        scratch, filled = self.door.scratch, self._filled
        end = filled + nbytes
        if end < self._frame_bytes:
            self._buffer[filled:end] = scratch[filled:end]
            self._filled = end
            return
        self._began_at = None
        self._drop_if_scarce()
        self._take(scratch[:end])

    def _grow_frame(self) -> None:
        assert self._buffer is not None
        if not self._frame_bytes and self._filled >= _SIZE_BYTES:
            (size,) = _SIZE.unpack_from(self._buffer)
            if not self._legal(size, memoryview(self._buffer)[:_SIZE_BYTES]):
                return
            # More than this frame may have come along: go through it as through anything received.
            part = bytes(memoryview(self._buffer)[: self._filled])
            self._began_at = None
            self._take(memoryview(bytearray(part)))
            return
        if self._filled == self._frame_bytes:
            self._began_at = None
            whole = memoryview(self._buffer)[: self._frame_bytes]
            if self._lane is None or self.busy or not self._take_lane(self._lane, whole, 0, len(whole)):
                self._handle(whole[_SIZE_BYTES:])
            self._drop_if_scarce()
        elif self._filled == len(self._buffer):
            self._room(min(self._frame_bytes, 2 * self._filled))

    def _room(self, size: int) -> None:
        """Have a buffer of at least *size* bytes that starts with what was received of the frame."""
        old = self._buffer
        if old is None or len(old) < size:
            self._buffer = bytearray(size)
            if old is not None and self._filled:
                self._buffer[: self._filled] = memoryview(old)[: self._filled]

    def _borrow(self) -> bool:
        """Whether the frame may be received: it is small, or the memory for it is ours."""
        more = self._frame_bytes - self._borrowed
        if self._frame_bytes <= _FREE_BYTES or more <= 0:
            return True
        if not self.door.budget.borrow(more):
            return False
        self._borrowed = self._frame_bytes
        return True

    def _granted(self) -> None:
        self._borrowed = self._frame_bytes
        self._began_at = self._loop.time()  # the wait was ours
        self._room(min(self._frame_bytes, max(_FIRST_BYTES, 2 * self._filled)))
        self.relax()

    def _waits_for_budget(self) -> bool:
        return self._began_at is not None and self._frame_bytes > max(_FREE_BYTES, self._borrowed)

    def _repay(self) -> None:
        borrowed, self._borrowed = self._borrowed, 0
        if borrowed:
            self.door.budget.repay(borrowed)

    def _drop_if_scarce(self) -> None:
        if self._buffer is not None and (len(self._buffer) > _KEEP_BYTES or self.door.budget.is_short):
            self._drop_buffer()

    def _drop_buffer(self) -> None:
        self._repay()
        self._buffer = None
        self._began_at = None

    def _handle(self, frame: memoryview) -> None:
        try:
            refrain = self._refrain
            request = None if refrain is None else self._dispatch.repeat(frame, refrain)
            if request is None:
                request = self._dispatch.read(frame)
            if request.client_id != self._session.client_id:
                self._session = Session(
                    request.client_id,
                    self._session.client_host,
                    self._session.principal,
                    self._session.advertised,
                )
            response = self._dispatch.handle(self._session, request)
            if self._has_lanes and request.key == _PRODUCE:
                self._lane = self._dispatch.learn(frame, request, self._lane)
            elif request.key == _FETCH and isinstance(request.message, Message):
                self._learn_fetch(frame, request)
        except Refused as refusal:
            self.refuse(refusal.detail)
            return
        except Exception as error:
            self.failed(error)
            return
        if response is None:
            self._throttle(self._session, None)
            return
        reply = self.expect()
        if isinstance(response, InTurn):
            self.take_turn(response.answer, partial(self._resumed, reply, self._session, request))
        else:
            self._expected(reply, self._session, request, response)

    def _learn_fetch(self, frame: memoryview, request: Request) -> None:
        """Expect the same fetch again, unless that came to nothing each time so far."""
        if self._refrain is not None and not self._refrain.used:
            self._in_vain += 1
        if self._in_vain < _VAIN_MAX:
            self._refrain = self._dispatch.learn_fetch(frame, request)

    def _resumed(
        self, reply: Reply, session: Session, request: Request, answer: "asyncio.Future[Settled]"
    ) -> None:
        """The request that others had to wait for has its answer, or is as far as any other."""
        try:
            response = answer.result()
        except Refused as refusal:
            self.refuse(refusal.detail)
            return
        except Exception as error:
            self.failed(error)
            return
        if response is None:
            self._reply(reply, session, request, None)
            return
        self._expected(reply, session, request, response)
        self.flush()

    def _expected(
        self, reply: Reply, session: Session, request: Request, response: Message | Awaitable[Message | None]
    ) -> None:
        if isinstance(response, Message):
            self._write(reply, session, request, response)
        elif isinstance(response, Postponed):
            self._waiting[response] = None
            self._load += response.partitions
            done = partial(self._came, response, reply, session, request)
            response.then(done, self.failed)
        elif isinstance(response, asyncio.Future):
            self.when(response, partial(self._reply, reply, session, request))
        else:
            self.later(self._answer(reply, session, request, response), response)

    def _came(
        self,
        postponed: Postponed[Message],
        reply: Reply,
        session: Session,
        request: Request,
        message: Message,
    ) -> None:
        del self._waiting[postponed]
        self._load -= postponed.partitions
        self._reply(reply, session, request, message)

    async def _answer(
        self, reply: Reply, session: Session, request: Request, response: Awaitable[Message | None]
    ) -> None:
        try:
            message = await response
        except Refused as refusal:
            self.refuse(refusal.detail)
            return
        self._reply(reply, session, request, message)

    def _reply(self, reply: Reply, session: Session, request: Request, message: Message | None) -> None:
        self._write(reply, session, request, message)
        self.flush()
        self.relax()

    def _write(self, reply: Reply, session: Session, request: Request, message: Message | None) -> None:
        try:
            self._throttle(session, message)
            reply.pieces = () if message is None else self._dispatch.write(request, message)
        except Exception as error:
            self.failed(error)

    def _throttle(self, session: Session, response: Message | None) -> None:
        """Tell the client how long it has to wait for what it used, and hear nothing from it meanwhile."""
        owed_ms = self._dispatch.owed_ms(session)
        if owed_ms:
            if response is not None and "throttle_time_ms" in response.FIELDS:
                response.throttle_time_ms = owed_ms  # type: ignore[attr-defined]  # FIELDS says it is there
            self.mute(owed_ms / 1000)
