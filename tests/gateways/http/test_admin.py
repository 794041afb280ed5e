"""The admin API's contract, row by row, in raw HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.broker.support import SESSION
from tests.gateways.http.support import Answer, Doors, doors

from millstream.groups.outcomes import Join
from millstream.records.build import NewRecord


def run(story: Callable[[Doors], Awaitable[None]], **more: Any) -> None:
    async def told() -> None:
        async with doors(**{"topics": {}, **more}) as there:
            await story(there)

    asyncio.run(asyncio.wait_for(told(), 60))


async def ask(there: Doors, method: str, path: str, body: Any = None) -> Answer:
    return await there.ask(method, path, body, admin=True)


def error(answer: Answer, status: int, code: str) -> None:
    assert answer.status == status, answer
    assert list(answer.json) == ["error"]
    assert set(answer.json["error"]) == {"code", "message", "details"}
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["message"]


def test_topics_are_made_shown_changed_and_deleted() -> None:
    async def story(there: Doors) -> None:
        asked = {
            "name": "orders",
            "partitions": 3,
            "replication_factor": 1,
            "configs": {"retention.ms": 1000},
        }
        topic = {**asked, "configs": {"retention.ms": "1000"}}
        answer = await ask(there, "POST", "/api/v1/topics", asked)
        assert answer.status == 201
        assert answer.json == {"success": True, "topic": topic, "message": "topic orders created"}
        assert (await ask(there, "GET", "/api/v1/topics")).json == {"topics": [topic]}

        answer = await ask(there, "GET", "/api/v1/topics/orders")
        leader = {"id": 1, "host": "127.0.0.1", "port": 9092}
        assert answer.json == {
            "name": "orders",
            "partitions": [
                {"partition": index, "leader": leader, "replicas": [1], "isr": [1]} for index in range(3)
            ],
            "configs": {"retention.ms": "1000"},
        }

        change = {"partitions": 5, "configs": {"retention.ms": None, "cleanup.policy": "compact"}}
        answer = await ask(there, "PATCH", "/api/v1/topics/orders", change)
        assert answer.status == 200
        assert answer.json["topic"]["partitions"] == 5
        assert answer.json["topic"]["configs"] == {"cleanup.policy": "compact"}

        answer = await ask(there, "DELETE", "/api/v1/topics/orders")
        assert answer.json == {"success": True, "topic": "orders", "message": "topic orders deleted"}
        assert (await ask(there, "GET", "/api/v1/topics")).json == {"topics": []}

    run(story)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "there"}, 409, "TOPIC_ALREADY_EXISTS"),
        ({"name": "p", "partitions": 0}, 400, "INVALID_PARTITIONS"),
        ({"name": "p", "partitions": -5}, 400, "INVALID_PARTITIONS"),
        ({"name": "p", "partitions": "3"}, 400, "INVALID_PARTITIONS"),
        ({"name": "p", "partitions": 10**7}, 400, "INVALID_PARTITIONS"),
        ({"name": "p", "partitions": 10**40}, 400, "INVALID_PARTITIONS"),
        ({"name": "p", "replication_factor": 3}, 400, "INVALID_REPLICATION_FACTOR"),
        ({"name": "p", "replication_factor": 0}, 400, "INVALID_REPLICATION_FACTOR"),
        ({"name": "p", "configs": {"no.such": "1"}}, 400, "INVALID_CONFIG"),
        ({"name": "p", "configs": {"retention.ms": "x"}}, 400, "INVALID_CONFIG"),
        ({"name": "p", "configs": {"retention.ms": []}}, 400, "INVALID_CONFIG"),
        ({"name": "p", "configs": []}, 400, "INVALID_CONFIG"),
        ({"name": "../../etc"}, 400, "INVALID_TOPIC_EXCEPTION"),
        ({"name": 7}, 400, "INVALID_REQUEST"),
        ({}, 400, "INVALID_REQUEST"),
        ([], 400, "INVALID_REQUEST"),
        (b"{", 400, "INVALID_REQUEST"),
    ],
)
def test_topics_that_cannot_be(body: Any, status: int, code: str) -> None:
    async def story(there: Doors) -> None:
        error(await ask(there, "POST", "/api/v1/topics", body), status, code)
        assert [each["name"] for each in (await ask(there, "GET", "/api/v1/topics")).json["topics"]] == [
            "there"
        ]

    run(story, topics={"there": 1})


def test_changes_that_cannot_be_change_nothing() -> None:
    async def story(there: Doors) -> None:
        path = "/api/v1/topics/orders"
        error(await ask(there, "PATCH", path, {"partitions": 1}), 400, "INVALID_PARTITIONS")
        error(
            await ask(there, "PATCH", path, {"partitions": 9, "configs": {"no": "1"}}), 400, "INVALID_CONFIG"
        )
        error(await ask(there, "PATCH", path, {}), 400, "INVALID_REQUEST")
        assert (await ask(there, "GET", "/api/v1/topics")).json["topics"][0]["partitions"] == 2
        for method in ("GET", "DELETE"):
            error(await ask(there, method, "/api/v1/topics/nowhere"), 404, "TOPIC_NOT_FOUND")
        error(await ask(there, "PATCH", "/api/v1/topics/nowhere", {"partitions": 2}), 404, "TOPIC_NOT_FOUND")
        error(await ask(there, "GET", "/api/v1/metrics/topics/nowhere"), 404, "TOPIC_NOT_FOUND")
        error(await ask(there, "PUT", path, {}), 405, "METHOD_NOT_ALLOWED")
        error(await ask(there, "GET", "/api/v2/topics"), 404, "NOT_FOUND")

    run(story, topics={"orders": 2})


def test_groups_their_offsets_and_how_they_are_reset() -> None:
    async def story(there: Doors) -> None:
        path = "/api/v1/consumer-groups/billing/offsets"
        assert (await ask(there, "GET", "/api/v1/consumer-groups")).json == {"groups": []}
        error(await ask(there, "GET", path), 404, "GROUP_NOT_FOUND")
        await there.broker.write(SESSION, "orders", [NewRecord(None, b"%d" % n) for n in range(5)], 0)
        await there.broker.commit_offsets(SESSION, "billing", {("orders", 0): 2})
        assert (await ask(there, "GET", "/api/v1/consumer-groups")).json == {
            "groups": [{"group_id": "billing", "state": "Empty", "protocol": "", "members": 0}]
        }

        def offsets(current: int) -> dict[str, Any]:
            place = {"topic": "orders", "partition": 0, "current_offset": current}
            return {
                "group_id": "billing",
                "offsets": [{**place, "log_end_offset": 5, "lag": 5 - current}],
            }

        assert (await ask(there, "GET", path)).json == offsets(2)
        for asked, settled in ((4, 4), ("earliest", 0), ("latest", 5)):
            body = {"offsets": [{"topic": "orders", "partition": 0, "offset": asked}]}
            answer = await ask(there, "PUT", path, body)
            assert (answer.status, answer.json) == (200, offsets(settled))

        def reset(**change: Any) -> Awaitable[Answer]:
            each = {"topic": "orders", "partition": 0, "offset": 0, **change}
            return ask(there, "PUT", path, {"offsets": [each]})

        error(await reset(offset=6), 400, "OFFSET_OUT_OF_RANGE")
        error(await reset(offset=-1), 400, "OFFSET_OUT_OF_RANGE")
        error(await reset(offset="x"), 400, "INVALID_REQUEST")
        error(await reset(partition=7), 404, "TOPIC_NOT_FOUND")
        error(await reset(topic="nowhere"), 404, "TOPIC_NOT_FOUND")
        error(await reset(topic=1), 400, "INVALID_REQUEST")
        bodies: list[Any] = [{}, {"offsets": []}, {"offsets": [1]}, []]
        for wrong in bodies:
            error(await ask(there, "PUT", path, wrong), 400, "INVALID_REQUEST")
        assert (await ask(there, "GET", path)).json == offsets(5)

    run(story, topics={"orders": 1})


def test_offsets_are_not_reset_under_members() -> None:
    async def story(there: Doors) -> None:
        await there.broker.coordinator(SESSION)
        await there.broker.commit_offsets(SESSION, "billing", {("orders", 0): 0})
        joined = there.broker.groups.join(
            "billing",
            Join(
                session_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=(("range", b""),),
                knows_two_steps=False,
            ),
        )
        await asyncio.sleep(0.05)
        body = {"offsets": [{"topic": "orders", "partition": 0, "offset": 0}]}
        answer = await ask(there, "PUT", "/api/v1/consumer-groups/billing/offsets", body)
        error(answer, 409, "GROUP_NOT_EMPTY")
        (group,) = (await ask(there, "GET", "/api/v1/consumer-groups")).json["groups"]
        assert group["members"] == 1
        joined.cancel()

    run(story, topics={"orders": 1})


def test_the_cluster_its_health_and_what_passes_through_it() -> None:
    async def story(there: Doors) -> None:
        here = {"id": 1, "host": "127.0.0.1", "port": 9092}
        assert (await ask(there, "GET", "/api/v1/cluster")).json == {
            "cluster_id": "cluster",
            "controller": here,
            "brokers": [{**here, "rack": None}],
        }
        assert (await ask(there, "GET", "/api/v1/cluster/health")).json == {
            "status": "healthy",
            "brokers_online": 1,
            "brokers_total": 1,
            "under_replicated_partitions": 0,
            "offline_partitions": 0,
        }
        records = [NewRecord(None, bytes(100)) for _ in range(600)]
        await there.broker.write(SESSION, "orders", records)
        await there.broker.read(SESSION, "orders", 0, 0, max_records=10)

        (figures,) = (await ask(there, "GET", "/api/v1/metrics/brokers")).json["brokers"]
        assert {"id", "cpu_usage", "memory_usage", "disk_usage"} < set(figures)
        assert 9 < figures["messages_in_per_sec"] <= 10
        assert figures["bytes_in_per_sec"] > 900
        assert figures["bytes_out_per_sec"] > 0

        data = (await ask(there, "GET", "/api/v1/metrics/topics/orders")).json
        assert (data["topic"], data["total_messages"]) == ("orders", 600)
        assert 9 < data["messages_in_per_sec"] <= 10
        assert data["total_bytes"] > 60_000
        assert [each["log_end_offset"] for each in data["partitions"]] == [300, 300]
        assert set(data["partitions"][0]) == {"partition", "size_bytes", "messages", "log_end_offset"}

    run(story, topics={"orders": 2})


def test_health_tells_when_nobody_is_served() -> None:
    async def story(there: Doors) -> None:
        answer = await ask(there, "GET", "/health")
        assert (answer.status, answer.json) == (200, {"status": "ok"})
        there.broker._fail(OSError(5, "Input/output error"))
        answer = await ask(there, "GET", "/health")
        assert answer.status == 503
        assert answer.json == {"status": "unavailable", "reason": "the disk has failed: Input/output error"}
        health = (await ask(there, "GET", "/api/v1/cluster/health")).json
        assert (health["status"], health["brokers_online"]) == ("unhealthy", 0)
        there.broker.store.close = there.broker.store.release  # type: ignore[method-assign]

    run(story)


def test_prometheus_can_read_the_metrics() -> None:
    async def story(there: Doors) -> None:
        await there.broker.write(SESSION, "orders", [NewRecord(None, b"x")] * 7)
        answer = await ask(there, "GET", "/metrics")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        values: dict[str, float] = {}
        typed: dict[str, str] = {}
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                assert name not in typed
                typed[name] = kind
            elif not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
                assert name.partition("{")[0] in typed
        assert typed["millstream_produced_records_total"] == "counter"
        assert typed["millstream_disk_free_bytes"] == "gauge"
        assert values["millstream_produced_records_total"] == 7
        assert values['millstream_topic_records_total{topic="orders"}'] == 7
        assert values["millstream_healthy"] == 1
        assert values["process_resident_memory_bytes"] > 1e6

    run(story, topics={"orders": 1})


@pytest.mark.parametrize("admin", [False, True])
def test_the_documents_name_every_call_and_stand_alone(admin: bool) -> None:
    async def story(there: Doors) -> None:
        spec = (await there.ask("GET", "/openapi.json", admin=admin)).json
        assert spec["openapi"].startswith("3.")
        page = await there.ask("GET", "/docs", admin=admin)
        assert page.headers["content-type"].startswith("text/html")
        for path in spec["paths"]:
            assert path.encode() in page.body
        assert b"http://" not in page.body.replace(b"http://localhost:PORT", b"")
        assert b"<script" not in page.body
        head = await there.ask("HEAD", "/docs", admin=admin)
        assert (head.status, head.body) == (200, b"")

    run(story)


def test_consumers_of_the_queue_can_be_brought_along_from_elsewhere() -> None:
    async def story(there: Doors) -> None:
        path = "/api/v1/queues/t/consumers"
        consumers = [{"partition": 0, "consumer_id": "a"}, {"partition": 2, "consumer_id": "c/|"}]
        answer = await ask(there, "PUT", path, {"consumers": consumers})
        assert (answer.status, answer.json) == (200, {"topic": "t", "consumers": consumers})
        assert (await ask(there, "GET", path)).json == {"topic": "t", "consumers": consumers}
        for consumer, partition in (("c/|", 2), ("new", 1), ("a", 0)):
            body = {"brokerId": "b", "consumerId": consumer}
            registered = await there.ask("POST", "/register/t", body)
            assert registered.json["data"]["partitionId"] == partition

        refused: list[Any] = [
            None,
            "a",
            [{}],
            ["a"],
            [{"partition": 3, "consumer_id": "a"}],
            [{"partition": -1, "consumer_id": "a"}],
            [{"partition": True, "consumer_id": "a"}],
            [{"partition": 0, "consumer_id": ""}],
            [{"partition": 0, "consumer_id": "a"}, {"partition": 0, "consumer_id": "b"}],
            [{"partition": 0, "consumer_id": "a"}, {"partition": 1, "consumer_id": "a"}],
            consumers * 2,
        ]
        for wrong in refused:
            error(await ask(there, "PUT", path, {"consumers": wrong}), 400, "INVALID_REQUEST")
        missing = await ask(there, "PUT", "/api/v1/queues/u/consumers", {"consumers": []})
        error(missing, 404, "TOPIC_NOT_FOUND")
        assert (await ask(there, "PUT", path, {"consumers": []})).json["consumers"] == []

    run(story, topics={"t": 3})
