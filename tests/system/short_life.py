"""A short life of a broker that touches everything once.

A topic is made, written to, rolled, trimmed, grown, read by a group; another
is made and deleted; checkpoints are written; and all is closed cleanly.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Final, TypeVar

from tests.support.server import Server
from tests.system import dying
from tests.system.inside import look
from tests.system.ledger import Ledger
from tests.system.load import commit_offset

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused

GROUP: Final = "readers"
PARTITION: Final = TopicPartition("orders", 0)
SETTINGS: Final = {
    "log.flush.offset.checkpoint.interval.ms": 250,
    "offsets.topic.num.partitions": 1,
    "log.dir.ballast.bytes": 0,
    "native.enable": False,  # so that every call is one of Python's, and counted
}
CALLS: Final = 300  # more than this life makes to the disk

T = TypeVar("T")


class Life:
    """One such life, in a directory of its own."""

    def __init__(self, data: Path, report: Path) -> None:
        self.ledger = Ledger()
        self.answered: list[float] = []  # when what was answered well was asked
        self.is_whole = False
        self.exit_code: int | None = None
        self.data = data
        self._report = report

    @property
    def end(self) -> list[str]:
        """What was left in the report."""
        return self._report.read_text().split() if self._report.exists() else []

    @property
    def was_struck(self) -> bool:
        """Whether the end that was chosen has come."""
        return not self.end[0].isdecimal()

    def live(self, how: str, number: int, *, ends_by_itself: bool = False) -> None:
        """Live until the end that was chosen; if it does not come, stop after the last step.

        One that *ends_by_itself* is not told to stop before its time.
        """
        self.run(dying.command(how, number, self._report), ends_by_itself=ends_by_itself)
        assert self.end, "it did not even begin"

    def start_only(self, how: str, number: int) -> None:
        """Start, until the end that was chosen, and stop at once if it does not come."""
        command = dying.command(how, number, self._report)
        with contextlib.suppress(AssertionError), Server(self.data, SETTINGS, command=command) as server:
            server.stop()
        assert self.end, "it did not even begin"

    def run(self, command: tuple[str, ...], *, ends_by_itself: bool = False) -> None:
        """Live as *command* does."""
        try:
            server = Server(self.data, SETTINGS, command=command)
        except AssertionError:
            return  # it came to its end before it served anybody
        with server:
            asyncio.run(self._work(server.bootstrap))
            if self.is_whole or not ends_by_itself:
                server.process.terminate()
            self.exit_code = server.wait()

    def check(self) -> None:
        """All that was acknowledged is there, and still is after a clean stop."""
        ledger = self.ledger
        for _ in range(2):
            found = look(self.data, GROUP)
            ledger.check_topics(found.topics)
            ledger.check_kept(found.records, found.starts)
            ledger.check_starts({PARTITION: found.starts.get(PARTITION, 0)})
            ledger.check_commits(found.commits)

    async def _work(self, bootstrap: str) -> None:
        client = Client(bootstrap, timeout=10.0, patience=0.0)
        try:
            await client.start()
            async with Producer(client, delivery_timeout=0.0) as producer:
                await self._steps(client, producer)
        except (Unreachable, Refused):
            return  # it has ended, as it was meant to
        finally:
            await client.close()
        self.is_whole = True

    async def _steps(self, client: Client, producer: Producer) -> None:
        admin, ledger = Admin(client), self.ledger
        await self._create(admin, "orders")
        for number in range(8):
            await self._deliver(producer, number)
        for offset in (1, 2):
            ledger.tried_commits[GROUP, PARTITION] = offset
            await self._ask(commit_offset(client, GROUP, PARTITION, offset))
            ledger.commits[GROUP, PARTITION] = offset
        ledger.tried_starts[PARTITION] = 5
        ledger.starts.update(await self._ask(admin.trim({PARTITION: 5})))
        await self._create(admin, "gone")
        await self._ask(producer.deliver("gone", b"a:0:", partition=0))
        ledger.unsure_topics.add("gone")
        await self._ask(admin.delete_topic("gone"))
        ledger.topics.discard("gone")
        ledger.unsure_topics.discard("gone")
        await self._ask(admin.grow_topic("orders", 2))
        await self._deliver(producer, 8)

    async def _create(self, admin: Admin, topic: str) -> None:
        self.ledger.unsure_topics.add(topic)
        await self._ask(admin.create_topic(topic, partitions=1, configs={"segment.bytes": "1024"}))
        self.ledger.topics.add(topic)
        self.ledger.unsure_topics.discard(topic)

    async def _deliver(self, producer: Producer, number: int) -> None:
        value = f"a:{number}:".encode() + bytes(300)
        place = await self._ask(producer.deliver(PARTITION.topic, value, partition=PARTITION.partition))
        self.ledger.delivered(PARTITION, place.offset, value)

    async def _ask(self, step: Awaitable[T]) -> T:
        began = time.monotonic()
        answer = await step
        self.answered.append(began)
        return answer
