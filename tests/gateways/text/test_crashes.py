"""The power goes out at any moment: nothing acknowledged comes again, nothing unacknowledged is lost."""

import asyncio
from random import Random

import pytest
from tests.client.simulated import Sim
from tests.gateways.lines import TEXT, LineClient, with_doors

LIVES = 3


class Told:
    """What clients know, whatever the node forgets."""

    def __init__(self) -> None:
        self.published: set[str] = set()
        self.tried: set[str] = set()
        self.acked: set[str] = set()
        self.clients: list[LineClient] = []

    async def publish(self, name: str, random: Random) -> None:
        it = await self.connect()
        count = 0
        while True:
            values = [f"{name}-{count + n}" for n in range(random.randint(1, 5))]
            count += len(values)
            it.send(*(f"PUB t {value}" for value in values))
            for value in values:
                if await self.hear(it) == "OK":
                    self.published.add(value)
            await asyncio.sleep(random.random() / 20)

    async def consume(self, wish: str, random: Random) -> None:
        it = await self.connect()
        it.send(f"SUB t {wish}")
        held: dict[str, str] = {}
        while True:
            words = (await self.hear(it)).split()
            if words[0] == "ACKED":
                self.acked.add(held.pop(words[1]))
            elif words[0] == "MSG":
                assert words[3] not in self.acked, f"{words[3]} was acknowledged, and came again"
                held[words[2]] = words[3]
                kind = random.random()
                if kind < 0.6:
                    self.tried.add(words[3])
                    it.send(f"ACK {words[2]}")
                elif kind < 0.8:
                    held.pop(words[2])
                    it.send(f"NACK {words[2]} {random.randint(0, 100)}")
            if random.random() < 0.02:
                it.hang_up()
                return

    async def connect(self) -> LineClient:
        it = await LineClient.connect(TEXT)
        self.clients.append(it)
        return it

    async def hear(self, it: LineClient) -> str:
        line = await it.hear_raw()
        if not line:
            raise ConnectionError
        return line.decode()


async def life(told: Told, wish: str, random: Random, life: int) -> None:
    """Some clients, for a while, until the node ends."""

    async def again(work: str, name: str) -> None:
        while True:
            try:
                if work == "publish":
                    await told.publish(f"{name}{random.getrandbits(32)}", random)
                else:
                    await told.consume(wish, random)
            except (OSError, TimeoutError):
                pass
            await asyncio.sleep(0.5)  # until the node has noticed

    readers = 2 if wish else 1  # without a group, each of two would be owed every message
    load = [asyncio.create_task(again("publish", f"{life}-{n}")) for n in range(2)]
    load += [asyncio.create_task(again("consume", "")) for _ in range(readers)]
    await asyncio.sleep(random.random() * 2)
    for task in load:
        task.cancel()
    for result in await asyncio.gather(*load, return_exceptions=True):
        if isinstance(result, AssertionError):
            raise result


@pytest.mark.parametrize("wish", ["group=g", ""])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_acknowledged_comes_again_and_nothing_else_is_lost(seed: int, wish: str) -> None:
    random = Random(seed)

    async def story(sim: Sim) -> None:
        told = Told()
        for number in range(LIVES):
            await life(told, wish, random, number)
            random.choice([sim.host.cut_power, sim.host.kill])()
            for it in told.clients:
                it.hang_up()
            told.clients.clear()
            await sim.up()
        assert told.acked
        it = await LineClient.connect(TEXT)
        it.send(f"SUB t {wish} window=10000", "PUB t last")
        left = told.published - told.tried | {"last"}
        while left:
            words = (await told.hear(it)).split()
            if words[0] == "MSG":
                assert words[3] not in told.acked, f"{words[3]} was acknowledged, and came again"
                left.discard(words[3])
                it.send(f"ACK {words[2]}")

    with_doors(story, {"queue.delivery.count.limit": 0}, seed)
