"""Python's frameworks: each reads numbers in a group and answers with their doubles, as its quick start does.

Every program is run twice. The second run must go on where the first one committed.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from tests.compat.cache import alone, kept
from tests.compat.node import Node
from tests.compat.python.client import Reading, Record, Writing
from tests.compat.python.confluent import Confluent
from tests.compat.scenarios import QUICK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first time, packages are fetched

HERE: Final = Path(__file__).parent
REQUIREMENTS: Final = HERE / "requirements.txt"
SECONDS: Final = 120
RUNS: Final = (10, 5)
DOUBLES: Final = [number * 2 for number in range(sum(RUNS))]


def version(package: str) -> str:
    lines = REQUIREMENTS.read_text().splitlines()
    (found,) = (line.partition("==")[2] for line in lines if line.startswith(f"{package}=="))
    return found


def environment() -> Path:
    """The Python in which all of them are installed, made anew when requirements.txt changes."""
    with alone(kept("frameworks")) as place:
        stamp = place / REQUIREMENTS.name
        python = place / "venv" / "bin" / "python"
        if not stamp.exists() or stamp.read_text() != REQUIREMENTS.read_text() or not python.exists():
            shutil.rmtree(place / "venv", ignore_errors=True)
            _do(sys.executable, "-m", "venv", str(place / "venv"))
            install = ("-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "--no-input")
            _do(str(python), *install, "-r", str(REQUIREMENTS))
            stamp.write_text(REQUIREMENTS.read_text())
        return python


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr


class Story:
    """One framework's program and its topics."""

    def __init__(self, program: str, node: Node, scratch: Path) -> None:
        self.topic = program
        self.client = Confluent(node.bootstrap)
        self._bootstrap = node.bootstrap
        self._scratch = scratch / program
        self._scratch.mkdir()
        for topic in (self.topic, f"{self.topic}-doubled"):
            self.client.admin.create(topic, 1, {})

    def tell(self, python: Path, fed: bool, group: str) -> list[Record]:
        """Run it, twice; its answers to the numbers that it was fed with."""
        done = 0
        for count in RUNS:
            numbers = range(done, done + count)
            if fed:
                records = [Record(b"%d" % number, b"key") for number in numbers]
                self.client.producer(Writing()).send(self.topic, records)
            self._run(python, count)
            done += count
            committed = self.client.admin.group_offset(group, self.topic, 0)
            assert committed == done, f"{committed} of {done} are committed"
        return self._answers(done) if fed else []

    def _run(self, python: Path, count: int) -> None:
        program = HERE / "programs" / f"with_{self.topic}.py"
        command = [str(python), str(program), self._bootstrap, self.topic, str(count), str(self._scratch)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def _answers(self, count: int) -> list[Record]:
        """All answers that are committed, once the one to the last of so many numbers is among them."""
        reader = self.client.consumer(Reading(f"{self.topic}-doubled", committed=True))
        got: list[Record] = []
        for _ in range(300):
            got += reader.poll()
            if 2 * (count - 1) in doubles(got):
                break
        reader.close()
        return got


Stories = Callable[[str], list[Record]]


def doubles(answers: list[Record]) -> list[int]:
    return [int(record.value or b"-1") for record in answers]


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    """All are told side by side: mostly they wait."""
    scratch = tmp_path_factory.mktemp("frameworks")
    python = environment()
    node = Node(scratch / "data", QUICK)
    with ThreadPoolExecutor(4) as pool:
        told: dict[str, Future[list[Record]]] = {}
        for program in ("faststream", "faust", "quix", "celery"):
            story = Story(program, node, scratch)
            celery = program == "celery"
            group = f"{program}-consumer-group" if celery else program
            told[program] = pool.submit(story.tell, python, not celery, group)
        yield lambda program: told[program].result()
    node.close()


@pytest.mark.row("FastStream", "frameworks", version("faststream"))
def test_faststream(stories: Stories) -> None:
    """a subscriber of a group answers to another topic, acknowledges each record, and goes on there"""
    assert list(dict.fromkeys(doubles(stories("faststream")))) == DOUBLES


@pytest.mark.row("Faust", "frameworks", version("faust-streaming"))
def test_faust(stories: Stories) -> None:
    """an agent answers to another topic and keeps a table, which it finds again in its changelog"""
    answers = stories("faust")
    assert [record.key for record in answers] == [b"%d" % (n + 1) for n in range(len(answers))]
    # While it starts, Faust may leave out one record of a batch, and take another twice or not: of a batch of
    # five, which is sent as it lies on the disk, it was seen to take 10, 11, 12, 14 and 14, and 11 to 14.
    assert set(doubles(answers)) <= set(DOUBLES)
    assert len(set(doubles(answers))) >= len(DOUBLES) - 1


@pytest.mark.row("Quix Streams", "frameworks", version("quixstreams"))
def test_quix_streams(stories: Stories) -> None:
    """a dataframe with state answers to another topic, exactly once, and goes on there"""
    assert doubles(stories("quix")) == DOUBLES


@pytest.mark.row("Celery", "frameworks", version("celery"))
def test_celery(stories: Stories) -> None:
    """tasks reach a worker by kombu's confluentkafka transport, once each, and are acknowledged"""
    stories("celery")
