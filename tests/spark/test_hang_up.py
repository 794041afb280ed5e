"""Spark's own process for a stream, asked and then hung up on by a test rather than by Spark."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

pytest.importorskip("pyspark", reason='pip install "millstream[spark]"')
cloudpickle = pytest.importorskip("pyspark.cloudpickle")

from millstream.spark.hang_up import expect_hang_up  # noqa: E402  pyspark may be missing
from millstream.spark.source import MillstreamSource  # noqa: E402

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
NO_SUCH_CALL = 0


def say_number(to: BinaryIO, number: int) -> None:
    to.write(struct.pack("!i", number))


def say(to: BinaryIO, what: bytes) -> None:
    say_number(to, len(what))
    to.write(what)


def begin(to: BinaryIO) -> None:
    """What Spark sends first: a Python version, where files are, the data source, its schema, and a size."""
    say(to, b"%d.%d" % sys.version_info[:2])
    say(to, os.getcwd().encode())
    say_number(to, 0)
    source = MillstreamSource({"subscribe": "orders", "kafka.bootstrap.servers": "127.0.0.1:1"})
    say(to, cloudpickle.dumps(source))
    column = {"name": "value", "type": "binary", "nullable": True, "metadata": {}}
    say(to, json.dumps({"type": "struct", "fields": [column]}).encode())
    say_number(to, 1000)
    to.flush()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="Spark uses TCP then")
@pytest.mark.parametrize("busy", [False, True])
def test_a_reader_that_spark_hangs_up_on_ends_without_a_word(tmp_path: Path, busy: bool) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen(1)
        listening.settimeout(60)
        process = subprocess.Popen(
            [sys.executable, "-m", RUNNER],
            env={**os.environ, "PYTHON_WORKER_FACTORY_SOCK_PATH": str(tmp_path / "s")},
            stderr=subprocess.PIPE,
        )
        connection = listening.accept()[0]
        with connection, connection.makefile("rwb") as spark:
            connection.settimeout(60)
            assert struct.unpack("!i", spark.read(4)) == (process.pid,)
            begin(spark)
            assert spark.read(4) == bytes(4), "the reader is there"
            if busy:  # it is asked something, and the answer finds nobody
                say_number(spark, NO_SUCH_CALL)
        said = process.communicate(timeout=60)[1]

    assert process.returncode != 0
    assert said == b""


@pytest.mark.parametrize("end", [BrokenPipeError, ConnectionResetError, ValueError])
def test_what_is_not_a_hang_up_is_still_shown(
    end: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    expect_hang_up()
    assert sys.excepthook is sys.__excepthook__, "a reader that nothing has happened to"
    try:
        raise EOFError
    except EOFError:
        expect_hang_up()
    sys.excepthook(end, end("so it is"), None)

    assert ("ValueError: so it is" in capsys.readouterr().err) is (end is ValueError)
