"""What the pytest plugin costs a suite: the broker's start, and a fresh topic for each test.

Runs the same tests with and without a topic each, in processes of their own, a
few times in turn. On a machine that is busy with other things look at the
processor's time: what was waited for others is not in it.

    python -m bench.plugin --tests 200 --rounds 5
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

MOST_START_MS: Final = 300.0
MOST_A_TEST_MS: Final = 2.0

_WATCH: Final = """
import json
import time

import pytest

spent = {}


def watched(name):
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        return (yield)
    finally:
        spent[name] = [time.perf_counter() - wall, time.process_time() - cpu]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    return (yield from watched(fixturedef.argname))


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    return (yield from watched("all"))


def pytest_sessionfinish(session):
    with open("spent.json", "w") as file:
        json.dump(spent, file)
"""
_WITH: Final = (
    "import pytest\n\n@pytest.mark.parametrize('n', range({tests}))\ndef test(n, kafka_topic): ...\n"
)
_WITHOUT: Final = "import pytest\n\n@pytest.mark.parametrize('n', range({tests}))\ndef test(n, tmp): ...\n"
_TMP: Final = "\n\n@pytest.fixture\ndef tmp():\n    yield 'a fixture that does nothing'\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    figures: dict[str, list[float]] = {}
    _run(_WITH, args.tests)  # so that everything is compiled
    for _ in range(args.rounds):
        plain = _run(_WITHOUT, args.tests)
        used = _run(_WITH, args.tests)
        for number, kind in enumerate(("wall", "processor")):
            start = used["kafka_broker"][number]
            added = (used["all"][number] - start - plain["all"][number]) / args.tests
            figures.setdefault(f"start {kind}", []).append(start * 1000)
            figures.setdefault(f"test {kind}", []).append(added * 1000)
    for what, most in (("start", MOST_START_MS), ("test", MOST_A_TEST_MS)):
        meaning = "broker started in " if what == "start" else "added to each test"
        print(f"{meaning}  {_shown(figures[f'{what} wall'])} ms, at most {most:.0f}")
        print(f"  processor's time  {_shown(figures[f'{what} processor'])} ms")
    good = statistics.median(figures["start wall"]) < MOST_START_MS
    return 0 if good and statistics.median(figures["test wall"]) < MOST_A_TEST_MS else 1


def _run(tests: str, count: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        (here / "conftest.py").write_text(_WATCH + _TMP)
        (here / "test_it.py").write_text(tests.format(tests=count))
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--rootdir",
                directory,
                directory,
            ],
            check=True,
            cwd=here,
            stdout=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        )
        found: dict[str, list[float]] = json.loads((here / "spent.json").read_text())
        return found


def _shown(figures: list[float]) -> str:
    ordered = sorted(figures)
    return f"{statistics.median(ordered):8.2f}  ({ordered[0]:.2f} to {ordered[-1]:.2f})"


if __name__ == "__main__":
    sys.exit(main())
