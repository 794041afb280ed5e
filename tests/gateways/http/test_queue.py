"""The HTTP queue's contract, row by row, in raw HTTP."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from tests.broker.support import SESSION
from tests.gateways.http.support import Answer, Doors, doors

from millstream.records.build import NewRecord
from millstream.sim.disk import SimDisk

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def run(story: Callable[[Doors], Awaitable[None]], **more: Any) -> None:
    async def told() -> None:
        async with doors(**more) as there:
            await story(there)

    asyncio.run(asyncio.wait_for(told(), 60))


def success(answer: Answer) -> Any:
    assert answer.status == 200, answer
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json) == ["success", "data"]
    assert answer.json["success"] is True
    return answer.json["data"]


def error(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.json["success"], answer.json["errorCode"]) == (status, False, code), answer
    assert answer.json["error"]
    assert set(answer.json) == {"success", "error", "errorCode"}


async def ingress(there: Doors, message_id: Any, content: Any, topic: str = "my-topic") -> Answer:
    body = {"brokerId": "broker_1", "message": {"messageId": message_id, "content": content}}
    return await there.ask("POST", f"/ingress/{topic}", body)


async def consume(there: Doors, partition: int = 0, query: str = "", topic: str = "my-topic") -> Any:
    return success(await there.ask("GET", f"/consume/broker_1/{topic}/{partition}{query}"))


def commit_body(offset: Any, partition: Any = 0, topic: str = "my-topic") -> dict[str, Any]:
    return {
        "brokerId": "broker_1",
        "topicId": topic,
        "partitionId": partition,
        "consumerId": "test",
        "offset": offset,
    }


def home(message_id: str, count: int = 2) -> int:
    return int(hashlib.sha256(message_id.encode()).hexdigest()[:8], 16) % count


def test_the_original_quick_start_line_by_line() -> None:
    async def story(there: Doors) -> None:
        data = success(await ingress(there, "msg-001", "Hello World"))
        assert list(data) == ["messageId", "topicId", "timestamp"]
        assert (data["messageId"], data["topicId"]) == ("msg-001", "my-topic")
        assert TIME.fullmatch(data["timestamp"])

        partition = home("msg-001")
        assert await consume(there, partition) == {
            "messages": {"topicId": "my-topic", "messageId": "msg-001", "content": "Hello World"},
            "count": 1,
            "startOffset": 0,
            "endOffset": 1,
        }
        data = success(await there.ask("POST", "/commit", commit_body(1, partition)))
        assert TIME.fullmatch(data.pop("timestamp"))
        assert data == {
            "committed": True,
            "offset": 1,
            "topicId": "my-topic",
            "partitionId": partition,
            "consumerId": "test",
            "logEndOffset": 1,
            "newReadOffset": 1,
        }
        assert await consume(there, partition) == {
            "messages": None,
            "count": 0,
            "startOffset": 0,
            "endOffset": 0,
        }

    run(story)


def test_a_consumer_keeps_its_partition_and_a_new_one_gets_the_lowest_that_is_free() -> None:
    async def story(there: Doors) -> None:
        async def register(consumer: Any, topic: str = "my-topic") -> Answer:
            return await there.ask(
                "POST", f"/register/{topic}", {"brokerId": "broker_1", "consumerId": consumer}
            )

        data = success(await register("a"))
        assert TIME.fullmatch(data.pop("timestamp"))
        assert data == {
            "topicId": "my-topic",
            "brokerId": "broker_1",
            "consumerId": "a",
            "partitionId": 0,
        }
        assert success(await register("b"))["partitionId"] == 1
        assert success(await register("a"))["partitionId"] == 0
        error(await register("c"), 409, "NO_PARTITION_AVAILABLE")
        error(await register("c", "nowhere"), 404, "TOPIC_NOT_FOUND")
        wrong: list[Any] = [{"brokerId": "b"}, {"consumerId": "c"}, {"brokerId": "", "consumerId": "c"}]
        for body in [*wrong, {}, [], "x"]:
            error(await there.ask("POST", "/register/my-topic", body), 400, "INVALID_REQUEST")
        error(await register(7), 400, "INVALID_REQUEST")

        released = await there.ask("DELETE", "/api/v1/queues/my-topic/consumers/a", admin=True)
        assert released.status == 200
        assert released.json["partition"] == 0
        assert success(await register("c"))["partitionId"] == 0
        gone = await there.ask("DELETE", "/api/v1/queues/my-topic/consumers/a", admin=True)
        assert (gone.status, gone.json["error"]["code"]) == (404, "CONSUMER_NOT_FOUND")

    run(story)


def test_an_idle_consumer_makes_room_if_the_operator_says_so() -> None:
    async def story(there: Doors) -> None:
        async def register(consumer: str) -> Answer:
            return await there.ask("POST", "/register/one", {"brokerId": "b", "consumerId": consumer})

        assert success(await register("a"))["partitionId"] == 0
        error(await register("b"), 409, "NO_PARTITION_AVAILABLE")
        await asyncio.sleep(0.3)
        assert success(await register("b"))["partitionId"] == 0
        error(await register("a"), 409, "NO_PARTITION_AVAILABLE")

    run(story, settings={"http.queue.consumer.release.ms": 250}, topics={"one": 1})


@pytest.mark.parametrize(
    "content", ["text", "", 0, False, 1.5, [], {}, {"a": [1, None, "ü"]}, "\ud800", 10**30]
)
def test_content_is_any_json_value_but_null(content: Any) -> None:
    async def story(there: Doors) -> None:
        success(await ingress(there, "m", content))
        assert (await consume(there))["messages"]["content"] == content

    run(story, topics={"my-topic": 1})


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "x",
        7,
        {"brokerId": "b"},
        {"brokerId": "b", "message": None},
        {"brokerId": "b", "message": "x"},
        {"brokerId": "b", "message": {"messageId": "m"}},
        {"brokerId": "b", "message": {"content": 1}},
        {"brokerId": "b", "message": {"messageId": "m", "content": None}},
        {"brokerId": "b", "message": {"messageId": "", "content": 1}},
        {"brokerId": "b", "message": {"messageId": ["m"], "content": 1}},
        {"brokerId": "b", "message": {"messageId": "\ud800", "content": 1}},
        {"brokerId": 5, "message": {"messageId": "m", "content": 1}},
        b"",
        b"{",
        b"\xff\xfe",
        b'{"brokerId":"b","message":{"messageId":"m","content":NaN}}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_has_not_the_shape_of_a_message_is_refused(body: Any) -> None:
    async def story(there: Doors) -> None:
        error(await there.ask("POST", "/ingress/my-topic", body), 400, "INVALID_REQUEST")
        assert (await consume(there))["count"] == 0

    run(story, topics={"my-topic": 1})


def test_unknown_topics_partitions_and_paths_are_not_found() -> None:
    async def story(there: Doors) -> None:
        error(await ingress(there, "m", 1, "nowhere"), 404, "TOPIC_NOT_FOUND")
        error(await ingress(there, "m", 1, "__consumer_offsets"), 404, "TOPIC_NOT_FOUND")
        error(await there.ask("GET", "/consume/b/nowhere/0"), 404, "TOPIC_NOT_FOUND")
        for partition in ("2", "-1", "x", "99999999999999999999", "%20"):
            error(await there.ask("GET", f"/consume/b/my-topic/{partition}"), 404, "PARTITION_NOT_FOUND")
        error(await there.ask("POST", "/commit", commit_body(0, topic="nowhere")), 404, "TOPIC_NOT_FOUND")
        error(await there.ask("POST", "/commit", commit_body(0, 7)), 404, "PARTITION_NOT_FOUND")
        error(await there.ask("GET", "/nonsense"), 404, "NOT_FOUND")
        error(await there.ask("GET", "/commit"), 405, "METHOD_NOT_ALLOWED")
        error(await there.ask("GET", "/ingress/my-topic"), 405, "METHOD_NOT_ALLOWED")

    run(story)


def test_messages_go_by_the_hash_of_their_id() -> None:
    async def story(there: Doors) -> None:
        ids = [f"message-{n}" for n in range(60)]
        for message_id in ids:
            success(await ingress(there, message_id, message_id))
        for partition in range(3):
            data = await consume(there, partition, "?b=t")
            assert [each["messageId"] for each in data["messages"]] == [
                message_id for message_id in ids if home(message_id, 3) == partition
            ]
            assert data["count"] == len(data["messages"]) == data["endOffset"]

    run(story, topics={"my-topic": 3})


@pytest.mark.parametrize("batch", ["?b=t", "?b=true"])
def test_reading_peeks_until_a_commit_and_a_batch_is_of_five_thousand(batch: str) -> None:
    async def story(there: Doors) -> None:
        records = [NewRecord(b"%d" % n, b"%d" % n) for n in range(5_100)]
        await there.broker.write(SESSION, "my-topic", records, 0)
        for _ in range(2):
            data = await consume(there, 0, batch)
            assert (data["count"], data["startOffset"], data["endOffset"]) == (5000, 0, 5000)
            assert [each["content"] for each in data["messages"]] == list(range(5000))
        success(await there.ask("POST", "/commit", commit_body(5000)))
        data = await consume(there, 0, batch)
        assert (data["count"], data["startOffset"], data["endOffset"]) == (100, 5000, 5100)
        assert (await consume(there, 0))["messages"]["content"] == 5000
        assert (await consume(there, 0, "?b=no"))["count"] == 1

    run(story, topics={"my-topic": 1})


@pytest.mark.parametrize("offset", [-1, 2, 10**30])
def test_an_offset_beyond_the_log_is_refused(offset: int) -> None:
    async def story(there: Doors) -> None:
        success(await ingress(there, "m", 1))
        error(await there.ask("POST", "/commit", commit_body(offset)), 400, "INVALID_OFFSET")
        assert (await consume(there))["count"] == 1

    run(story, topics={"my-topic": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"offset": "1"},
        {"offset": None},
        {"offset": True},
        {"offset": 0.5},
        {"topicId": ""},
        {"topicId": None},
        {"consumerId": None},
        {"partitionId": None},
        {"partitionId": True},
        {"partitionId": {}},
    ],
)
def test_a_commit_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    async def story(there: Doors) -> None:
        error(await there.ask("POST", "/commit", {**commit_body(0), **change}), 400, "INVALID_REQUEST")

    run(story)


def test_a_commit_may_go_back_and_say_the_partition_as_text() -> None:
    async def story(there: Doors) -> None:
        for n in range(3):
            success(await ingress(there, f"m{n}", n))
        success(await there.ask("POST", "/commit", commit_body(3, "0")))
        assert success(await there.ask("POST", "/commit", commit_body(1)))["newReadOffset"] == 1
        data = await consume(there, 0, "?b=t")
        assert (data["startOffset"], [each["content"] for each in data["messages"]]) == (1, [1, 2])

    run(story, topics={"my-topic": 1})


def test_stats_tell_how_far_all_has_come() -> None:
    async def story(there: Doors) -> None:
        for n in range(5):
            success(await ingress(there, f"m{n}", n, "one"))
        success(await there.ask("POST", "/commit", commit_body(2, topic="one")))
        data = success(await there.ask("GET", "/stats"))
        assert TIME.fullmatch(data.pop("timestamp"))

        def empty(partition: int) -> dict[str, int]:
            return {
                "partitionId": partition,
                "logEndOffset": 0,
                "readOffset": 0,
                "bufferSize": 0,
                "pendingMessages": 0,
            }

        read = {"logEndOffset": 5, "readOffset": 2, "bufferSize": 3, "pendingMessages": 3}
        assert data == {
            "brokerId": "broker_1",
            "topicCount": 2,
            "topics": [
                {"topicId": "one", "partitionCount": 1, "partitions": [{"partitionId": 0, **read}]},
                {"topicId": "two", "partitionCount": 2, "partitions": [empty(0), empty(1)]},
            ],
            "ingressBuffer": {"bufferSize": 0, "logEndOffset": 5, "readOffset": 5},
        }

    run(story, topics={"one": 1, "two": 2})


def test_registrations_and_read_offsets_outlive_a_power_cut_but_not_their_topic() -> None:
    disk = SimDisk(Random(1))

    async def before(there: Doors) -> None:
        for n in range(4):
            success(await ingress(there, f"m{n}", n))
        success(await there.ask("POST", "/register/my-topic", {"brokerId": "b", "consumerId": "worker"}))
        success(await there.ask("POST", "/commit", commit_body(3)))

    async def after(there: Doors) -> None:
        assert (await consume(there))["messages"]["content"] == 3
        other = {"brokerId": "b", "consumerId": "other"}
        error(await there.ask("POST", "/register/my-topic", other), 409, "NO_PARTITION_AVAILABLE")
        deleted = await there.ask("DELETE", "/api/v1/topics/my-topic", admin=True)
        assert deleted.status == 200
        there.broker.topics._env.random.seed(8)  # else the new topic has the id of the old one
        again = {"name": "my-topic", "partitions": 1}
        assert (await there.ask("POST", "/api/v1/topics", again, admin=True)).status == 201
        assert success(await there.ask("POST", "/register/my-topic", other))["partitionId"] == 0
        success(await ingress(there, "m", "new"))
        assert (await consume(there))["messages"]["content"] == "new"

    run(before, topics={"my-topic": 1}, disk=disk)
    disk.crash()
    run(after, topics={"my-topic": 1}, disk=disk)


def test_what_retention_took_counts_as_read() -> None:
    async def story(there: Doors) -> None:
        for n in range(5):
            success(await ingress(there, f"m{n}", n))
        await there.broker.delete_records(SESSION, "my-topic", 0, 3)
        data = await consume(there, 0, "?b=t")
        assert (data["startOffset"], data["endOffset"], data["count"]) == (3, 5, 2)
        assert success(await there.ask("POST", "/commit", commit_body(1)))["newReadOffset"] == 3

    run(story, topics={"my-topic": 1})


def test_what_is_no_json_is_read_as_base64_and_says_so() -> None:
    async def story(there: Doors) -> None:
        values = [b"plain text", bytes(range(256)), b"", b"NaN", b"[" * 50_000, None, b' {"a" : 1.10}\n']
        records = [NewRecord(b"k", value) for value in values]
        records += [NewRecord(None, b"1"), NewRecord(b"\xff", b"2")]
        await there.broker.write(SESSION, "my-topic", records, 0)
        answer = await there.ask("GET", "/consume/b/my-topic/0?b=t")
        messages = success(answer)["messages"]
        for message, value in zip(messages[:5], values[:5], strict=True):
            assert message["encoding"] == "base64"
            assert base64.b64decode(message["content"]) == value
        assert messages[5] == {"topicId": "my-topic", "messageId": "k", "content": None}
        assert messages[6] == {"topicId": "my-topic", "messageId": "k", "content": {"a": 1.1}}
        assert b'{"a" : 1.10}' in answer.body
        assert messages[7] == {"topicId": "my-topic", "messageId": None, "content": 1}
        assert messages[8] == {
            "topicId": "my-topic",
            "messageId": "/w==",
            "messageIdEncoding": "base64",
            "content": 2,
        }

    run(story, topics={"my-topic": 1})


def test_all_there_is_to_tell_of_a_record() -> None:
    async def story(there: Doors) -> None:
        headers = (("a", b"1"), ("b", b"\xff"), ("c", None))
        await there.broker.write(SESSION, "my-topic", [NewRecord(b"k", b"1", headers, 1_700_000_000_123)])
        assert (await consume(there, 0, "?full=true"))["messages"] == {
            "topicId": "my-topic",
            "messageId": "k",
            "content": 1,
            "partitionId": 0,
            "offset": 0,
            "timestamp": "2023-11-14T22:13:20.123Z",
            "headers": [["a", "1"], ["b", "/w==", "base64"], ["c", None]],
        }

    run(story, topics={"my-topic": 1})


def test_headers_and_a_time_to_live_may_come_with_a_message() -> None:
    async def story(there: Doors) -> None:
        message = {"messageId": "m", "content": 1, "headers": {"trace": "ü"}, "ttlMs": 60_000}
        success(await there.ask("POST", "/ingress/my-topic", {"message": message}))
        found = await there.broker.read(SESSION, "my-topic", 0, 0, max_records=1)
        assert found.records[0].headers == (("trace", "ü".encode()), ("millstream-ttl-ms", b"60000"))
        changes: list[dict[str, Any]] = [{"headers": {"a": 1}}, {"headers": []}, {"ttlMs": "x"}]
        for wrong in changes:
            answer = await there.ask("POST", "/ingress/my-topic", {"message": {**message, **wrong}})
            error(answer, 400, "INVALID_REQUEST")

    run(story, topics={"my-topic": 1})


def test_many_messages_at_once_each_with_its_own_answer() -> None:
    async def story(there: Doors) -> None:
        messages = [{"messageId": f"m{n}", "content": "x" * (900 if n == 3 else 9)} for n in range(6)]
        answer = await there.ask("POST", "/ingress/small/batch", {"messages": messages})
        assert answer.status == 207
        data = answer.json["data"]
        assert (data["topicId"], data["count"], data["failed"]) == ("small", 5, 1)
        assert data["messages"][3]["errorCode"] == "MESSAGE_TOO_LARGE"
        assert [each["offset"] for each in data["messages"] if "offset" in each] == [0, 1, 2, 3, 4]
        assert (
            success(await there.ask("POST", "/ingress/small/batch", {"messages": messages[:3]}))["count"] == 3
        )
        bodies: list[Any] = [{"messages": []}, {"messages": {}}, {}, {"messages": [{"messageId": "m"}]}]
        for body in bodies:
            error(await there.ask("POST", "/ingress/small/batch", body), 400, "INVALID_REQUEST")
        error(
            await there.ask("POST", "/ingress/nowhere/batch", {"messages": messages}), 404, "TOPIC_NOT_FOUND"
        )

    async def setup(there: Doors) -> None:
        created = {"name": "small", "partitions": 1, "configs": {"max.message.bytes": 500}}
        assert (await there.ask("POST", "/api/v1/topics", created, admin=True)).status == 201
        await story(there)

    run(setup)


def test_a_long_poll_waits_for_the_first_message() -> None:
    async def story(there: Doors) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert (await consume(there, 0, "?wait=200"))["count"] == 0
        assert loop.time() - began >= 0.19
        waiting = asyncio.ensure_future(consume(there, 0, "?b=t&wait=20000"))
        await asyncio.sleep(0.05)
        success(await ingress(there, "m", "here"))
        assert (await asyncio.wait_for(waiting, 60))["messages"][0]["content"] == "here"
        for query in ("wait=-1", "wait=x", "wait=99999999", "b=t&max=0", "b=t&max=5001"):
            answer = await there.ask("GET", f"/consume/b/my-topic/0?{query}")
            error(answer, 400, "INVALID_REQUEST")

    run(story, topics={"my-topic": 1})


def test_a_message_that_is_too_large_is_told_so() -> None:
    async def story(there: Doors) -> None:
        error(await ingress(there, "m", "x" * 1_100_000), 413, "MESSAGE_TOO_LARGE")
        success(await ingress(there, "m", "x" * 900_000))

    run(story)


def test_a_group_of_kafka_sees_the_read_offset() -> None:
    async def story(there: Doors) -> None:
        success(await ingress(there, "m", 1))
        success(await there.ask("POST", "/commit", commit_body(1)))
        answer = await there.ask("GET", "/api/v1/consumer-groups/panda-q/offsets", admin=True)
        assert answer.json["offsets"] == [
            {"topic": "my-topic", "partition": 0, "current_offset": 1, "log_end_offset": 1, "lag": 0}
        ]

    run(story, topics={"my-topic": 1})
