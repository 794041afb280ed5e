"""The text door, row by row of its contract, in raw bytes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.client.simulated import Sim
from tests.gateways.lines import JSONL, TEXT, LineClient, with_doors

from millstream.broker.session import Session
from millstream.records.build import NewRecord

Story = Callable[[Sim], Awaitable[None]]
SESSION = Session("test", "here")


def play(story: Story, settings: dict[str, object] | None = None, seed: int = 1) -> None:
    with_doors(story, settings, seed)


async def subscriber(wish: str) -> LineClient:
    client = await LineClient.connect(TEXT)
    assert await client.ask(f"SUB {wish}") == f"SUBSCRIBED {wish.split()[0]}"
    return client


async def published(*lines: str) -> LineClient:
    client = await LineClient.connect(TEXT)
    for line in lines:
        assert await client.ask(f"PUB {line}") == "OK"
    return client


def test_what_is_published_comes_to_every_subscriber() -> None:
    async def story(sim: Sim) -> None:
        one, two = await subscriber("news"), await subscriber("news")
        await published("news hello  world ", "news", "news ")
        for it in (one, two):
            assert await it.hear(3) == ["MSG news 0 hello  world ", "MSG news 1 ", "MSG news 2 "]
            assert await it.ask("ACK 0") == "ACKED 0"
            assert await it.ask("ACK 0") == "ERR unknown-id"
            assert await it.ask("ACK 2\r") == "ACKED 2"

    play(story)


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("PING", "PONG"),
        ("PING\r", "PONG"),
        ("ping", "ERR unknown command"),
        ("HELO", "ERR unknown command"),
        ("PUB", "ERR unknown command"),
        ("PUB ", "ERR unknown command"),
        ("SUB", "ERR unknown command"),
        (" PING", "ERR unknown command"),
        ("ACK", "ERR unknown-id"),
        ("ACK 7", "ERR unknown-id"),
        ("ACK -1", "ERR unknown-id"),
        ("ACK ²", "ERR unknown-id"),
        ("ACK 0/0", "ERR unknown-id"),
        ("NACK", "ERR unknown-id"),
        ("NACK 7 100", "ERR unknown-id"),
        ("NACK 7 soon", "ERR delay must be a number from 0 to 604800000"),
        ("AUTH joe secret", "ERR authentication is not enabled: no AUTH is needed"),
        ("PUB a/b text", "ERR 'a/b' is no topic name: letters, digits, '.', '_' and '-' are"),
        ("SUB t window=0", "ERR window must be a number from 1 to 2147483648"),
        ("SUB t group=", "ERR a group's name has 1 to 255 characters"),
        ("PUB __consumer_offsets x", "ERR __consumer_offsets is written by the broker alone"),
        ("SUB __queue_state", "ERR __queue_state is the broker's own"),
        ("x" * 3_000_000, "ERR line too long: line.max.bytes is 2097152"),
    ],
)
def test_replies(line: str, reply: str) -> None:
    async def story(sim: Sim) -> None:
        it = await LineClient.connect(TEXT)
        assert await it.ask(line) == reply
        it.send("", "\r")  # nothing is nothing
        assert await it.ask("PING") == "PONG"  # and the connection lives on

    play(story)


def test_an_option_that_is_not_there_is_told_with_those_that_are() -> None:
    async def story(sim: Sim) -> None:
        it = await LineClient.connect(TEXT)
        told = await it.ask("SUB t gruop=x")
        assert told.startswith("ERR no such option: gruop=x; there are group=NAME,")

    play(story)


def test_a_topic_is_created_with_one_partition() -> None:
    async def story(sim: Sim) -> None:
        await published("news x")
        await subscriber("other")
        assert sim.host.node is not None
        topics = sim.host.node.broker.topics
        assert topics.topic("news").partitions == topics.topic("other").partitions == 1

    play(story, {"num.partitions": 4})


def test_no_topic_is_created_where_that_is_not_allowed() -> None:
    async def story(sim: Sim) -> None:
        it = await LineClient.connect(TEXT)
        assert await it.ask("PUB news x") == "ERR there is no topic 'news'"
        assert await it.ask("SUB news") == "ERR there is no topic 'news'"

    play(story, {"auto.create.topics.enable": "false"})


def test_what_came_before_anybody_was_there_waits() -> None:
    async def story(sim: Sim) -> None:
        await published("news a", "news b")
        it = await subscriber("news")
        assert await it.hear(2) == ["MSG news 0 a", "MSG news 1 b"]

    play(story)


def test_what_is_unacknowledged_goes_to_the_next_one_and_what_is_acknowledged_does_not() -> None:
    async def story(sim: Sim) -> None:
        await published("news a", "news b", "news c")
        one = await subscriber("news")
        await one.hear(3)
        assert await one.ask("ACK 1") == "ACKED 1"
        await one.close()
        two = await subscriber("news")
        assert await two.hear(2) == ["MSG news 0 a", "MSG news 2 c"]
        assert await two.ask("ACK 0") == "ACKED 0"
        three = await subscriber("news")  # comes while another is there: gets what comes from now on
        await published("news d")
        assert await three.hear() == ["MSG news 3 d"]
        assert await two.hear() == ["MSG news 3 d"]
        assert await two.ask("ACK 3") == "ACKED 3"
        assert await three.ask("ACK 3") == "ACKED 3"
        await two.close()
        four = await subscriber("news")
        assert await four.hear() == ["MSG news 2 c"]
        assert await three.hears_nothing()

    play(story)


@pytest.mark.parametrize("end", ["kill", "cut_power", "stop"])
def test_both_survive_a_restart(end: str) -> None:
    async def story(sim: Sim) -> None:
        await published("news a", "news b", "news c")
        one = await subscriber("news")
        await one.hear(3)
        assert await one.ask("ACK 1") == "ACKED 1"
        if end == "stop":
            sim.host.stop(back_after=0.1)
            await asyncio.sleep(5)
        else:
            getattr(sim.host, end)()
            await sim.up()
        two = await subscriber("news")
        assert await two.hear(2) == ["MSG news 0 a", "MSG news 2 c"]
        assert await two.hears_nothing()

    play(story)


def test_of_a_group_each_message_goes_to_one_member() -> None:
    async def story(sim: Sim) -> None:
        one, two = await subscriber("jobs group=g"), await subscriber("jobs group=g")
        other = await subscriber("jobs group=h")
        await published(*(f"jobs {n}" for n in range(10)))
        got = {"one": await one.hear(5), "two": await two.hear(5)}
        assert sorted(got["one"] + got["two"]) == [f"MSG jobs {n} {n}" for n in range(10)]
        assert await other.hear(10) == [f"MSG jobs {n} {n}" for n in range(10)]
        first = got["one"][0].split()[2]
        assert await two.ask(f"ACK {first}") == "ERR unknown-id"
        assert await one.ask(f"ACK {first}") == "ACKED " + first
        await one.close()
        assert await two.hear(4) == got["one"][1:]

    play(story)


def test_a_message_given_back_comes_again_after_its_delay() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("jobs group=g info=true")
        await published("jobs a")
        (info, message) = await it.hear(2)
        assert info.startswith("INFO jobs 0 deliveries=1 time=20")
        assert message == "MSG jobs 0 a"
        assert await it.ask("NACK 0 5000") == "NACKED 0"
        assert await it.ask("ACK 0") == "ERR unknown-id"
        began = sim.loop.time()
        info, message = await it.hear(2)
        assert info.startswith("INFO jobs 0 deliveries=2 ")
        assert 4.9 < sim.loop.time() - began < 5.5
        assert await it.ask("NACK 0") == "NACKED 0"
        assert (await it.hear(2))[1] == "MSG jobs 0 a"

    play(story)


def test_a_message_held_too_long_goes_to_another() -> None:
    async def story(sim: Sim) -> None:
        one = await subscriber("jobs group=g timeout=2000")
        await published("jobs a")
        assert await one.hear() == ["MSG jobs 0 a"]
        two = await subscriber("jobs group=g")
        three = await subscriber("jobs group=g timeout=1000")
        await one.close()
        assert await two.hear() == ["MSG jobs 0 a"]
        assert await three.hears_nothing(29)  # thirty seconds, unless told otherwise
        assert await three.hear() == ["MSG jobs 0 a"]
        assert await two.ask("ACK 0") == "ERR unknown-id"
        assert await three.ask("ACK 0") == "ACKED 0"

    play(story)


def test_a_plain_subscriber_may_take_its_time() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("news")
        await published("news a")
        assert await it.hear() == ["MSG news 0 a"]
        assert await it.hears_nothing(3600)  # and is not cut off as idle
        assert await it.ask("ACK 0") == "ACKED 0"

    play(story)


def test_after_so_many_tries_a_message_is_moved_to_the_dead() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("jobs group=g")
        await published("jobs poison", "jobs good")
        await it.hear(2)
        assert await it.ask("ACK 1") == "ACKED 1"
        for _ in range(2):
            assert await it.ask("NACK 0") == "NACKED 0"
            assert await it.hear() == ["MSG jobs 0 poison"]
        assert await it.ask("NACK 0") == "NACKED 0"
        assert await it.hears_nothing(60)
        dead = await subscriber("jobs.dead group=g")
        assert await dead.hear() == ["MSG jobs.dead 0 poison"]
        assert sim.host.node is not None
        found = await sim.host.node.broker.read(SESSION, "jobs.dead", 0, 0, max_records=1)
        assert dict(found.records[0].headers) == {
            "millstream-dead-topic": b"jobs",
            "millstream-dead-partition": b"0",
            "millstream-dead-offset": b"0",
            "millstream-dead-group": b"g",
            "millstream-dead-deliveries": b"3",
        }
        for _ in range(9):  # from there nothing is moved
            assert await dead.ask("NACK 0") == "NACKED 0"
            assert await dead.hear() == ["MSG jobs.dead 0 poison"]
        sim.host.cut_power()
        await sim.up()
        again = await subscriber("jobs group=g")
        assert await again.hears_nothing(60)

    play(story, {"queue.delivery.count.limit": 3})


def test_no_more_than_a_window_is_out_at_once() -> None:
    async def story(sim: Sim) -> None:
        await published(*(f"jobs {n}" for n in range(6)))
        it = await subscriber("jobs group=g window=2")
        assert await it.hear(2) == ["MSG jobs 0 0", "MSG jobs 1 1"]
        assert await it.hears_nothing(20)
        assert await it.ask("ACK 1") == "ACKED 1"
        assert await it.hear() == ["MSG jobs 2 2"]
        it.send("ACK 0", "ACK 2")
        assert sorted(await it.hear(4)) == ["ACKED 0", "ACKED 2", "MSG jobs 3 3", "MSG jobs 4 4"]

    play(story)


def test_topics_of_many_partitions_have_ids_that_name_them() -> None:
    async def story(sim: Sim) -> None:
        json = await LineClient.connect(JSONL)
        await json.ok(type="createTopic", topic="wide", partitions=2)
        it = await subscriber("wide")
        await published("wide a", "wide b", "wide c")
        got = sorted(await it.hear(3))
        assert [line.split()[2] for line in got] == ["0:0", "0:1", "1:0"]
        assert await it.ask("ACK 0") == "ERR unknown-id"
        assert await it.ask("ACK 2:0") == "ERR unknown-id"
        assert await it.ask("ACK 1:0") == "ACKED 1:0"
        assert await it.ask("ACK 0:01") == "ERR unknown-id"
        assert await it.ask("ACK 0:1") == "ACKED 0:1"

    play(story)


def test_a_topic_may_grow_while_it_is_read() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("t")
        await published("t a")
        assert await it.hear() == ["MSG t 0 a"]
        assert sim.host.node is not None
        await sim.host.node.broker.grow_topic(SESSION, "t", 2)
        await published("t b", "t c")
        got = await it.hear(2)
        assert sorted(line.split()[2] for line in got) == ["1", "1:0"]
        assert await it.ask("ACK 1:0") == "ACKED 1:0"

    play(story)


def test_a_connection_may_have_several_subscriptions() -> None:
    async def story(sim: Sim) -> None:
        it = await LineClient.connect(TEXT)
        it.send("SUB a", "SUB b", "SUB a group=g", "SUB a")
        assert await it.hear(4) == ["SUBSCRIBED a", "SUBSCRIBED b", "SUBSCRIBED a", "SUBSCRIBED a"]
        await published("a x", "b y")
        assert sorted(await it.hear(3)) == ["MSG a 0 x", "MSG a 3/0 x", "MSG b 2/0 y"]
        it.send("ACK 0", "ACK 2/0", "ACK 3/0", "ACK 1/0", "ACK 0")
        assert await it.hear(5) == ["ACKED 0", "ACKED 2/0", "ACKED 3/0", "ERR unknown-id", "ERR unknown-id"]

    play(story)


def test_what_cannot_stand_on_a_line_is_base64() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("t")
        json = await LineClient.connect(JSONL)
        for value in ("a\nb", "a\rb", "base64:x", "grüße"):
            await json.ok(type="produce", topic="t", value=value)
        await json.ok(type="produce", topic="t", value="/w==", encoding="base64")
        assert await it.hear(5) == [
            "MSG t 0 base64:YQpi",
            "MSG t 1 base64:YQ1i",
            "MSG t 2 base64:YmFzZTY0Ong=",
            "MSG t 3 grüße",
            "MSG t 4 base64:/w==",
        ]
        other = await LineClient.connect(TEXT)
        assert await other.ask(b"PUB t \xff\x00") == "OK"  # bytes are bytes
        assert await it.hear() == ["MSG t 5 base64:/wA="]

    play(story)


def test_a_deleted_topic_ends_its_subscriptions_and_a_new_one_begins_anew() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("t group=g")
        await published("t a", "t b")
        await it.hear(2)
        assert await it.ask("ACK 0") == "ACKED 0"
        assert sim.host.node is not None
        await sim.host.node.broker.delete_topic(SESSION, "t")
        assert await it.hear() == ["ERR topic 't' was deleted"]
        assert await it.ask("ACK 1") == "ERR unknown-id"
        await published("t c")
        assert await it.ask("SUB t group=g") == "SUBSCRIBED t"
        assert await it.hear() == ["MSG t 2/0 c"]

    play(story)


def test_a_group_may_begin_with_what_comes() -> None:
    async def story(sim: Sim) -> None:
        await published("t a")
        it = await subscriber("t group=g from=latest")
        await published("t b")
        assert await it.hear() == ["MSG t 1 b"]
        await it.close()
        again = await subscriber("t group=g from=latest")  # a group that is known goes on where it was
        assert await again.hear() == ["MSG t 1 b"]
        new = await subscriber("t group=new from=latest")
        sim.host.cut_power()
        await new.close()
        await sim.up()
        await published("t c")
        new = await subscriber("t group=new from=latest")  # and was told that it begins there
        assert await new.hear() == ["MSG t 2 c"]
        assert sim.host.node is not None
        await sim.host.node.broker.grow_topic(SESSION, "t", 2)
        await published("t d", "t e")
        assert {line.split()[2] for line in await new.hear(2)} == {"3", "1:0"}

    play(story)


def test_an_expired_message_is_not_delivered() -> None:
    async def story(sim: Sim) -> None:
        it = await subscriber("t group=g")
        assert sim.host.node is not None
        broker = sim.host.node.broker
        await broker.write(SESSION, "t", [NewRecord(None, b"short", (("millstream-ttl-ms", b"1000"),))])
        await broker.write(SESSION, "t", [NewRecord(None, b"long")])
        assert await it.hear(2) == ["MSG t 0 short", "MSG t 1 long"]
        assert await it.ask("NACK 0 2000") == "NACKED 0"
        assert await it.ask("NACK 1 3000") == "NACKED 1"
        assert await it.hear() == ["MSG t 1 long"]

    play(story)


def test_a_subscriber_that_takes_nothing_is_given_nothing_more() -> None:
    async def story(sim: Sim) -> None:
        it = await LineClient.connect(TEXT, limit=1 << 18)
        assert await it.ask("SUB t window=100000") == "SUBSCRIBED t"
        publisher = await LineClient.connect(TEXT)
        for _ in range(40):
            publisher.send("PUB t " + "x" * 200_000)
            assert await publisher.hear() == ["OK"]
        assert sim.host.node is not None
        assert sim.host.node.broker.queues.delivered < 30
        for n in range(40):
            assert (await it.hear_raw()).startswith(b"MSG t %d xxx" % n)

    play(story, {"queue.max.held": 100_000})
