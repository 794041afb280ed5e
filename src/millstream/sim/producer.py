"""A simulated producer: up to five requests under way, and the same batch again until it is answered.

As Kafka's own clients do it, a partition whose batch came back is drained
before anything is sent again, so that batches are always offered in order.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Final, final

from millstream.client.connection import Connection
from millstream.client.refusals import error_code
from millstream.env.clock import Clock
from millstream.errors import ErrorCode
from millstream.records.build import build
from millstream.records.compression import Codec
from millstream.sim.history import History, Key, Outcome, Send
from millstream.sim.link import FAILURES, Link, new_record, settle
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)

_IN_FLIGHT: Final = 5
_LAST_VERSION_WITH_NAMES: Final = 12


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How one producer goes about it."""

    idempotent: bool = True
    acks: int = -1
    codec: Codec = Codec.NONE
    pause_s: float = 0.04
    max_records: int = 8
    max_padding: int = 400
    names: int = 0  # write under so many keys; under none if 0
    deletes: float = 0.0  # so many of its records say that their key is gone

    @property
    def batch_bytes(self) -> int:
        """No batch is larger."""
        return 100 + self.max_records * (40 + self.max_padding)


@dataclass(slots=True)
class Parcel:
    """One batch that was not answered for good yet."""

    send: Send
    data: bytearray
    flying: bool = False


@final
class Lane:
    """One partition's batches, oldest first."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.next_sequence = 0
        self.parcels: deque[Parcel] = deque()
        self.draining = False

    def sendable(self) -> Parcel | None:
        """The parcel to be sent next, if one waits."""
        if self.draining:
            if any(parcel.flying for parcel in self.parcels):
                return None
            self.draining = False
        return next((parcel for parcel in self.parcels if not parcel.flying), None)

    def came_back(self, parcel: Parcel) -> None:
        parcel.flying = False
        self.draining = True


@final
class Producer:
    """Sends to all *keys* until told to `finish`; then only what is still unanswered."""

    def __init__(
        self,
        name: str,
        link: Link,
        keys: Sequence[Key],
        habits: Habits,
        history: History,
        values: Callable[[], int],
        clock: Clock,
        random: Random,
    ) -> None:
        self.acked = 0
        self._name = name
        self._link = link
        self._lanes = [Lane(key) for key in keys]
        self._habits = habits
        self._history = history
        self._values = values
        self._clock = clock
        self._random = random
        self._id = -1
        self._epoch = -1
        self._flying = 0
        self._landed = asyncio.Event()
        self._finishing = False
        self._answers: set[asyncio.Task[None]] = set()

    @property
    def unanswered(self) -> int:
        return sum(len(lane.parcels) for lane in self._lanes)

    def finish(self) -> None:
        self._finishing = True

    async def run(self) -> None:
        while not (self._finishing and self.unanswered == 0):
            try:
                connection = await self._link.connection()
                if self._habits.idempotent and self._id < 0:
                    await self._identify()
                await self._deliver(connection)
            except FAILURES:
                await asyncio.sleep(self._random.uniform(0.02, 0.3))

    async def _identify(self) -> None:
        said = await self._link.ask(InitProducerIdRequest(transactional_id=None), InitProducerIdResponse)
        code = settle(said.error_code)
        assert code is ErrorCode.NONE, code
        self._id, self._epoch = said.producer_id, said.producer_epoch

    async def _deliver(self, connection: Connection) -> None:
        """Send until the connection breaks or all is done."""
        version = connection.version_for(ProduceRequest, _LAST_VERSION_WITH_NAMES)
        while not connection.closed and not (self._finishing and self.unanswered == 0):
            self._landed.clear()
            load = self._load() if self._flying < _IN_FLIGHT else []
            if not load:
                await self._landed.wait()
                continue
            for _, parcel in load:
                parcel.flying = True
            self._flying += 1
            answer = connection.send(self._request(load), ProduceResponse, version)
            task = asyncio.create_task(self._answered(connection, answer, load))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
            await asyncio.sleep(self._random.expovariate(1 / self._habits.pause_s))
        while self._flying:  # the next connection begins with what this one left unanswered
            self._landed.clear()
            await self._landed.wait()

    def _load(self) -> list[tuple[Lane, Parcel]]:
        """What goes into the next request: something for one partition, or for several."""
        lanes = self._random.sample(self._lanes, self._random.randint(1, len(self._lanes)))
        load: list[tuple[Lane, Parcel]] = []
        for lane in lanes:
            parcel = lane.sendable()
            if (
                parcel is None
                and not self._finishing
                and not lane.draining
                and len(lane.parcels) < _IN_FLIGHT
            ):
                parcel = self._new_parcel(lane)
            if parcel is not None:
                load.append((lane, parcel))
        if not load and (waiting := [(lane, p) for lane in self._lanes if (p := lane.sendable())]):
            load.append(waiting[0])
        return load

    def _new_parcel(self, lane: Lane) -> Parcel:
        habits, random = self._habits, self._random
        values = tuple(self._values() for _ in range(random.randint(1, habits.max_records)))
        # Of many keys the last word is an old one, and deep in the log.
        names = tuple(
            b"%d" % (random.randrange(habits.names) + value // 50) for value in values if habits.names
        )
        gone = frozenset(value for value in values if habits.deletes and random.random() < habits.deletes)
        data = build(
            [
                new_record(name, value, None if value in gone else random.randint(0, habits.max_padding))
                for name, value in zip_longest(names, values)
            ],
            codec=habits.codec,
            now_ms=self._clock.now_ms(),
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=lane.next_sequence if habits.idempotent else -1,
        )
        lane.next_sequence += len(values)
        # Who does not number batches may see them pass each other when the connection changes.
        process = self._name if habits.idempotent else f"{self._name}/{self._link.opened}"
        send = self._history.begin(
            Send(
                process=process,
                begun=self._history.tick(),
                key=lane.key,
                values=values,
                names=names,
                gone=gone,
            )
        )
        lane.parcels.append(parcel := Parcel(send, data))
        return parcel

    def _request(self, load: list[tuple[Lane, Parcel]]) -> ProduceRequest:
        topics: dict[str, ProduceRequestTopicData] = {}
        for lane, parcel in load:
            topic = topics.setdefault(lane.key[0], ProduceRequestTopicData(name=lane.key[0]))
            topic.partition_data.append(ProduceRequestPartitionData(lane.key[1], parcel.data))
        return ProduceRequest(acks=self._habits.acks, timeout_ms=5000, topic_data=list(topics.values()))

    async def _answered(
        self,
        connection: Connection,
        answer: "asyncio.Future[ProduceResponse]",
        load: list[tuple[Lane, Parcel]],
    ) -> None:
        codes: dict[Key, tuple[ErrorCode, int]] = {}
        try:
            async with asyncio.timeout(self._link.timeout):
                for topic in (await answer).responses:
                    for said in topic.partition_responses:
                        codes[topic.name, said.index] = error_code(said.error_code), said.base_offset
        except (*FAILURES, TimeoutError):
            connection.abort("gave no answer")
        for lane, parcel in load:
            code, offset = codes.get(lane.key, (ErrorCode.NETWORK_EXCEPTION, -1))
            self._judge(lane, parcel, code, offset)
        self._flying -= 1
        self._landed.set()

    def _judge(self, lane: Lane, parcel: Parcel, code: ErrorCode, offset: int) -> None:
        match code:
            case ErrorCode.NONE:
                self._done(lane, parcel, Outcome.OK, offset)
            case ErrorCode.DUPLICATE_SEQUENCE_NUMBER if self._habits.idempotent:
                self._done(lane, parcel, Outcome.OK, -1)
            case ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if parcel is not lane.parcels[0]:
                lane.came_back(parcel)  # one before it came back too, and will be offered first
            case _ if code.retriable and self._habits.idempotent:
                lane.came_back(parcel)
            case _ if code.retriable:
                self._done(lane, parcel, Outcome.INFO, -1)
            case _:
                self._history.complain(
                    "refused-produce", lane.key, f"{self._name}: {code.name} for {parcel.send}"
                )
                self._done(lane, parcel, Outcome.INFO, -1)

    def _done(self, lane: Lane, parcel: Parcel, outcome: Outcome, offset: int) -> None:
        lane.parcels.remove(parcel)
        if outcome is Outcome.INFO:
            return
        self.acked += 1
        parcel.send.offset = offset if offset >= 0 else None
        self._history.end(parcel.send, outcome)
