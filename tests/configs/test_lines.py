"""What the configs of the JSON lines and text doors do."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.configs.nodes import serving
from tests.configs.showing import Stage, Way, shows
from tests.gateways.lines import LineClient

from millstream.sim.host import BROKER

JSONL = {"jsonl.listener": f"{BROKER}:4040"}
TEXT = {"text.listener": f"{BROKER}:9000"}


async def is_open(port: int) -> bool:
    try:
        await (await LineClient.connect(port)).close()
    except OSError:
        return False
    return True


@shows("jsonl.listener")
def test_where_json_lines_are_served(way: Way) -> None:
    async def served(stage: Stage) -> bool:
        return await is_open(4040)

    assert serving(way, JSONL, served)
    assert not serving(way, {"jsonl.listener": ""}, served)


@shows("line.max.bytes")
def test_how_long_a_line_may_be(way: Way) -> None:
    async def taken(stage: Stage) -> list[bool]:
        client = await LineClient.connect(4040)
        return ["too long" not in await client.ask("x" * size) for size in (1024, 1025, 70_000)]

    assert serving(way, {**JSONL, "line.max.bytes": "1024"}, taken) == [True, False, False]
    assert serving(way, JSONL, taken) == [True, True, True]


async def text() -> LineClient:
    return await LineClient.connect(9000)


async def publish(*values: str) -> None:
    client = await text()
    for value in values:
        assert await client.ask(f"PUB t {value}") == "OK"


async def heard(client: LineClient) -> int:
    """How many lines come until nothing does."""
    count = 0
    while not await client.hears_nothing(0.5):
        count += 1
    return count


@shows("text.listener")
def test_where_text_is_served(way: Way) -> None:
    async def served(stage: Stage) -> bool:
        return await is_open(9000)

    assert serving(way, TEXT, served)
    assert not serving(way, {"text.listener": ""}, served)


def with_text(way: Way, name: str, value: str, look: Callable[[Stage], Awaitable[int]]) -> tuple[int, int]:
    """What is seen at the text door with a setting, and without."""
    return serving(way, {name: value}, look, TEXT), serving(way, {}, look, TEXT)


@shows("queue.window")
def test_how_many_messages_a_subscriber_holds(way: Way) -> None:
    async def held(stage: Stage) -> int:
        await publish("a", "b", "c")
        client = await text()
        await client.ask("SUB t")
        return await heard(client)

    assert with_text(way, "queue.window", "2", held) == (2, 3)


@shows("queue.max.held")
def test_how_many_messages_a_group_holds(way: Way) -> None:
    async def held(stage: Stage) -> int:
        await publish(*"abcdef")
        clients = [await text(), await text()]
        for client in clients:
            await client.ask("SUB t group=g")
        return sum([await heard(client) for client in clients])

    assert with_text(way, "queue.max.held", "4", held) == (4, 6)


@shows("queue.ack.timeout.ms")
def test_how_long_a_member_may_hold_a_message(way: Way) -> None:
    async def deliveries(stage: Stage) -> int:
        await publish("a")
        client = await text()
        await client.ask("SUB t group=g")
        await asyncio.sleep(1)
        return min(await heard(client), 2)

    assert with_text(way, "queue.ack.timeout.ms", "400", deliveries) == (2, 1)


@shows("queue.delivery.count.limit")
def test_how_often_a_message_is_tried(way: Way) -> None:
    async def deliveries(stage: Stage) -> int:
        await publish("a")
        client = await text()
        await client.ask("SUB t group=g")
        count = 0
        while not await client.hears_nothing(0.5):
            count += 1
            client.send("NACK 0")
            await client.hear()
        return count

    assert with_text(way, "queue.delivery.count.limit", "2", deliveries) == (2, 5)


@shows("queue.dead.letter.suffix")
def test_where_the_dead_go(way: Way) -> None:
    async def dead(stage: Stage) -> int:
        await publish("a")
        client = await text()
        await client.ask("SUB t group=g timeout=10")
        await asyncio.sleep(5)
        return int("t-gone" in stage.broker.topics)

    assert with_text(way, "queue.dead.letter.suffix", "-gone", dead) == (1, 0)


@shows("queue.max.count")
def test_how_many_queues_there_are(way: Way) -> None:
    async def subscribed(stage: Stage) -> int:
        client = await text()
        replies = [await client.ask(f"SUB t group=g{n}") for n in range(4)]
        return sum(reply == "SUBSCRIBED t" for reply in replies)

    assert with_text(way, "queue.max.count", "3", subscribed) == (3, 4)
