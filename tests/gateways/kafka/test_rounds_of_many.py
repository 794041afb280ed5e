"""Many clients at once, some of them rude: what was acknowledged is there, where it was said to be, once."""

import asyncio
import socket
import struct
from pathlib import Path
from random import Random

import pytest
import uvloop
from tests.broker.support import SESSION
from tests.gateways.kafka.desk import POLICIES, Client, Desk, offset_in, run, serving
from tests.gateways.kafka.test_lanes import produce

from millstream.gateways.kafka.rounds import NATIVE
from millstream.records.runs import NOBODY, Sender

pytestmark = pytest.mark.skipif(NATIVE is None, reason="no epoll, or the native part was not built")

REQUESTS = 60
_RESET = struct.pack("ii", 1, 0)  # closed, what is on its way is thrown away


class Rude:
    """A producer that sends in pieces, hangs up in the midst of requests, and comes again."""

    def __init__(self, desk: Desk, number: int, seed: int) -> None:
        self.acked: dict[int, bytes] = {}  # by offset
        self._desk = desk
        self._random = Random(seed * 100 + number)
        self._id = number if number % 2 else -1  # every other one counts its batches
        self._number = number
        self._client: Client | None = None

    async def talk(self) -> None:
        sent = 0
        while sent < REQUESTS:
            if self._client is None:
                self._client = await self._desk.dial(self._random.choice([0, 0, 4096]))
            many = [self._frame(sent + each) for each in range(self._random.choice([1, 1, 1, 4]))]
            try:
                await self._say(b"".join(frame for frame, _ in many))
                for _, value in many:
                    (reply,) = await self._client.replies(1)
                    self.acked[offset_in(reply)] = value
                sent += len(many)
            except (ConnectionError, OSError):
                self._client = None  # what was not acknowledged comes again
        if self._client is not None:
            self._client.socket.close()

    def _frame(self, number: int) -> tuple[bytes, bytes]:
        # The same again after a hang-up, byte for byte, as a producer that counts must send it.
        size = 3000 if number % 7 == 3 else 70_000 if number % 29 == 11 else 20
        value = f"{self._number}-{number} ".encode() + b"x" * size
        sender = Sender(self._id, 0, number) if self._id >= 0 else NOBODY
        return produce(number, value, sender=sender), value

    async def _say(self, data: bytes) -> None:
        assert self._client is not None
        chance = self._random
        if chance.random() < 0.05:
            data, client, self._client = data[: chance.randrange(len(data))], self._client, None
            await client.send(data)
            if chance.random() < 0.5:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            client.socket.close()
            raise ConnectionError("hung up")
        piece = chance.choice([len(data), len(data), 100, 1000])
        for start in range(0, len(data), piece):
            await self._client.send(data[start : start + piece])
            if chance.random() < 0.2:
                await asyncio.sleep(0)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(6))
def test_what_was_acknowledged_is_there_once(tmp_path: Path, seed: int, policy: str) -> None:
    async def tell() -> None:
        async with serving(tmp_path, linger_us=seed % 2 * 100, flush_policy=policy) as desk:
            clients = [Rude(desk, number, seed) for number in range(8)]
            waits = asyncio.ensure_future(_follow(desk))
            await asyncio.gather(*(client.talk() for client in clients))
            partition = desk.hosted.partition
            assert partition.high_watermark == partition.log.end_offset
            waits.cancel()
            assert desk.rounds.requests > 0

            found = await desk.broker.read(SESSION, "t", 0, 0, max_records=10_000, max_bytes=64 << 20)
            there = {record.offset: record.value for record in found.records}
            assert sorted(there) == list(range(partition.log.end_offset))
            for client in clients:
                for offset, value in client.acked.items():
                    assert there[offset] == value
            values = list(there.values())
            for client in clients[1::2]:
                for value in client.acked.values():
                    assert values.count(value) == 1

    run(tell(), uvloop.new_event_loop if seed % 3 else asyncio.new_event_loop)


async def _follow(desk: Desk) -> None:
    """Somebody who always waits for what comes next."""
    async for _ in desk.broker.follow(SESSION, "t"):
        pass
