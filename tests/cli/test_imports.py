"""`millstream import`, against a real broker with its doors."""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.embedded.asking import read, write
from tests.imports.writing import PandaQ, tinymq

from millstream.cli.exits import Exit
from millstream.cli.main import run
from millstream.embedded import Broker
from millstream.imports.pandaq import partition_of
from millstream.sdk import Consumer, NoPartitionAvailable

TIME = "2020-01-02T03:04:05.678901Z"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(doors=["http.queue", "admin"]) as running:
        yield running


def imports(broker: Broker, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["import", *arguments, "--brokers", broker.bootstrap_servers])
    return code, out.getvalue(), err.getvalue()


def test_panda_qs_clients_go_on_where_they_were(broker: Broker, tmp_path: Path) -> None:
    folder = PandaQ(tmp_path / "data", {"orders": 3, "events": 1})
    for number in range(12):
        folder.ingress("orders", f"m{number}", {"n": number})
    folder.move()
    folder.ingress("events", "e", "pending")
    index = partition_of(b"m0", 3)
    folder.consumers["orders", index] = "worker"
    folder.reads["orders", index] = 1
    folder.write_metadata()
    arguments = ("panda-q", str(folder.folder), "--admin", broker.admin_url, "--format", "json")

    code, out, _ = imports(broker, *arguments)
    assert code == Exit.OK
    assert json.loads(out)["written"] == 13
    # However often it is run, nothing comes twice.
    code, out, _ = imports(broker, *arguments)
    assert (code, json.loads(out)["written"]) == (Exit.OK, 0)

    with Consumer(broker.http_url, "broker_1", "worker", "orders") as consumer:
        assert consumer.partition == index, "its partition, though others were free"
        batch = consumer.batch_consume()
        expected = [f"m{n}" for n in range(12) if partition_of(f"m{n}".encode(), 3) == index][1:]
        assert [message.message_id for message in batch] == expected
        assert batch.start_offset == 1
        assert json.loads(batch.messages[0].content) == {"n": int(expected[0][1:])}
    with Consumer(broker.http_url, "broker_1", "events-worker", "events") as consumer:
        assert [message.content for message in consumer.batch_consume()] == ["pending"]
    with pytest.raises(NoPartitionAvailable):
        Consumer(broker.http_url, "broker_1", "second", "events")


def test_registrations_that_cannot_be_made_are_told_and_records_are_there(
    broker: Broker, tmp_path: Path
) -> None:
    folder = PandaQ(tmp_path / "data", {"alone": 1})
    folder.ingress("alone", "m", 1)
    folder.move()
    folder.consumers["alone", 0] = "worker"
    folder.write_metadata()
    nowhere = ("--admin", "http://127.0.0.1:1")

    code, _, err = imports(broker, "panda-q", str(folder.folder), *nowhere)
    assert code == Exit.UNREACHABLE
    assert "records are imported, registrations are not" in err
    assert "--no-registrations" in err
    code, out, _ = imports(broker, "panda-q", str(folder.folder), *nowhere, "--no-registrations")
    assert (code, out) == (Exit.OK, "alone\t0\t0\t1\t-\t-\n")
    code, out, _ = imports(broker, "panda-q", str(folder.folder), "--admin", broker.admin_url)
    assert (code, out) == (Exit.OK, "alone\t0\t0\t1\t-\tworker\n")


def test_tinymq_with_other_names_and_more_partitions(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "odd name", 1, [("k", "v", TIME)])
    tinymq(tmp_path, "left out", 0, [("k", "v", TIME)])

    code, out, _ = imports(
        broker,
        "tinymq",
        str(tmp_path),
        "--topic",
        "odd name",
        "--rename",
        "odd name=even",
        "--partitions",
        "odd name=3",
    )

    assert (code, out) == (
        Exit.OK,
        "even\t0\t0\t0\t-\t-\neven\t1\t1\t0\t-\t-\neven\t2\t0\t0\t-\t-\n",
    )
    assert "left out" not in broker.topics()


def test_old_records_are_not_deleted_for_their_age(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "old", 0, [(None, "v", TIME)])
    imports(broker, "tinymq", str(tmp_path))
    tinymq(tmp_path / "two", "set", 0, [(None, "v", TIME)])
    imports(broker, "tinymq", str(tmp_path / "two"), "--set", "max.message.bytes=2000000")

    for topic in ("old", "set"):
        configs = broker.call(lambda name=topic: broker.node.broker.topics.topic(name).configs)  # type: ignore[misc]
        assert configs["retention.ms"] == "-1"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("panda-q", "{folder}"), Exit.USAGE, "is no data folder of Panda-Q"),
        (("tinymq", "{folder}"), Exit.NO, "no topics found"),
        (("tinymq", "{folder}/nowhere"), Exit.USAGE, "does not exist"),
        (("tinymq", "{folder}", "--topic", "x"), Exit.NO, "no topic 'x' in the source"),
        (("tinymq", "{folder}", "--rename", "x"), Exit.USAGE, "not of the form key=value"),
        (("tinymq", "{folder}", "--partitions", "x=0"), Exit.USAGE, "no number of partitions"),
    ],
)
def test_what_is_wrong_is_told(
    broker: Broker, tmp_path: Path, arguments: tuple[str, ...], code: Exit, words: str
) -> None:
    given = [each.format(folder=tmp_path) for each in arguments]
    assert imports(broker, *given)[0] == code
    assert words in imports(broker, *given)[2]


def test_a_topic_that_holds_something_else_is_left_alone(broker: Broker, tmp_path: Path) -> None:
    tinymq(tmp_path, "mine", 0, [(None, "theirs", TIME)])
    broker.create_topic("mine")
    write(broker, "mine", b"mine")

    code, out, err = imports(broker, "tinymq", str(tmp_path))

    assert (code, out) == (Exit.REFUSED, "")
    assert "mine-0 holds something else at offset 0" in err
    assert "--rename" in err
    assert [each.value for each in read(broker, "mine", 1)] == [b"mine"]
