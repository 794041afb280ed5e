"""The JSON lines door, row by row of its contract, in raw bytes."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from tests.client.simulated import Sim
from tests.gateways.lines import JSONL, LineClient, with_doors

from millstream.client.admin_groups import GroupAdmin
from millstream.client.topics import TopicPartition

Story = Callable[[Sim, LineClient], Awaitable[None]]


def play(story: Story, **settings: object) -> None:
    async def with_client(sim: Sim) -> None:
        await story(sim, await LineClient.connect(JSONL))

    with_doors(with_client, {name.replace("_", "."): value for name, value in settings.items()})


def test_a_topic_is_created_once() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        assert await it.ok(type="createTopic", topic="events", partitions=2) == {
            "topic": "events",
            "partitions": 2,
        }
        assert await it.ok(type="createTopic", topic="events", partitions=2) == {
            "topic": "events",
            "partitions": 2,
        }
        assert await it.ok(type="createTopic", topic="one") == {"topic": "one", "partitions": 1}
        error = await it.error(type="createTopic", topic="events", partitions=3)
        assert error == "Topic events already exists with 2 partitions, not 3"
        assert await it.error(type="createTopic") == "Missing topic"
        assert await it.error(type="createTopic", topic="") == "Missing topic"
        assert "is no topic name" in await it.error(type="createTopic", topic="a/b")
        assert "at least one" in await it.error(type="createTopic", topic="none", partitions=0)
        assert "whole number" in await it.error(type="createTopic", topic="none", partitions="2")
        assert "whole number" in await it.error(type="createTopic", topic="none", partitions=True)
        assert "max.partitions" in await it.error(type="createTopic", topic="none", partitions=10**9)
        assert await it.ok(type="listTopics") == {"topics": ["events", "one"]}

    play(story)


def test_produce_says_where_and_when() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="events", partitions=2)
        first = await it.ok(type="produce", topic="events", value="hello", key="k1")
        assert list(first) == ["offset", "timestamp", "value", "key", "partition"]
        assert first["offset"] == 0
        assert first["value"] == "hello"
        assert first["key"] == "k1"
        assert first["partition"] == 1  # as Java's producer puts it
        assert len(first["timestamp"]) == len("2026-11-16T05:30:39.123Z")
        assert first["timestamp"].endswith("Z")
        given = await it.ok(type="produce", topic="events", value="x", key="k1", partition=0)
        assert (given["partition"], given["offset"]) == (0, 0)
        turns = [(await it.ok(type="produce", topic="events", value=""))["partition"] for _ in range(4)]
        assert turns in ([0, 1, 0, 1], [1, 0, 1, 0])
        assert (await it.ok(type="produce", topic="events", value="", key=None))["key"] is None

        assert await it.error(type="produce", value="v") == "Missing topic or value"
        assert await it.error(type="produce", topic="events") == "Missing topic or value"
        assert await it.error(type="produce", topic="events", value=None) == "Missing topic or value"
        assert "there is no topic 'nowhere'" in await it.error(type="produce", topic="nowhere", value="v")
        assert "there is no partition events-2" in await it.error(
            type="produce", topic="events", value="v", partition=2
        )
        assert "events--1" in await it.error(type="produce", topic="events", value="v", partition=-1)
        assert await it.error(type="produce", topic="events", value={"a": 1}) == "value must be a string"
        assert await it.error(type="produce", topic="events", value="v", key=3) == "key must be a string"
        assert await it.error(type="produce", topic=1, value="v") == "topic must be a string"

    play(story)


def test_fetch_gives_what_was_produced() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="events")
        said = [await it.ok(type="produce", topic="events", value=f"v{n}", key=f"k{n}") for n in range(120)]
        found = await it.ok(type="fetch", topic="events", partition=0, offset=0)
        assert list(found) == ["records"]
        expected = [{name: each[name] for name in ("offset", "timestamp", "value", "key")} for each in said]
        assert found["records"] == expected[:100]  # unless told otherwise
        assert list(found["records"][0]) == ["offset", "timestamp", "value", "key"]
        assert (await it.ok(type="fetch", topic="events", partition=0, offset=7, max=2))[
            "records"
        ] == expected[7:9]
        assert await it.ok(type="fetch", topic="events", partition=0, offset=0, max=0) == {"records": []}
        for past in (120, 121, 10**15):
            assert await it.ok(type="fetch", topic="events", partition=0, offset=past) == {"records": []}
        assert "below 0" in await it.error(type="fetch", topic="events", partition=0, offset=-1)
        node = sim.host.node
        assert node is not None
        node.broker.topics.hosted("events", 0).partition.delete_before(5)
        assert "below 5" in await it.error(type="fetch", topic="events", partition=0, offset=4)
        assert (await it.ok(type="fetch", topic="events", partition=0, offset=5, max=1))[
            "records"
        ] == expected[5:6]

        for missing in ("topic", "partition", "offset"):
            fields = {"topic": "events", "partition": 0, "offset": 0}
            del fields[missing]
            assert await it.error(type="fetch", **fields) == "Missing topic/partition/offset"
        assert "max must not be negative" in await it.error(
            type="fetch", topic="events", partition=0, offset=0, max=-1
        )
        assert "no partition events-1" in await it.error(type="fetch", topic="events", partition=1, offset=0)
        assert "whole number" in await it.error(type="fetch", topic="events", partition=0.0, offset=0)

    play(story)


def test_commits_are_those_of_the_kafka_group_and_outlive_the_node() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="events")
        for n in range(5):
            await it.ok(type="produce", topic="events", value=str(n))
        metrics = {"beginOffset": 0, "committedOffset": None, "size": 5, "endOffset": 5, "lag": 5}
        assert await it.ok(type="metrics", topic="events", partition=0) == metrics
        assert await it.ok(type="metrics", topic="events", partition=0, groupId="g") == metrics
        assert await it.ok(type="commit", groupId="g", topic="events", partition=0, offset=3) == {
            "groupId": "g"
        }
        committed = {**metrics, "committedOffset": 3, "lag": 2}
        assert await it.ok(type="metrics", topic="events", partition=0, groupId="g") == committed

        for missing in ("groupId", "topic", "partition", "offset"):
            fields = {"groupId": "g", "topic": "events", "partition": 0, "offset": 0}
            del fields[missing]
            assert await it.error(type="commit", **fields) == "Missing groupId/topic/partition/offset"
        assert await it.error(type="metrics", topic="events") == "Missing topic/partition"
        assert "no partition" in await it.error(type="metrics", topic="events", partition=1)
        assert "no partition" in await it.error(
            type="commit", groupId="g", topic="events", partition=1, offset=0
        )
        assert "negative" in await it.error(
            type="commit", groupId="g", topic="events", partition=0, offset=-1
        )

        async with sim.client() as kafka:
            assert await GroupAdmin(kafka).offsets("g") == {TopicPartition("events", 0): 3}
        sim.host.cut_power()
        await sim.up()
        again = await LineClient.connect(JSONL)
        assert await again.ok(type="metrics", topic="events", partition=0, groupId="g") == committed

    play(story)


def test_members_share_the_partitions_until_they_go() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="events", partitions=5)
        join = {"type": "joinGroup", "groupId": "g", "topic": "events"}
        assert await it.error(type="heartbeat", groupId="g", consumerId="a") == "Group not found"
        assert await it.ok(**join, consumerId="b") == {"partitions": [0, 1, 2, 3, 4]}
        assert await it.ok(**join, consumerId="a") == {"partitions": [0, 2, 4]}
        assert await it.ok(**join, consumerId="b") == {"partitions": [1, 3]}
        assert await it.ok(**join, consumerId="c") == {"partitions": [2]}
        assert await it.ok(type="leaveGroup", groupId="g", consumerId="a") == {"groupId": "g"}
        assert await it.ok(type="leaveGroup", groupId="g", consumerId="nobody") == {"groupId": "g"}
        assert await it.ok(**join, consumerId="c") == {"partitions": [1, 3]}

        await asyncio.sleep(9.9)
        assert await it.ok(type="heartbeat", groupId="g", consumerId="c") == {"groupId": "g"}
        await asyncio.sleep(0.2)  # b has not been heard of
        assert "join the group again" in await it.error(type="heartbeat", groupId="g", consumerId="b")
        assert await it.ok(**join, consumerId="c") == {"partitions": [0, 1, 2, 3, 4]}
        await asyncio.sleep(10.1)
        assert await it.error(type="heartbeat", groupId="g", consumerId="c") == "Group not found"

        for missing in ("groupId", "topic", "consumerId"):
            fields = {"groupId": "g", "topic": "events", "consumerId": "a"}
            del fields[missing]
            assert await it.error(type="joinGroup", **fields) == "Missing groupId/topic/consumerId"
        for kind in ("leaveGroup", "heartbeat"):
            assert await it.error(type=kind, groupId="g") == "Missing groupId/consumerId"
            assert await it.error(type=kind, consumerId="a") == "Missing groupId/consumerId"
        assert "no topic" in await it.error(type="joinGroup", groupId="g", topic="none", consumerId="a")

    play(story)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{}", "Missing type"),
        (b'{"type":null}', "Missing type"),
        (b'{"type":"brew"}', "Unknown type: brew"),
        (b'{"type":["produce"]}', 'Unknown type: ["produce"]'),
        (b"[]", "Not a JSON object"),
        (b"null", "Not a JSON object"),
        (b"{", "Not JSON"),
        (b"\xff\xfe", "Not JSON"),
        (b"[" * 100_000, "depth limit"),
        (b'{"a":' * 50_000, "depth limit"),
        (b'{"type":"fetch","topic":"t","partition":0,"offset":99999999999999999999}', "whole number"),
        (b'{"type":"produce","topic":"t","value":"\\ud800"}', "Not JSON"),
        (b"x" * 3_000_000, "Line too long: line.max.bytes is 2097152"),
    ],
)
def test_a_bad_line_gets_an_error_and_the_connection_lives_on(line: bytes, error: str) -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        it.send(line)
        answer = json.loads(await it.hear_raw())
        assert answer["ok"] is False
        assert error in answer["error"]
        it.send("", "  \t", "\r", '{"type":"listTopics"}\r')  # blank lines are ignored
        assert await it.hear() == ['{"ok":true,"data":{"topics":[]}}']

    play(story)


def test_requests_sent_at_once_take_effect_in_order() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        it.send(
            '{"type":"produce","topic":"t","value":"too soon"}',
            '{"type":"createTopic","topic":"t"}',
            '{"type":"produce","topic":"t","value":"a"}',
            '{"type":"produce","topic":"t","value":"b"}',
            '{"type":"produce","topic":"none","value":"c"}',
            '{"type":"fetch","topic":"t","partition":0,"offset":0}',
            "nonsense",
            '{"type":"produce","topic":"t","value":"d"}',
            '{"type":"commit","groupId":"g","topic":"t","partition":0,"offset":2}',
            '{"type":"metrics","topic":"t","partition":0,"groupId":"g"}',
        )
        it.half_close()
        answers = [json.loads(line) for line in await it.hear(10)]
        assert [answer["ok"] for answer in answers] == [
            False, True, True, True, False, True, False, True, True, True,
        ]  # fmt: skip
        assert [record["value"] for record in answers[5]["data"]["records"]] == ["a", "b"]
        assert answers[7]["data"]["offset"] == 2
        assert answers[9]["data"] == {
            "beginOffset": 0, "committedOffset": 2, "size": 3, "endOffset": 3, "lag": 1,
        }  # fmt: skip
        assert await it.is_closed()

    play(story)


def test_a_last_line_needs_no_end() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        it.send_raw(b'{"type":"listTopics"}')
        it.half_close()
        assert await it.hear() == ['{"ok":true,"data":{"topics":[]}}']
        assert await it.is_closed()

    play(story)


def test_bytes_that_are_not_text_go_in_and_out_as_base64() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="t")
        said = await it.ok(
            type="produce", topic="t", value="/wA=", encoding="base64", key="gA==", keyEncoding="base64"
        )
        assert (said["value"], said["encoding"]) == ("/wA=", "base64")
        (record,) = (await it.ok(type="fetch", topic="t", partition=0, offset=0))["records"]
        del record["timestamp"]
        assert record == {
            "offset": 0, "value": "/wA=", "encoding": "base64", "key": "gA==", "keyEncoding": "base64",
        }  # fmt: skip
        await it.ok(type="produce", topic="t", value="aGk=", encoding="base64")
        found = (await it.ok(type="fetch", topic="t", partition=0, offset=1))["records"]
        assert found[0]["value"] == "hi"
        assert "encoding" not in found[0]
        assert "not base64" in await it.error(type="produce", topic="t", value="???", encoding="base64")
        assert "encoding must be" in await it.error(type="produce", topic="t", value="x", encoding="hex")

    play(story)


def test_one_record_that_will_not_do_does_not_take_others_with_it() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="t")
        large = "x" * 1_100_000
        it.send(
            *(json.dumps({"type": "produce", "topic": "t", "value": value}) for value in ("a", large, "b"))
        )
        answers = [json.loads(line) for line in await it.hear(3)]
        assert [answer["ok"] for answer in answers] == [True, False, True]
        assert "t-0 takes" in answers[1]["error"]

    play(story)


def test_nobody_writes_to_the_broker_s_own_topics() -> None:
    async def story(sim: Sim, it: LineClient) -> None:
        await it.ok(type="createTopic", topic="t")
        await it.ok(type="commit", groupId="g", topic="t", partition=0, offset=0)
        assert await it.ok(type="listTopics") == {"topics": ["t"]}
        error = await it.error(type="produce", topic="__consumer_offsets", value="x")
        assert "written by the broker alone" in error

    play(story)
