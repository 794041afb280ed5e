"""Faults on request, for people who test how their own Kafka code takes them.

A `FaultyDispatch` stands before the real one when a node is given `Faults`,
and only then: nodes without know nothing of it. Each request takes at most one
fault: the first planned that fits it and is not used up.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, final

from millstream.broker.fetch import Found
from millstream.broker.session import Session
from millstream.env.outflow import Piece
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.dispatch import Dispatch, Request
from millstream.gateways.kafka.fetch_sessions import Place, places
from millstream.gateways.kafka.in_turn import Answer, said
from millstream.gateways.kafka.lanes import Acks, Lane
from millstream.gateways.kafka.refrain import Refrain
from millstream.wire.apis import APIS
from millstream.wire.message import Message, read_message
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from millstream.wire.messages.produce import ProduceResponse, ProduceResponsePartition, ProduceResponseTopic

KEYS: Final = {api.name: api.key for api in APIS.values()}
_PRODUCE: Final = KEYS["Produce"]
_FETCH: Final = KEYS["Fetch"]
_OFFSET_COMMIT: Final = KEYS["OffsetCommit"]


@final
@dataclass(frozen=True)
class Fail:
    """Answer with *code*, and do nothing."""

    code: ErrorCode


@final
@dataclass(frozen=True)
class Delay:
    """Do it at once, in its order, and answer *seconds* later."""

    seconds: float


@final
@dataclass(frozen=True)
class HangUp:
    """Close the connection instead of answering; what was asked is done before that, or never."""

    done: bool


@final
class Fault:
    """One fault as it was planned. *left* is how many requests it still meets, None if it never ends."""

    def __init__(
        self,
        api: str,
        what: Fail | Delay | HangUp,
        left: int | None,
        topic: str | None,
        client_id: str | None,
    ) -> None:
        if api not in KEYS:
            raise ValueError(f"there is no API {api!r}; there are {', '.join(sorted(KEYS))}")
        if isinstance(what, Fail):
            _check_can_fail(api)
        if topic is not None and api != "Produce":
            raise ValueError("only a fault of Produce can be limited to a topic")
        if left is not None and left < 1:
            raise ValueError(f"a fault must meet at least one request, not {left}")
        self.key = KEYS[api]
        self.what = what
        self.left = left
        self.met = 0
        self._topic = topic
        self._client_id = client_id

    def fits(self, dispatch: Dispatch, session: Session, request: Request) -> bool:
        if self.left == 0 or request.key != self.key:
            return False
        if self._client_id is not None and session.client_id != self._client_id:
            return False
        return self._topic is None or self._topic in _topics_written(dispatch, request)

    def meet(self) -> None:
        self.met += 1
        if self.left is not None:
            self.left -= 1


@final
class Faults:
    """The faults that are planned, in the order in which they were. Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []

    def plan(self, fault: Fault) -> None:
        self._planned = [each for each in self._planned if each.left != 0]
        self._planned.append(fault)

    def clear(self) -> None:
        self._planned = []

    def next(self, dispatch: Dispatch, session: Session, request: Request) -> Fault | None:
        """The fault that *request* meets, if any; it counts as met."""
        for fault in self._planned:
            if fault.fits(dispatch, session, request):
                fault.meet()
                return fault
        return None


@final
class FaultyDispatch:
    """As *dispatch*, but for what *faults* says."""

    def __init__(self, dispatch: Dispatch, faults: Faults) -> None:
        self._dispatch = dispatch
        self._faults = faults
        self.rounds = None  # there are no lanes: each request may meet a fault of its own
        # What connections call most, without a step in between.
        self.read = dispatch.read
        self.owed_ms = dispatch.owed_ms

    def handle(self, session: Session, request: Request) -> Answer:
        fault = self._faults.next(self._dispatch, session, request)
        if fault is None:
            return self._dispatch.handle(session, request)
        match fault.what:
            case Fail(code):
                return self._failed(session, request, code)
            case Delay(seconds):
                return _late(self._dispatch.handle(session, request), seconds)
            case HangUp(done=True):
                return _lost(self._dispatch.handle(session, request))
        raise Refused(ErrorCode.NETWORK_EXCEPTION, "hung up, as planned")

    def write(self, request: Request, response: Message) -> Sequence[Piece]:
        return self._dispatch.write(request, response)

    def learn(self, frame: memoryview, request: Request, last: Lane | None) -> Lane | None:
        """None: each request may meet a fault of its own."""
        return None

    def learn_fetch(self, frame: memoryview, request: Request) -> Refrain | None:
        """None, as for `learn`."""
        return None

    def repeat(self, frame: memoryview, refrain: Refrain) -> Request | None:
        return self._dispatch.repeat(frame, refrain)

    def take(
        self, session: Session, lane: Lane, view: memoryview, start: int, end: int, most: int
    ) -> "tuple[int, int, bytes | Acks | None]":
        return self._dispatch.take(session, lane, view, start, end, most)

    def _failed(self, session: Session, request: Request, code: ErrorCode) -> Answer:
        message = request.message
        if isinstance(message, tuple):
            if message[1] == 0:
                raise Refused(code, "failed as planned; without acks a closed connection is all that tells")
            return _failed_produce(request, code)
        if isinstance(message, FetchRequest):
            # Handled all the same: the session must go on as the client thinks it does.
            message.max_wait_ms = 0
            return self._failed_fetch(message, self._dispatch.handle(session, request), code)
        if isinstance(message, OffsetCommitRequest):
            return _failed_commit(message, code)
        response = APIS[request.key].response()
        response.error_code = code  # type: ignore[attr-defined]  # _check_can_fail has seen it
        return response

    async def _failed_fetch(self, request: FetchRequest, answer: Answer, code: ErrorCode) -> FetchResponse:
        found = await said(answer)
        assert isinstance(found, FetchResponse)
        kept = self._dispatch.sessions.get(found.session_id)
        asked: list[Place] = [place for place, _ in places(request)]
        if kept is not None:
            asked = list(kept.partitions)
            for remembered in kept.partitions.values():
                remembered.told(Found(code))
        response = FetchResponse(session_id=found.session_id)
        for name, id, index in asked:
            topic = FetchResponseTopic(topic=name, topic_id=id)
            topic.partitions.append(
                FetchResponsePartition(partition_index=index, error_code=code, high_watermark=-1, records=b"")
            )
            response.responses.append(topic)
        return response


async def _late(answer: Answer, seconds: float) -> Message | None:
    response = await said(answer)
    await asyncio.sleep(seconds)
    return response


async def _lost(answer: Answer) -> Message | None:
    await said(answer)
    raise Refused(ErrorCode.NETWORK_EXCEPTION, "the reply was lost, as planned")


def _failed_produce(request: Request, code: ErrorCode) -> ProduceResponse:
    assert isinstance(request.message, tuple)
    response = ProduceResponse()
    for topic, index, _ in request.message[3]:
        result = (
            ProduceResponseTopic(topic) if isinstance(topic, str) else ProduceResponseTopic(topic_id=topic)
        )
        result.partition_responses.append(
            ProduceResponsePartition(
                index=index, base_offset=-1, error_code=code, error_message="failed as planned"
            )
        )
        response.responses.append(result)
    return response


def _failed_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    response = OffsetCommitResponse()
    for topic in request.topics:
        result = OffsetCommitResponseTopic(name=topic.name)
        if "topic_id" in topic.FIELDS:
            result.topic_id = topic.topic_id
        result.partitions = [
            OffsetCommitResponsePartition(each.partition_index, code) for each in topic.partitions
        ]
        response.topics.append(result)
    return response


def _check_can_fail(api: str) -> None:
    if not _can_fail(KEYS[api]):
        able = ", ".join(sorted(name for name, key in KEYS.items() if _can_fail(key)))
        raise ValueError(f"{api} has no one place for an error; these have: {able}")


@cache
def _can_fail(key: int) -> bool:
    """Whether we can say an error in any version of this API, without doing what is asked."""
    if key in (_PRODUCE, _FETCH, _OFFSET_COMMIT):
        return True
    api = APIS[key]
    if "error_code" not in api.response.FIELDS:
        return False
    return all(_says_error(api.response, version) for version in range(api.min, api.max + 1))


def _says_error(response: type[Message], version: int) -> bool:
    said = response()
    said.error_code = 1  # type: ignore[attr-defined]  # the caller has looked
    out = bytearray()
    said.write(out, version)
    return read_message(response, out, version) == said


def _topics_written(dispatch: Dispatch, request: Request) -> set[str]:
    if not isinstance(request.message, tuple):
        return set()
    return {dispatch.topic_name(part[0]) for part in request.message[3]}
