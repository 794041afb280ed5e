"""A simulated application that reads, processes and writes: every input has its effect exactly once.

Each record of its share of the input becomes one of the output. Output and the
offsets that were read are one transaction, so whoever goes on after a crash
goes on where the output ends.
"""

import asyncio
from random import Random
from typing import Final, final

from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.fetcher import FetchConfig
from millstream.client.membership import GroupConfig
from millstream.client.topics import TopicPartition
from millstream.client.transactions import Ended, MustAbort, TransactionalProducer
from millstream.client.unreachable import Unreachable
from millstream.env.clock import Clock
from millstream.errors import Refused
from millstream.sim.history import History

_POLL_S: Final = 0.5
_MOST: Final = 20
_FETCH: Final = FetchConfig(max_wait_ms=250, committed_only=True)
_SESSION: Final = GroupConfig(session_timeout=6.0, rebalance_timeout=4.0, heartbeat_interval=1.0)


@final
class Processor:
    """One member of *group*, from topic *source* to topic *target* with *partitions*; it never ends."""

    def __init__(
        self,
        name: str,
        client: Client,
        group: str,
        transactional_id: str,
        source: str,
        target: str,
        partitions: int,
        history: History,
        clock: Clock,
        random: Random,
        *,
        version: int,
    ) -> None:
        self._name = name
        self._client = client
        self._group = group
        self._id = transactional_id
        self._source = source
        self._target = target
        self._partitions = partitions
        self._history = history
        self._clock = clock
        self._random = random
        self._version = version

    async def run(self) -> None:
        while True:
            producer = TransactionalProducer(
                self._client,
                self._id,
                timeout=self._random.choice((2.0, 6.0)),
                delivery_timeout=4.0,
                clock=self._clock,
                version=self._version,
            )
            consumer = Consumer(
                self._client,
                group=self._group,
                topics=[self._source],
                reset="earliest",
                commit_interval=None,
                fetch=_FETCH,
                membership=_SESSION,
            )
            try:
                await producer.init()
                while True:
                    await self._some(producer, consumer)
            except (MustAbort, Ended, Unreachable, Refused) as problem:
                self._judge(problem)
            await self._let_go(consumer)
            await asyncio.sleep(self._random.uniform(0.05, 0.5))

    async def _some(self, producer: TransactionalProducer, consumer: Consumer) -> None:
        records = await consumer.poll(_POLL_S, self._random.randint(1, _MOST))
        if not records:
            return
        member = consumer.member
        assert member is not None
        read = {TopicPartition(each.topic, each.partition) for each in records}
        offsets = {each: at for each, at in consumer.positions().items() if each in read}
        async with producer.transaction():
            for record in records:
                promise = await producer.send(
                    self._target, record.value, partition=_number(record) % self._partitions
                )
                promise.add_done_callback(lambda done: done.cancelled() or done.exception())
            await producer.send_offsets(member, offsets)

    async def _let_go(self, consumer: Consumer) -> None:
        try:
            async with asyncio.timeout(3.0):
                await consumer.close()
        except (Unreachable, Refused, TimeoutError):
            pass  # the session will end all the same

    def _judge(self, problem: Exception) -> None:
        """Whatever it was passes, but not what nobody could have expected."""
        cause = problem.problem if isinstance(problem, MustAbort | Ended) else problem
        self._history.tick()
        if isinstance(cause, RuntimeError):
            self._history.complain("refused-transaction", self._id, f"{self._name}: {cause}")


def _number(record: Consumed) -> int:
    return int.from_bytes((record.value or b"")[:8], "big")
