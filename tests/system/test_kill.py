"""A broker under load is killed again and again, and loses nothing it has acknowledged."""

import asyncio
import signal
from pathlib import Path
from random import Random

import pytest
from tests.system.ledger import Ledger
from tests.system.load import Load, connected, create_topic, write, write_with_librdkafka
from tests.system.mortal import Mortal
from tests.system.reading import read_all

from millstream.client.topics import TopicPartition

pytestmark = pytest.mark.system

PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("loose", 0)]
SETTINGS = {"log.flush.offset.checkpoint.interval.ms": 100}
ENDS = [signal.SIGKILL] * 4 + [signal.SIGTERM]
SMALL = {"segment.bytes": "100000"}


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_a_killed_broker_loses_nothing(tmp_path: Path, rounds: int) -> None:
    asyncio.run(_kill_again_and_again(tmp_path / "data", rounds))


async def _kill_again_and_again(data: Path, rounds: int) -> None:
    random = Random(rounds)
    ledger = Ledger()
    with Mortal(data, SETTINGS) as broker:
        async with connected(broker.bootstrap) as client:
            await create_topic(client, "orders", 2, SMALL)
            await create_topic(client, "loose", 1, {**SMALL, "flush.policy": "os"})
        async with Load(broker.bootstrap, ledger, PARTITIONS) as load:
            load.start(write(load, "a"), write(load, "b"), write_with_librdkafka(load, "c"))
            for _ in range(rounds):
                await load.more(random.randint(1, 1000))
                await asyncio.to_thread(broker.end, random.choice(ENDS))
            await load.more(1)
            await load.stop()
        records, starts = await asyncio.to_thread(read_all, broker.bootstrap, PARTITIONS)
        ledger.check_records(records, starts)
        assert set(starts.values()) == {0}
        assert broker.stop() == 0
