"""Spark's own process for a stream, asked and then hung up on by a test rather than by Spark."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason='pip install "millstream[spark]"')
cloudpickle = pytest.importorskip("pyspark.cloudpickle")

from millstream.spark.hang_up import expect_hang_up  # noqa: E402  pyspark may be missing
from millstream.spark.source import MillstreamSource  # noqa: E402

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
NO_SUCH_CALL = 0


def number(value: int) -> bytes:
    return struct.pack("!i", value)


def words(what: bytes) -> bytes:
    return number(len(what)) + what


def beginning() -> bytes:
    """What Spark sends first: a Python version, where files are, the data source, its schema, and a size."""
    version = b"%d.%d" % sys.version_info[:2]
    source = MillstreamSource({"subscribe": "orders", "kafka.bootstrap.servers": "127.0.0.1:1"})
    column = {"name": "value", "type": "binary", "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [column]}).encode()
    files = words(os.getcwd().encode()) + number(0)
    return words(version) + files + words(cloudpickle.dumps(source)) + words(schema) + number(1000)


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
        with connection:
            connection.settimeout(60)
            assert connection.recv(4, socket.MSG_WAITALL) == number(process.pid)
            connection.sendall(beginning())
            assert connection.recv(4, socket.MSG_WAITALL) == number(0), "the reader is there"
            if busy:  # it is asked something, and the answer finds nobody
                connection.sendall(number(NO_SUCH_CALL))
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
