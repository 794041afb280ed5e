"""An import that is killed, again and again, brings every record once in the end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.embedded.asking import read
from tests.imports.writing import tinymq

from millstream.embedded import Broker

RECORDS = 20_000


@pytest.mark.slow
@pytest.mark.system
def test_a_killed_import_is_carried_on_with(tmp_path: Path) -> None:
    records = [(None, f"{number:0>500}", "2026-01-02T03:04:05.678901Z") for number in range(RECORDS)]
    tinymq(tmp_path, "t", 0, records)
    with Broker() as broker:
        command = [sys.executable, "-m", "millstream", "import", "tinymq", str(tmp_path)]
        command += ["--brokers", broker.bootstrap_servers]
        ends = []
        for _ in range(3):
            before = _end(broker)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while _end(broker) == before and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            process.kill()
            process.wait()
            ends.append(_end(broker))
        assert ends[0] < RECORDS, "it was killed on the way"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)

        assert _end(broker) == RECORDS, ends
        assert [int(each.value or b"") for each in read(broker, "t", RECORDS)] == list(range(RECORDS))


def _end(broker: Broker) -> int:
    def end() -> int:
        topics = broker.node.broker.topics
        return topics.hosted("t", 0).partition.high_watermark if "t" in topics else 0

    return broker.call(end)
