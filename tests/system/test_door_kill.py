"""A broker is killed under load at the doors of lines, and keeps its word: `OK` and `ACKED` stay true."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from tests.gateways.lines import LineClient
from tests.system.mortal import Mortal

pytestmark = pytest.mark.system

HOST = "127.0.0.1"
TOPIC = "jobs"
PIPELINED = 20


class Story:
    """What clients were told, over all lives of the broker."""

    def __init__(self, broker: Mortal) -> None:
        self.broker = broker
        self.published: set[str] = set()
        self.tried: set[str] = set()  # acknowledged by us, whether or not the broker has heard it
        self.acked: set[str] = set()
        self.committed = -1
        self.faults: list[str] = []
        self.running = True
        self.progress = asyncio.Event()

    async def again_and_again(self, door: str, work: Callable[[LineClient], Awaitable[None]]) -> None:
        """Do *work* on a connection to *door*, and on a new one whenever that breaks."""
        while self.running:
            try:
                client = await LineClient.connect(self.broker.server.ports[door], HOST)
                try:
                    await work(client)
                finally:
                    client.hang_up()  # else messages would be handed to nobody
            except (OSError, asyncio.IncompleteReadError, EOFError):
                await asyncio.sleep(0.05)

    async def publish_text(self, name: str) -> None:
        count = 0

        async def work(client: LineClient) -> None:
            nonlocal count
            while self.running:
                values = [f"{name}-{count + n}" for n in range(PIPELINED)]
                count += PIPELINED
                client.send(*(f"PUB {TOPIC} {value}" for value in values))
                for value in values:
                    if await said(client) == "OK":
                        self._published(value)

        await self.again_and_again("text", work)

    async def publish_json(self, name: str) -> None:
        count = 0

        async def work(client: LineClient) -> None:
            nonlocal count
            while self.running:
                values = [f"{name}-{count + n}" for n in range(PIPELINED)]
                count += PIPELINED
                client.send(*(json.dumps({"type": "produce", "topic": TOPIC, "value": v}) for v in values))
                for value in values:
                    reply = json.loads(await said(client))
                    if reply["ok"]:
                        self._published(value)
                commit = {"type": "commit", "groupId": "c", "topic": TOPIC, "partition": 0, "offset": count}
                if json.loads(await ask(client, json.dumps(commit)))["ok"]:
                    self.committed = count

        await self.again_and_again("JSON lines", work)

    async def consume(self) -> None:
        async def work(client: LineClient) -> None:
            held: dict[str, str] = {}
            client.send(f"SUB {TOPIC} group=g")
            while self.running:
                words = (await said(client)).split(" ", 3)
                if words[0] == "MSG":
                    if words[3] in self.acked:
                        self.faults.append(f"{words[3]} was acknowledged, and delivered again")
                    held[words[2]] = words[3]
                    self.tried.add(words[3])
                    client.send(f"ACK {words[2]}")
                elif words[0] == "ACKED":
                    self.acked.add(held.pop(words[1]))
                    self.progress.set()

        await self.again_and_again("text", work)

    async def more(self, count: int) -> None:
        """Return when *count* more were published and as many acknowledged."""
        published, acked = len(self.published) + count, len(self.acked) + count
        while len(self.published) < published or len(self.acked) < acked:
            self.progress.clear()
            await asyncio.wait_for(self.progress.wait(), 60)

    def _published(self, value: str) -> None:
        self.published.add(value)
        self.progress.set()


async def said(client: LineClient) -> str:
    line = await client.hear_raw()
    if not line:
        raise EOFError
    return line.decode()


async def ask(client: LineClient, line: str) -> str:
    client.send(line)
    return await said(client)


@pytest.mark.parametrize("rounds", [4, pytest.param(30, marks=pytest.mark.long)])
def test_a_killed_broker_keeps_its_word_at_the_doors_of_lines(tmp_path: Path, rounds: int) -> None:
    asyncio.run(_kill_again_and_again(tmp_path / "data", rounds))


async def _kill_again_and_again(data: Path, rounds: int) -> None:
    random = Random(rounds)
    with Mortal(data, {"log.dir.ballast.bytes": 0, "queue.delivery.count.limit": 0}) as broker:
        story = Story(broker)
        client = await LineClient.connect(broker.server.ports["text"], HOST)
        assert await client.ask(f"PUB {TOPIC} first") == "OK"
        story.published.add("first")
        load = [
            asyncio.create_task(each)
            for each in (
                story.publish_text("a"),
                story.publish_text("b"),
                story.publish_json("c"),
                story.consume(),
                story.consume(),
            )
        ]
        for _ in range(rounds):
            await story.more(random.randint(50, 600))
            await asyncio.to_thread(broker.end, random.choice([signal.SIGKILL] * 3 + [signal.SIGTERM]))
        await story.more(50)
        story.running = False
        for task in load:
            task.cancel()
        await asyncio.gather(*load, return_exceptions=True)
        assert not story.faults, story.faults[:3]
        await _check_the_rest(story)
        json_lines = await LineClient.connect(broker.server.ports["JSON lines"], HOST)
        metrics = await json_lines.ok(type="metrics", topic=TOPIC, partition=0, groupId="c")
        assert metrics["committedOffset"] >= story.committed
        assert broker.stop() == 0


async def _check_the_rest(story: Story) -> None:
    """Whatever was published and never seen is delivered now; nothing that was acknowledged is."""
    client = await LineClient.connect(story.broker.server.ports["text"], HOST)
    assert await client.ask(f"SUB {TOPIC} group=g") == f"SUBSCRIBED {TOPIC}"
    client.send(f"PUB {TOPIC} last")
    left = story.published - story.tried
    again = set()
    while left or "last" not in again:
        words = (await said(client)).split(" ", 3)
        if words[0] == "MSG":
            assert words[3] not in story.acked, "acknowledged, and delivered again"
            again.add(words[3])
            client.send(f"ACK {words[2]}")
            left.discard(words[3])
