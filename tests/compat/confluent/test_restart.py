"""confluent-kafka lives through the end of its broker, be it a restart or kill -9."""

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from tests.compat.confluent.clients import admin, consumer, create, producer, read, read_from, send, values
from tests.compat.node import Node

ENDS: dict[str, Callable[[Node], None]] = {"stop": Node.stop, "kill": Node.kill}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}


@pytest.mark.parametrize("end", ENDS)
def test_clients_find_everything_again(mortal: Node, name: str, end: str) -> None:
    """One producer, one member of a group and one administrator, none of which is told."""
    client = admin(mortal.bootstrap)
    create(mortal.bootstrap, name, 2, retention_ms="123456")
    one = producer(mortal.bootstrap, enable_idempotence=True, **QUICK)
    with consumer(mortal.bootstrap, group_id=name, **QUICK) as reader:
        reader.subscribe([name])
        send(one, name, values("before"))
        last = read(reader, 1)[0]
        reader.commit(message=last, asynchronous=False)

        ENDS[end](mortal)
        mortal.start()

        (after,) = send(one, name, values("after"))
        assert after.offset() == 1
        assert [each.value() for each in read(reader, 1)] == [b"after"]
        assert reader.committed([TopicPartition(name, 0)])[0].offset == 1
        reader.commit(asynchronous=False)
    assert len(client.list_topics(name, timeout=60).topics[name].partitions) == 2

    batches = mortal.batches(name)
    assert len({batch.producer_id for batch in batches}) == 1
    assert [batch.base_sequence for batch in batches] == [0, 1]


@pytest.mark.parametrize("end", ENDS)
def test_what_is_sent_while_the_broker_is_away_arrives_once_and_in_order(
    mortal: Node, name: str, end: str
) -> None:
    create(mortal.bootstrap, name)
    one = producer(mortal.bootstrap, enable_idempotence=True, linger_ms=0, **QUICK)
    for i in range(300):
        one.produce(name, str(i), partition=0)
        one.poll(0)
        if i == 150:
            ENDS[end](mortal)
    mortal.start()
    assert one.flush(60) == 0
    with consumer(mortal.bootstrap) as reader:
        got = read_from(reader, name, 0, 300)
        assert [int(each.value()) for each in got] == list(range(300))
        assert reader.get_watermark_offsets(TopicPartition(name, 0)) == (0, 300)


def test_a_group_and_its_configs_are_there_after_kill(mortal: Node, name: str) -> None:
    create(mortal.bootstrap, name, 1, retention_ms="123456")
    send(producer(mortal.bootstrap), name, values("a", "b", "c"))
    with consumer(mortal.bootstrap, group_id=name) as reader:
        reader.subscribe([name])
        reader.commit(message=read(reader, 2)[-1], asynchronous=False)
    mortal.kill()
    mortal.start()
    with consumer(mortal.bootstrap, group_id=name) as reader:
        reader.subscribe([name])
        assert read(reader, 1)[0].value() == b"c"
