"""The first session that three older projects show their users, over real sockets, word for word."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from millstream import Broker

DOORS = ["http.queue", "jsonl", "text"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(doors=DOORS, settings={"http.queue.broker.id": "broker_1"}) as broker:
        broker.create_topic("my-topic", partitions=2)
        yield broker


def curl(broker: Broker, method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """What curl would print; the call has to succeed."""
    door = broker.door("http.queue")
    connection = http.client.HTTPConnection(door.host, door.port, timeout=30)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer: dict[str, Any] = json.loads(response.read())
    connection.close()
    assert (response.status, answer["success"]) == (200, True), answer
    data: dict[str, Any] = answer["data"]
    return data


def test_panda_q(broker: Broker) -> None:
    message = '{"brokerId": "broker_1", "message": {"messageId": "msg-001", "content": "Hello World"}}'
    produced = curl(broker, "POST", "/ingress/my-topic", message)
    assert (produced["messageId"], produced["topicId"]) == ("msg-001", "my-topic")
    found = [curl(broker, "GET", f"/consume/broker_1/my-topic/{index}") for index in range(2)]
    (where,) = [index for index, each in enumerate(found) if each["count"]]
    assert found[where] == {
        "messages": {"topicId": "my-topic", "messageId": "msg-001", "content": "Hello World"},
        "count": 1,
        "startOffset": 0,
        "endOffset": 1,
    }
    assert found[1 - where] == {"messages": None, "count": 0, "startOffset": 0, "endOffset": 0}
    commit = {
        "brokerId": "broker_1",
        "topicId": "my-topic",
        "partitionId": where,
        "consumerId": "test",
        "offset": 1,
    }
    committed = curl(broker, "POST", "/commit", json.dumps(commit))
    assert (committed["committed"], committed["logEndOffset"], committed["newReadOffset"]) == (True, 1, 1)
    assert curl(broker, "GET", f"/consume/broker_1/my-topic/{where}")["count"] == 0
    stats = curl(broker, "GET", "/stats")
    assert stats["brokerId"] == "broker_1"
    (topic,) = [each for each in stats["topics"] if each["topicId"] == "my-topic"]
    assert topic["partitions"][where] == {
        "partitionId": where,
        "logEndOffset": 1,
        "readOffset": 1,
        "bufferSize": 0,
        "pendingMessages": 0,
    }


TINYMQ = """
{"type":"createTopic","topic":"events","partitions":2}
{"type":"produce","topic":"events","value":"boot"}
{"type":"produce","topic":"events","value":"user:42","key":"user-42"}
{"type":"produce","topic":"events","value":"click","partition":0}
{"type":"fetch","topic":"events","partition":0,"offset":0,"max":10}
{"type":"commit","groupId":"g1","topic":"events","partition":0,"offset":2}
{"type":"metrics","topic":"events","partition":0,"groupId":"g1"}
{"type":"listTopics"}
{"type":"joinGroup","groupId":"g1","topic":"events","consumerId":"consumer-1"}
{"type":"heartbeat","groupId":"g1","consumerId":"consumer-1"}
{"type":"leaveGroup","groupId":"g1","consumerId":"consumer-1"}
"""


def test_tinymq(broker: Broker) -> None:
    lines = TINYMQ.strip().splitlines()
    replies = [json.loads(line) for line in say(broker, "jsonl", lines, len(lines))]
    assert [reply["ok"] for reply in replies] == [True] * len(lines)
    made, boot, user, click, fetched, commit, metrics, listed, joined, heard, left = (
        reply["data"] for reply in replies
    )
    assert made == {"topic": "events", "partitions": 2}
    assert (boot["value"], boot["key"]) == ("boot", None)
    assert (user["value"], user["key"]) == ("user:42", "user-42")
    assert (click["value"], click["partition"]) == ("click", 0)
    here = [each for each in (boot, user, click) if each["partition"] == 0]
    assert [each["value"] for each in fetched["records"]] == [each["value"] for each in here]
    assert commit == heard == left == {"groupId": "g1"}
    assert metrics["endOffset"] == len(here)
    assert metrics["committedOffset"] == 2
    assert metrics["lag"] == len(here) - 2
    assert "events" in listed["topics"]
    assert joined == {"partitions": [0, 1]}


def test_k_queue(broker: Broker) -> None:
    lines = ["PING", "SUB orders", "PUB orders wash the car", "ACK 0", "ACK 7", "HELLO"]
    heard = say(broker, "text", lines[:3], 4)
    assert heard[:2] == ["PONG", "SUBSCRIBED orders"]
    assert sorted(heard[2:]) == ["MSG orders 0 wash the car", "OK"]
    first = say(broker, "text", ["SUB orders"], 2)  # nobody has acknowledged it
    assert first == ["SUBSCRIBED orders", "MSG orders 0 wash the car"]
    again = say(broker, "text", ["SUB orders", *lines[3:]], 5, after={1: 2})
    assert again == [
        "SUBSCRIBED orders",
        "MSG orders 0 wash the car",
        "ACKED 0",
        "ERR unknown-id",
        "ERR unknown command",
    ]


def say(
    broker: Broker, door: str, lines: list[str], count: int, after: dict[int, int] | None = None
) -> list[str]:
    """Say *lines*, hear *count*; *after* tells for a line how many must have been heard first."""
    there = broker.door(door)
    heard: list[str] = []
    with socket.create_connection((there.host, there.port), timeout=30) as connection:
        hearing = connection.makefile("r", encoding="utf-8")
        for number, line in enumerate(lines):
            while len(heard) < (after or {}).get(number, 0):
                heard.append(hearing.readline().rstrip("\n"))
            connection.sendall(line.encode() + b"\n")
        while len(heard) < count:
            heard.append(hearing.readline().rstrip("\n"))
    return heard
