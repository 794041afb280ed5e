"""Both kinds of client against a server that keeps to the contract, or does not."""

import asyncio
import base64
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.sdk.scripted import Answer, Asked, bad, good, serving

from millstream.sdk import (
    AsyncConsumer,
    AsyncProducer,
    Batch,
    Committed,
    Consumer,
    InvalidOffset,
    Message,
    NoPartitionAvailable,
    NotAllowed,
    Produced,
    Producer,
    Rejected,
    Retry,
    TopicNotFound,
    Unreachable,
)

QUICK = Retry(attempts=4, first_delay=0.001)
PRODUCED = good(messageId="m", topicId="t")
REGISTERED = good(topicId="t", brokerId="b", consumerId="c", partitionId=3)
TIME = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)

Produce = Callable[..., Produced]


def produce(url: str, message: Mapping[str, Any], *user: str, **options: Any) -> Produced:
    with Producer("b", url, "t", *user, **{"retry": QUICK, **options}) as producer:
        return producer.produce(message)


def produce_async(url: str, message: Mapping[str, Any], *user: str, **options: Any) -> Produced:
    async def story() -> Produced:
        async with AsyncProducer("b", url, "t", *user, **{"retry": QUICK, **options}) as producer:
            return await producer.produce(message)

    return asyncio.run(story())


def use(url: str, call: str, *args: Any) -> Any:
    with Consumer(url, "b", "c", "t", retry=QUICK) as consumer:
        return getattr(consumer, call)(*args)


def use_async(url: str, call: str, *args: Any) -> Any:
    async def story() -> Any:
        async with AsyncConsumer(url, "b", "c", "t", retry=QUICK) as consumer:
            return await getattr(consumer, call)(*args)

    return asyncio.run(story())


both_produce = pytest.mark.parametrize("produce", [produce, produce_async])
both_use = pytest.mark.parametrize("use", [use, use_async])


@both_produce
def test_a_message_goes_out_as_the_contract_says(produce: Produce) -> None:
    with serving(PRODUCED) as server:
        assert produce(server.url, {"messageId": "m", "content": {"a": [1, None]}}, "me", "secret") == (
            Produced("t", "m", TIME)
        )
    body = {"brokerId": "b", "message": {"messageId": "m", "content": {"a": [1, None]}}}
    user = "Basic " + base64.b64encode(b"me:secret").decode()
    assert server.asked == [Asked("POST", "/ingress/t", body, user)]


@both_produce
@pytest.mark.parametrize("content", [0, False, "", [], {}, "text", 1.5])
def test_any_json_value_but_null_is_content(produce: Produce, content: object) -> None:
    with serving(PRODUCED) as server:
        produce(server.url, {"messageId": 7, "content": content})
        with pytest.raises(ValueError, match="any JSON value but null"):
            produce(server.url, {"messageId": 7, "content": None})
        with pytest.raises(ValueError, match="not contents"):
            produce(server.url, {"messageId": 7, "contents": 1})
    assert [asked.body["message"] for asked in server.asked] == [{"messageId": "7", "content": content}]


@both_produce
def test_a_message_without_an_id_keeps_the_one_it_got_when_it_is_sent_again(produce: Produce) -> None:
    with serving(Answer(0), bad(502), PRODUCED) as server:
        produce(server.url, {"content": 1})
    ids = [asked.body["message"]["messageId"] for asked in server.asked]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    assert len(ids[0]) == 32


@both_produce
def test_unless_repeats_are_wanted_what_may_be_written_is_not_sent_again(produce: Produce) -> None:
    once = Retry(attempts=4, first_delay=0.001, repeats=False)
    with serving(bad(503), Answer(0), PRODUCED) as server:
        with pytest.raises(Unreachable) as problem:
            produce(server.url, {"content": 1}, retry=once)
        assert problem.value.may_be_done
        assert len(server.asked) == 2, "what was turned away at the door was sent again"


@both_produce
def test_it_gives_up_after_so_many_attempts(produce: Produce) -> None:
    with serving(Answer(0)) as server:
        with pytest.raises(Unreachable) as problem:
            produce(server.url, {"content": 1})
        assert problem.value.may_be_done
        assert len(server.asked) == 4


@both_produce
def test_a_broker_that_is_not_there_did_nothing(produce: Produce) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable) as problem:
            produce(f"http://127.0.0.1:{taken.getsockname()[1]}", {"content": 1})
        assert not problem.value.may_be_done


@both_produce
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (bad(400, "bad shape"), Rejected),
        (bad(404, "no topic", "TOPIC_NOT_FOUND"), TopicNotFound),
        (bad(401, "who are you?"), NotAllowed),
        (bad(413, "too large"), Rejected),
        (Answer(400, b"<html>"), Rejected),
    ],
)
def test_what_is_rejected_is_told_at_once(produce: Produce, answer: Answer, kind: type[Rejected]) -> None:
    with serving(answer) as server:
        with pytest.raises(Rejected) as problem:
            produce(server.url, {"content": 1})
        assert type(problem.value) is kind
        assert problem.value.status == answer.status
        assert len(server.asked) == 1
        if isinstance(answer.body, dict):
            assert answer.body["error"] in str(problem.value)


@both_produce
def test_something_else_at_that_address_is_told_as_such(produce: Produce) -> None:
    with serving(Answer(200, b"<html>hello</html>")) as server:
        with pytest.raises(Unreachable, match="no HTTP queue"):
            produce(server.url, {"content": 1})
        assert len(server.asked) == 1


@both_produce
def test_an_address_that_is_none_is_told_before_anything_is_sent(produce: Produce) -> None:
    with pytest.raises(ValueError, match="http://localhost:3000"):
        produce("localhost:3000", {"content": 1})


@both_use
def test_a_consumer_registers_itself_and_reads_its_partition(use: Callable[..., Any]) -> None:
    messages = [
        {"topicId": "t", "messageId": "m", "content": {"a": 1}},
        {"topicId": "t", "messageId": "n", "content": "/w==", "encoding": "base64"},
    ]
    found = good(messages=messages, count=2, startOffset=4, endOffset=6)
    with serving(REGISTERED, found) as server:
        assert use(server.url, "batch_consume") == Batch(
            (Message("t", "m", {"a": 1}), Message("t", "n", b"\xff")), 4, 6
        )
    assert server.asked == [
        Asked("POST", "/register/t", {"brokerId": "b", "consumerId": "c"}, None),
        Asked("GET", "/consume/b/t/3?b=t", None, None),
    ]


@both_use
def test_one_message_at_a_time_or_none(use: Callable[..., Any]) -> None:
    one = good(messages={"topicId": "t", "messageId": "m", "content": 0}, count=1, startOffset=0, endOffset=1)
    with serving(REGISTERED, one) as server:
        batch = use(server.url, "consume")
        assert (batch.message, len(batch), batch.end_offset) == (Message("t", "m", 0), 1, 1)
        assert server.asked[1].path == "/consume/b/t/3"
    with serving(REGISTERED, good(messages=None, count=0, startOffset=0, endOffset=0)) as server:
        batch = use(server.url, "consume")
        assert (batch.message, list(batch)) == (None, [])


@both_use
def test_a_commit_names_who_commits_what(use: Callable[..., Any]) -> None:
    done = good(
        committed=True, offset=6, topicId="t", partitionId=3, consumerId="c", logEndOffset=9, newReadOffset=6
    )
    with serving(REGISTERED, Answer(0), bad(500), done) as server:
        assert use(server.url, "commit_offset", 6) == Committed(6, 9, TIME)
    body = {"brokerId": "b", "topicId": "t", "partitionId": 3, "consumerId": "c", "offset": 6}
    assert server.asked[1:] == [Asked("POST", "/commit", body, None)] * 3, "to commit again does no harm"


@both_use
@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([bad(409, "all taken", "NO_PARTITION_AVAILABLE")], NoPartitionAvailable),
        ([REGISTERED, bad(400, "beyond the end", "INVALID_OFFSET")], InvalidOffset),
        ([REGISTERED, bad(404, "gone", "PARTITION_NOT_FOUND")], TopicNotFound),
    ],
)
def test_each_refusal_has_its_own_exception(
    use: Callable[..., Any], answers: list[Answer], kind: type[Rejected]
) -> None:
    with serving(*answers) as server, pytest.raises(kind):
        use(server.url, "commit_offset", 6)


def test_names_may_hold_any_character() -> None:
    with (
        serving(good(partitionId=0, messages=None, startOffset=0, endOffset=0)) as server,
        Consumer(server.url, "a/b?", "c", "ü #1", retry=QUICK) as consumer,
    ):
        consumer.consume()
    assert [asked.path for asked in server.asked] == [
        "/register/%C3%BC%20%231",
        "/consume/a%2Fb%3F/%C3%BC%20%231/0",
    ]
