"""kafka-python lives through the end of its broker, be it a restart or kill -9."""

from collections.abc import Callable

import pytest
from kafka import TopicPartition
from tests.compat.kafka_python.clients import SECONDS, consumer, create, producer, read, read_from, send
from tests.compat.node import Node

ENDS: dict[str, Callable[[Node], None]] = {"stop": Node.stop, "kill": Node.kill}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50, "retry_backoff_ms": 20}


@pytest.mark.parametrize("end", ENDS)
def test_clients_find_everything_again(mortal: Node, name: str, end: str) -> None:
    create(mortal.bootstrap, name)
    with (
        producer(mortal.bootstrap, **QUICK) as one,
        consumer(mortal.bootstrap, name, group_id=name, **QUICK) as reader,
    ):
        send(one, name, b"before")
        read(reader, 1)
        reader.commit()

        ENDS[end](mortal)
        mortal.start()

        assert send(one, name, b"after")[0].offset == 1
        assert read(reader, 1)[0].value == b"after"
        assert reader.committed(TopicPartition(name, 0)) == 1


@pytest.mark.parametrize("end", ENDS)
def test_what_is_sent_while_the_broker_is_away_arrives_once_and_in_order(
    mortal: Node, name: str, end: str
) -> None:
    create(mortal.bootstrap, name)
    with producer(mortal.bootstrap, **QUICK) as one:
        futures = []
        for i in range(300):
            futures.append(one.send(name, b"%d" % i, partition=0))
            if i == 150:
                ENDS[end](mortal)
        mortal.start()
        assert [future.get(SECONDS).offset for future in futures] == list(range(300))
    got = read_from(mortal.bootstrap, name, 0, 300)
    assert [int(each.value) for each in got] == list(range(300))
