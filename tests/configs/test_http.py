"""What the configs of the HTTP doors do."""

import asyncio

from tests.configs.nodes import serving
from tests.configs.showing import Stage, Way, shows
from tests.gateways.http.support import Answer, read_answer, request_bytes

from millstream.sim.host import BROKER

QUEUE = {"http.queue.listener": f"{BROKER}:3000"}
ADMIN = {"admin.listener": f"{BROKER}:8080"}


async def ask(method: str, path: str, body: object = None, port: int = 3000, **headers: str) -> Answer | None:
    """The answer, None if nobody listens."""
    try:
        reader, writer = await asyncio.open_connection(BROKER, port)
    except OSError:
        return None
    writer.write(request_bytes(method, path, body, headers))
    try:
        return await read_answer(reader)
    finally:
        writer.close()


@shows("http.queue.listener")
def test_where_the_http_queue_is_served(way: Way) -> None:
    async def served(stage: Stage) -> bool:
        return await ask("GET", "/stats") is not None

    assert serving(way, QUEUE, served)
    assert not serving(way, {"http.queue.listener": ""}, served)


@shows("admin.listener")
def test_where_the_admin_api_is_served(way: Way) -> None:
    async def served(stage: Stage) -> bool:
        return await ask("GET", "/health", port=8080) is not None

    assert serving(way, ADMIN, served)
    assert not serving(way, {"admin.listener": ""}, served)


@shows("http.request.max.bytes")
def test_how_large_a_request_may_be(way: Way) -> None:
    async def statuses(stage: Stage) -> list[int]:
        answers = [await ask("POST", "/commit", b"x" * size) for size in (2048, 2049)]
        return [answer.status for answer in answers if answer is not None]

    assert serving(way, {**QUEUE, "http.request.max.bytes": "2048"}, statuses) == [400, 413]
    assert serving(way, QUEUE, statuses) == [400, 400]


@shows("http.allowed.origins")
def test_which_web_pages_may_use_the_doors(way: Way) -> None:
    async def allowed(stage: Stage) -> tuple[int, str | None]:
        answer = await ask("GET", "/stats", origin="https://shop.example")
        assert answer is not None
        return answer.status, answer.headers.get("access-control-allow-origin")

    allows = {"http.allowed.origins": "https://shop.example"}
    assert serving(way, allows, allowed, QUEUE) == (200, "https://shop.example")
    assert serving(way, {}, allowed, QUEUE) == (403, None)


@shows("http.queue.broker.id")
def test_what_the_http_queue_calls_itself(way: Way) -> None:
    async def name(stage: Stage) -> str:
        answer = await ask("GET", "/stats")
        assert answer is not None
        told: str = answer.json["data"]["brokerId"]
        return told

    assert serving(way, {**QUEUE, "http.queue.broker.id": "panda"}, name) == "panda"
    assert serving(way, QUEUE, name) == "broker_1"


@shows("http.queue.consumer.release.ms")
def test_when_an_idle_consumer_makes_room(way: Way) -> None:
    async def registered(stage: Stage) -> list[int]:
        answers = []
        for consumer in "ab":
            answers.append(await ask("POST", "/register/t", {"brokerId": "b", "consumerId": consumer}))
            await asyncio.sleep(10)
        return [answer.status for answer in answers if answer is not None]

    assert serving(way, {"http.queue.consumer.release.ms": "5000"}, registered, QUEUE) == [200, 200]
    assert serving(way, {}, registered, QUEUE) == [200, 409]
