"""Imports into a real broker: offsets kept, and nothing twice however often it is run."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.embedded.asking import ask, read, write
from tests.imports.writing import PandaQ, tinymq

from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.client.transactions import TransactionalProducer
from millstream.embedded import Broker
from millstream.errors import Refused
from millstream.imports import pandaq
from millstream.imports import tinymq as tinymq_files
from millstream.imports.run import Different, Import, Imported
from millstream.imports.source import Source
from millstream.records.build import NewRecord

GROUP = "panda-q"
TIME = "2020-01-02T03:04:05.678901Z"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def run(broker: Broker, source: Source, name: str | None = None) -> list[Imported]:
    async def story(client: Client) -> list[Imported]:
        importing = Import(client, {"retention.ms": "-1"})
        results: list[Imported] = []
        for topic in source.topics:
            results += await importing.topic(topic, name or topic.name, GROUP)
        return results

    return ask(broker, story)


def offsets(broker: Broker) -> dict[TopicPartition, int]:
    return ask(broker, lambda client: GroupAdmin(client).offsets(GROUP))


def test_records_come_at_their_offsets_with_key_value_and_time(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "tiny", 0, [(None, "a", TIME), ("k", "b", TIME)])
    tinymq(tmp_path, "tiny", 1, [(None, "c", TIME)])
    source = tinymq_files.open_folder(tmp_path)

    assert [(each.written, each.present) for each in run(broker, source)] == [(2, 0), (1, 0)]
    assert [(each.written, each.present) for each in run(broker, source)] == [(0, 2), (0, 1)]
    found = read(broker, "tiny", 2)
    assert [(each.offset, each.key, each.value) for each in found] == [(0, None, b"a"), (1, b"k", b"b")]
    assert {each.timestamp_ms for each in found} == {1_577_934_245_678}


def test_one_that_was_broken_off_is_carried_on_with(broker: Broker, tmp_path: Path) -> None:
    folder = PandaQ(tmp_path / "data", {"half": 1})
    for number in range(30):
        folder.ingress("half", f"m{number}", f"content {number}")
    folder.move()
    source = pandaq.open_folder(folder.folder)
    records = [found.record for found in source.topics[0].partitions[0].records()]
    broker.create_topic("half")
    ask(broker, lambda client: _write(client, "half", records[:11]))

    (result,) = run(broker, source)

    assert (result.present, result.written) == (11, 19)
    assert [each.key for each in read(broker, "half", 30)] == [record.key for record in records]


def test_what_others_wrote_later_is_left_alone(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "later", 0, [(None, "a", TIME)])
    source = tinymq_files.open_folder(tmp_path)
    run(broker, source)
    write(broker, "later", b"by somebody else")

    (result,) = run(broker, source)
    assert (result.present, result.written) == (1, 0)

    more = tmp_path / "later" / "partition-0.log"
    more.write_text(more.read_text() + more.read_text().replace('"offset":0', '"offset":1'))
    with pytest.raises(Different, match="later-0 holds something else at offset 1"):
        run(broker, tinymq_files.open_folder(tmp_path))


def test_a_topic_of_something_else_is_not_added_to(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "taken", 0, [(None, "a", TIME), (None, "b", TIME)])
    broker.create_topic("taken")
    write(broker, "taken", b"other")

    with pytest.raises(Different, match="taken-0 holds something else at offset 0"):
        run(broker, tinymq_files.open_folder(tmp_path))
    assert [each.value for each in read(broker, "taken", 1)] == [b"other"]


def test_a_topic_with_too_few_partitions_is_told(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "few", 2, [(None, "a", TIME)])
    broker.create_topic("few", partitions=2)

    with pytest.raises(Different, match="--partitions 3"):
        run(broker, tinymq_files.open_folder(tmp_path))


def test_read_offsets_become_those_of_the_http_queues_group_once(broker: Broker, tmp_path: Path) -> None:
    folder = PandaQ(tmp_path / "data", {"queue": 1})
    for number in range(5):
        folder.ingress("queue", f"m{number}", number)
    folder.move()
    folder.reads["queue", 0] = 3
    folder.write_metadata()
    source = pandaq.open_folder(folder.folder)
    place = TopicPartition("queue", 0)

    (result,) = run(broker, source)
    assert result.read_offset == 3
    assert offsets(broker)[place] == 3
    broker.faults.jump(30 * 86_400)
    assert offsets(broker)[place] == 3, "however long its consumers stay away"

    ask(broker, lambda client: GroupAdmin(client).set_offsets(GROUP, {place: 4}))
    (result,) = run(broker, source)
    assert result.read_offset is None
    assert offsets(broker)[place] == 4, "consumers have gone on since"


def test_one_that_is_refused_leaves_no_hole(broker: Broker, tmp_path: Path) -> None:
    big = "x" * 2_000_000
    tinymq(tmp_path, "big", 0, [(None, "a", TIME), (None, big, TIME), (None, "b", TIME)])
    source = tinymq_files.open_folder(tmp_path)

    with pytest.raises(Refused, match="MESSAGE_TOO_LARGE"):
        run(broker, source)
    assert [each.value for each in read(broker, "big", 1)] == [b"a"]

    broker.delete_topic("big")
    broker.create_topic("big", configs={"max.message.bytes": 3_000_000})
    (result,) = run(broker, source)
    assert result.written == 3
    assert [len(each.value or b"") for each in read(broker, "big", 3)] == [1, 2_000_000, 1]


def test_somebody_else_who_writes_meanwhile_is_noticed(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "shared", 0, [(None, f"{number:0>1000}", TIME) for number in range(2000)])
    (topic,) = tinymq_files.open_folder(tmp_path).topics
    interfering = iter([lambda: write(broker, "shared", b"mine")])

    async def story(client: Client) -> None:
        def advance(_: int) -> None:
            for interfere in interfering:  # once: after the first batch
                thread = Thread(target=interfere)
                thread.start()
                thread.join()

        await Import(client, {}, advance).topic(topic, "shared", None)

    broker.create_topic("shared")
    with pytest.raises(Different, match="somebody else writes to shared-0"):
        ask(broker, story)


def test_many_records_go_in_many_batches_in_order(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "many", 0, [(None, f"{number:0>1000}", TIME) for number in range(3000)])
    (result,) = run(broker, tinymq_files.open_folder(tmp_path))

    assert result.written == 3000
    assert [int(each.value or b"") for each in read(broker, "many", 3000)] == list(range(3000))


async def _write(client: Client, topic: str, records: list[NewRecord]) -> None:
    async with Producer(client) as producer:
        for record in records:
            await producer.post(topic, record, 0)
        await producer.flush()


def test_the_end_of_somebody_elses_transaction_is_something_else(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "marked", 0, [(None, "a", TIME), (None, "b", TIME)])
    source = tinymq_files.open_folder(tmp_path)
    (first, _) = [found.record for found in source.topics[0].partitions[0].records()]
    broker.create_topic("marked")
    ask(broker, lambda client: _write_transaction(client, "marked", first))

    with pytest.raises(Different, match="marked-0 holds something else at offset 1"):
        run(broker, source)


async def _write_transaction(client: Client, topic: str, record: NewRecord) -> None:
    async with TransactionalProducer(client, "somebody") as producer:
        await producer.init()
        producer.begin()
        await producer.send(topic, record.value, partition=0, timestamp_ms=record.timestamp_ms)
        await producer.commit()
