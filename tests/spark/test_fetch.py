"""What the driver and the executors ask of a broker, without Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.conftest import Topics
from tests.support.server import Server

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.errors import Refused
from millstream.records.build import NewRecord, build
from millstream.records.columns import Decoder
from millstream.records.compression import Codec
from millstream.spark.fetch import _decoded, read_range
from millstream.spark.options import SourceOptions, read_options
from millstream.spark.plan import DataLoss, Range
from millstream.spark.view import View
from millstream.spark.words import InvalidOption
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction, FetchResponsePartition

pytestmark = pytest.mark.system


@pytest.fixture
def topic(topics: Topics, request: pytest.FixtureRequest) -> str:
    """Two partitions; even values in the first, odd ones in the second, a hundred in all."""
    name = topics.create(request.node.name.replace("[", "-").replace("]", ""), partitions=2)
    topics.fill(name, 100, partitions=2)
    return name


def options(broker: Server, topic: str, **others: str) -> SourceOptions:
    """Of a batch; `kafka_x_y` stands for `kafka.x.y`."""
    chosen = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    for name, value in others.items():
        chosen[(name.replace("_", ".") if name.startswith("kafka_") else name).lower()] = value
    return read_options(chosen, streaming=False)


def values(chosen: SourceOptions, *wanted: Range) -> list[int]:
    return [
        int(value)
        for each in wanted
        for batch in read_range(chosen, each)
        for value in batch.column("value").to_pylist()
    ]


@pytest.fixture
def views() -> Iterator[list[View]]:
    opened: list[View] = []
    yield opened
    for view in opened:
        view.close()


def trimmed(topics: Topics, partition: TopicPartition, before: int) -> None:
    topics.do(lambda client: Admin(client).trim({partition: before}))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_reads_exactly_the_range_whatever_the_batches(
    broker: Server, topics: Topics, codec: Codec, request: pytest.FixtureRequest
) -> None:
    name = topics.create(f"ranges-{codec.name.lower()}")
    for first in range(0, 300, 30):
        topics.fill(name, 30, first=first, codec=codec)
    chosen = options(broker, name, kafka_max_partition_fetch_bytes="700")

    for first, until in [(0, 300), (0, 1), (7, 8), (29, 31), (45, 250), (299, 300), (10, 10)]:
        assert values(chosen, Range(TopicPartition(name, 0), first, until)) == list(range(first, until))


def test_a_reader_that_stops_early_leaves_nothing_behind(
    broker: Server, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = options(broker, topic, kafka_max_partition_fetch_bytes="1")
    reading = read_range(chosen, Range(TopicPartition(topic, 0), 0, 50))
    next(reading)
    reading.close()  # type: ignore[attr-defined]  # it is a generator

    assert "never retrieved" not in capfd.readouterr().err


def test_the_view_finds_partitions_by_each_of_the_three_ways(
    broker: Server, topics: Topics, topic: str, views: list[View]
) -> None:
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    base = {"kafka.bootstrap.servers": broker.bootstrap}
    for chosen, found in [
        ({"subscribe": topic}, both),
        ({"subscribepattern": topic[:-3] + ".*"}, both),
        ({"subscribepattern": "nothing like it"}, []),
        ({"subscribepattern": "__.*"}, []),
        ({"assign": f'{{"{topic}": [1]}}'}, both[1:]),
    ]:
        views.append(View(read_options(base | chosen, streaming=False)))
        assert views[-1].partitions() == found


def test_what_does_not_exist_is_named(broker: Server, topic: str, views: list[View]) -> None:
    views.append(View(options(broker, "nowhere")))
    with pytest.raises(Refused, match="no topic 'nowhere'"):
        views[-1].partitions()

    assigned = {"kafka.bootstrap.servers": broker.bootstrap, "assign": f'{{"{topic}": [0, 7]}}'}
    views.append(View(read_options(assigned, streaming=False)))
    with pytest.raises(InvalidOption, match=f"{topic}-7, which the cluster does not have"):
        views[-1].partitions()


def test_offsets_by_json_must_name_every_partition(broker: Server, topic: str, views: list[View]) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    views.append(View(options(broker, topic, startingOffsets=f'{{"{topic}": {{"0": 5, "1": -2}}}}')))
    assert views[-1].start([first, second]) == {first: 5, second: 0}

    views.append(View(options(broker, topic, startingOffsets=f'{{"{topic}": {{"0": 5}}}}')))
    with pytest.raises(InvalidOption, match=f"leaves out {topic}-1"):
        views[-1].start([first, second])
    with pytest.raises(InvalidOption, match=f"names {topic}-0, which are not to be read"):
        views[-1].start([])


def test_offsets_by_time(broker: Server, topics: Topics, views: list[View]) -> None:
    name = topics.create("times")
    partition = TopicPartition(name, 0)

    async def send(client: Client) -> None:
        async with Producer(client) as producer:
            for n in range(10):
                await producer.send(name, b"%d" % n, timestamp_ms=1000 + n * 100)
                await producer.flush()

    topics.do(send)
    by_time = {"startingTimestamp": "1450", "endingTimestamp": "1801"}
    views.append(View(options(broker, name, **by_time)))
    assert views[-1].start([partition]) == {partition: 5}
    assert views[-1].end([partition]) == {partition: 9}

    late = {"startingTimestamp": "5000"}
    views.append(View(options(broker, name, **late)))
    with pytest.raises(InvalidOption, match=f"no record that late in {name}-0"):
        views[-1].start([partition])
    views.append(View(options(broker, name, startingOffsetsByTimestampStrategy="latest", **late)))
    assert views[-1].start([partition]) == {partition: 10}


@pytest.mark.parametrize("fail", [True, False])
def test_what_retention_took_is_told_to_the_offset(
    broker: Server, topics: Topics, topic: str, views: list[View], fail: bool
) -> None:
    partition = TopicPartition(topic, 0)
    chosen = options(broker, topic, failOnDataLoss=str(fail))
    trimmed(topics, partition, 20)
    views.append(View(chosen))

    wanted = Range(partition, 3, 50)
    if fail:
        words = f"{topic}-0: offsets 3 to 19 are gone; the partition now begins at 20"
        with pytest.raises(DataLoss, match=words):
            views[-1].readable([wanted])
        with pytest.raises(DataLoss, match=words):
            values(chosen, wanted)
    else:
        assert views[-1].readable([wanted]) == [Range(partition, 20, 50)]
        assert values(chosen, wanted) == list(range(40, 100, 2))
        assert values(chosen, Range(partition, 3, 10)) == []


@pytest.mark.parametrize("fail", [True, False])
def test_what_lies_beyond_the_end_is_told_to_the_offset(
    broker: Server, topic: str, views: list[View], fail: bool
) -> None:
    partition = TopicPartition(topic, 1)
    chosen = options(broker, topic, failOnDataLoss=str(fail), kafka_fetch_max_wait_ms="10")
    views.append(View(chosen))

    wanted = Range(partition, 45, 60)
    if fail:
        words = f"{topic}-1: offsets 50 to 59 are not there; the partition ends at 50"
        with pytest.raises(DataLoss, match=words):
            views[-1].readable([wanted])
        with pytest.raises(DataLoss, match=words):
            values(chosen, wanted)
        with pytest.raises(DataLoss, match="offsets 55 to 59 are not there"):
            values(chosen, Range(partition, 55, 60))
    else:
        assert views[-1].readable([wanted]) == [Range(partition, 45, 50)]
        assert values(chosen, wanted) == [91, 93, 95, 97, 99]


def test_a_broker_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    with Server(tmp_path, {"flush.policy": "os"}) as server:
        port = server.port
        topics = Topics(server.bootstrap)
        topics.create("orders")
        topics.fill("orders", 1000)
        chosen = options(server, "orders", kafka_max_partition_fetch_bytes="1")
        reading = read_range(chosen, Range(TopicPartition("orders", 0), 0, 1000))
        found = next(reading).num_rows
        server.stop()
    with Server(tmp_path, {"flush.policy": "os"}, port=port):
        found += sum(batch.num_rows for batch in reading)

    assert found == 1000


def test_records_of_aborted_transactions_are_left_out() -> None:
    def batch(offset: int, producer: int, *, transactional: bool = False, control: bool = False) -> bytes:
        record = NewRecord(None, b"%d" % offset)
        made = build(
            [record],
            now_ms=0,
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
            control=control,
        )
        return bytes(made)

    run = b"".join(
        [
            batch(0, 5, transactional=True),  # aborted by 3
            batch(1, 6, transactional=True),
            batch(2, -1),
            batch(3, 5, transactional=True, control=True),
            batch(4, 5, transactional=True),
        ]
    )
    answer = FetchResponsePartition(aborted_transactions=[FetchResponseAbortedTransaction(5, 0)])
    wanted = Range(TopicPartition("orders", 0), 0, 5)

    shown = _decoded(Decoder("orders", 0), answer, run, 0, wanted)
    assert [value for each in shown for value in each.column("value").to_pylist()] == [b"1", b"2", b"4"]
