"""A simulated producer that writes in transactions, with the client an application would use.

It commits most of them and aborts some. When it dies in the middle of one, the
next with its transactional id, or time, must put an end to it. When it only
seems to have died it finds out at its next word, and must leave no trace.
"""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import final

from millstream.client.cluster import Client
from millstream.client.send_queue import Delivered
from millstream.client.transactions import Ended, MustAbort, TransactionalProducer
from millstream.client.unreachable import Unreachable
from millstream.env.clock import Clock
from millstream.errors import Refused
from millstream.sim.history import History, Key, Outcome, Send, Transaction
from millstream.sim.link import new_record


@final
class Transactor:
    """Writes to *keys*, under names of its own to those that are *compacted*, until told to `finish`."""

    def __init__(
        self,
        name: str,
        client: Client,
        transactional_id: str,
        keys: Sequence[Key],
        compacted: Sequence[Key],
        history: History,
        values: Callable[[], int],
        clock: Clock,
        random: Random,
        *,
        version: int,
    ) -> None:
        self.superseded = False  # another lives under its transactional id: once it knows, it is to stop
        self.done = False
        self._name = name
        self._client = client
        self._id = transactional_id
        self._keys = list(keys)
        self._compacted = frozenset(compacted)
        self._history = history
        self._values = values
        self._clock = clock
        self._random = random
        self._version = version
        self._finishing = False

    def finish(self) -> None:
        self._finishing = True

    async def run(self) -> None:
        while not self._finishing and not self.superseded:
            producer = TransactionalProducer(
                self._client,
                self._id,
                timeout=self._random.choice((2.0, 6.0)),
                delivery_timeout=5.0,
                clock=self._clock,
                version=self._version,
            )
            try:
                await producer.init()
                while not self._finishing:
                    await self._one(producer)
                    await asyncio.sleep(self._random.expovariate(1 / 0.2))
            except (Ended, Unreachable):
                await asyncio.sleep(self._random.uniform(0.05, 0.5))
            except Refused as refusal:
                if not refusal.code.retriable:
                    self._history.complain("refused-transaction", self._id, f"{self._name}: {refusal}")
                await asyncio.sleep(0.3)
        self.done = True

    async def _one(self, producer: TransactionalProducer) -> None:
        """One transaction, to whatever end it comes."""
        random = self._random
        transaction = self._history.begin(
            Transaction(process=self._name, begun=self._history.tick(), transactional_id=self._id)
        )
        producer.begin()
        try:
            for _ in range(random.randint(1, 4)):
                await self._send(producer, transaction)
                if random.random() < 0.2:
                    await asyncio.sleep(random.expovariate(1 / 0.1))
            if random.random() < 0.03:
                await asyncio.sleep(random.uniform(1.0, 8.0))  # perhaps longer than its time
            if random.random() < 0.2:
                await self._abort(producer, transaction)
                return
            transaction.ending = self._history.tick()
            await _insist(producer.commit)
        except MustAbort:
            await self._abort(producer, transaction)
        else:
            self._history.end(transaction, Outcome.OK)

    async def _abort(self, producer: TransactionalProducer, transaction: Transaction) -> None:
        await _insist(producer.abort)
        self._history.end(transaction, Outcome.FAIL)

    async def _send(self, producer: TransactionalProducer, transaction: Transaction) -> None:
        random = self._random
        key, value = random.choice(self._keys), self._values()
        name = b"%s %d" % (self._id.encode(), random.randrange(6) + value // 200)
        names = (name,) if key in self._compacted else ()
        send = self._history.begin(
            Send(
                process=self._name,
                begun=self._history.tick(),
                key=key,
                values=(value,),
                names=names,
                transaction=transaction,
            )
        )
        record = new_record(name if names else None, value, random.randint(0, 60))
        promise = await producer.send(key[0], record.value, key=record.key, partition=key[1])
        promise.add_done_callback(lambda delivered: self._delivered(send, delivered))

    def _delivered(self, send: Send, delivered: "asyncio.Future[Delivered]") -> None:
        if delivered.cancelled() or delivered.exception() is not None:
            return
        at = delivered.result().offset
        send.offset = at if at >= 0 else None
        self._history.end(send, Outcome.OK)


async def _insist(end: Callable[[], object]) -> None:
    """Call it until the cluster has answered."""
    while True:
        try:
            called = end()
            assert asyncio.iscoroutine(called)
            await called
            return
        except Unreachable:
            await asyncio.sleep(0.2)
