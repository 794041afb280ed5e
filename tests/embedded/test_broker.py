"""A broker in this process: its life, its settings, and what a fork makes of it."""

import asyncio
import gc
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.embedded.asking import ask, values, write

import millstream
from millstream.embedded import Broker, NotRunning
from millstream.env.disk import DirectoryInUse
from millstream.errors import ErrorCode, Refused
from millstream.node.node import CannotListen
from millstream.settings import InvalidSetting


def test_what_is_written_can_be_read() -> None:
    with Broker() as broker:
        assert broker.create_topic("t") == "t"
        write(broker, "t", b"a", b"b")

        assert values(broker, "t", 2) == [b"a", b"b"]


def test_it_is_there_under_the_name_of_the_package() -> None:
    assert millstream.Broker is Broker


def test_several_in_one_process_know_nothing_of_each_other() -> None:
    with Broker() as one, Broker() as other:
        assert one.bootstrap_servers != other.bootstrap_servers
        one.create_topic("t")
        other.create_topic("t")
        write(one, "t", b"of one")
        write(other, "t", b"of the other")

        assert values(one, "t", 1) == [b"of one"]
        assert values(other, "t", 1) == [b"of the other"]


def test_without_a_directory_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Broker() as broker:
        broker.create_topic("t", partitions=3)
        write(broker, "t", b"a")

    assert list(tmp_path.iterdir()) == []
    with Broker() as broker:
        assert broker.topics() == []


def test_on_a_directory_everything_is_kept(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        broker.create_topic("t")
        write(broker, "t", b"a", b"b")

    with Broker(tmp_path) as broker:
        assert broker.topics() == ["t"]
        assert values(broker, "t", 2) == [b"a", b"b"]


def test_a_directory_has_one_broker_at_a_time(tmp_path: Path) -> None:
    with Broker(tmp_path), pytest.raises(DirectoryInUse, match="in use"):
        Broker(tmp_path).start()
    with Broker(tmp_path):
        pass


def test_a_loop_of_ones_own_is_never_held_up() -> None:
    async def story() -> list[str]:
        async with Broker() as broker:
            await asyncio.gather(broker.create_topic("a"), broker.create_topic("b", partitions=2))
            await broker.delete_topic("a")
            # A call that blocks this loop: the broker has another.
            host, _, port = broker.bootstrap_servers.rpartition(":")
            socket.create_connection((host, int(port)), timeout=60).close()
            return await broker.topics()

    assert asyncio.run(story()) == ["b"]


@pytest.mark.parametrize("partitions", [1, 3])
def test_settings_go_by_kafkas_names_or_as_keywords(partitions: int) -> None:
    with (
        Broker(settings={"num.partitions": partitions}) as mapped,
        Broker(num_partitions=partitions) as named,
    ):
        for broker in (mapped, named):
            broker.create_topic("t")
            assert len(ask(broker, lambda client: client.topic("t")).partitions) == partitions


def test_a_setting_that_is_wrong_is_told_before_anything_starts() -> None:
    before = threading.active_count()
    with pytest.raises(InvalidSetting, match=r"did you mean 'num\.partitions'"):
        Broker(num_partition=3)
    with pytest.raises(InvalidSetting, match="given twice"):
        Broker(settings={"num.partitions": 2}, num_partitions=3)
    with pytest.raises(InvalidSetting, match="at least 1"):
        Broker(num_partitions=0)
    assert threading.active_count() == before


def test_a_port_that_is_taken_is_named_and_no_thread_stays() -> None:
    with Broker() as broker:
        port = broker.addresses[0].port
        before = threading.active_count()
        with pytest.raises(CannotListen, match=f"127.0.0.1:{port}"):
            Broker(port=port).start()
        assert threading.active_count() == before


def test_other_doors_are_shut_unless_asked_for() -> None:
    with (
        Broker() as shut,
        Broker(doors=["http.queue", "jsonl", "text"]) as opened,
        Broker(doors=["admin"]) as admin,
    ):
        for broker, door in ((shut, "jsonl"), (shut, "http.queue"), (opened, "admin")):
            with pytest.raises(ValueError, match=f"door '{door}' is shut"):
                broker.door(door)
        admin.create_topic("t")
        for address in (*map(opened.door, ("jsonl", "http.queue", "text")), admin.door("admin")):
            socket.create_connection((address.host, address.port), timeout=60).close()
        with urlopen(f"{admin.admin_url}/api/v1/topics", timeout=60) as reply:
            assert b'"t"' in reply.read()
        with urlopen(f"{opened.http_url}/stats", timeout=60) as reply:
            assert b'"success"' in reply.read()
    with pytest.raises(InvalidSetting, match="there is no door 'https'"):
        Broker(doors=["https"])


def test_what_is_not_asked_for_is_not_imported() -> None:
    program = "import sys, millstream; millstream.Broker().start().stop(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not {"starlette", "httpx", "rich", "click", "millstream.sim"} & set(loaded.stdout.split())


def test_refusals_say_why() -> None:
    with Broker() as broker:
        broker.create_topic("t", configs={"retention.ms": 1000, "unclean.leader.election.enable": False})
        with pytest.raises(Refused) as refused:
            broker.create_topic("t")
        assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        with pytest.raises(Refused, match="UNKNOWN_TOPIC"):
            broker.delete_topic("nobody")


@pytest.mark.parametrize("in_memory", [True, False])
def test_whatever_happened_stop_leaves_no_thread_and_no_descriptor(in_memory: bool, tmp_path: Path) -> None:
    gc.collect()
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    brokers = [Broker(None if in_memory else tmp_path / str(number)) for number in range(3)]
    for broker in brokers:
        broker.start().create_topic("t")
        write(broker, "t", b"a")
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=60):
            broker.stop()
            broker.stop()
    gc.collect()

    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_one_that_does_not_run_says_so() -> None:
    broker = Broker()
    with pytest.raises(NotRunning, match="does not run"):
        broker.create_topic("t")
    with pytest.raises(NotRunning, match="does not run"):
        _ = broker.bootstrap_servers
    with broker, pytest.raises(RuntimeError, match="runs already"):
        broker.start()
    with pytest.raises(NotRunning):
        broker.topics()
    with broker:
        assert broker.topics() == []


def test_memory_is_bounded() -> None:
    with Broker(memory_bytes=4 << 20) as broker:
        broker.create_topic("t")
        with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
            for _ in range(9):
                write(broker, "t", bytes(900_000), patience=0.5)
        broker.delete_topic("t")
        broker.create_topic("u")
        _until_written(broker, "u")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_cannot_use_it_and_holds_on_to_nothing(tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    host, _, port = broker.bootstrap_servers.rpartition(":")
    client = socket.create_connection((host, int(port)), timeout=60)
    broker.create_topic("t")
    said, told = os.pipe()
    going, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            broker.create_topic("u")
        except NotRunning as error:
            os.write(told, str(error).encode())
        broker.stop()
        os.write(told, b"|stopped")
        os.read(going, 1)
        os._exit(0)
    try:
        heard = b""
        while not heard.endswith(b"|stopped"):
            heard += os.read(said, 1000)
        assert b"fork" in heard
        assert broker.topics() == ["t"], "the parent's goes on"
        broker.stop()

        assert client.recv(1) == b"", "the child does not keep the connection open"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=60)
        with Broker(tmp_path) as again:
            assert again.topics() == ["t"]
    finally:
        client.close()
        os.write(go, b"x")
        os.waitpid(child, 0)
        for fd in (said, told, going, go):
            os.close(fd)


def _until_written(broker: Broker, topic: str) -> None:
    """Space that was freed is found within a second or so."""
    deadline = time.monotonic() + 30
    while True:
        try:
            write(broker, topic, b"small", patience=0.5)
            return
        except Refused:
            assert time.monotonic() < deadline
            broker.call(broker.node.broker.store.space.look)
