"""What is made of what a program says, and of what it leaves out."""

import sys
from pathlib import Path

import pytest
from tests.compat import scenarios
from tests.compat.scenarios import SCENARIOS, plain, run

PROGRAM = """
import json, sys
print("some chatter")
say = lambda **told: print(json.dumps(told), flush=True)
say(scenario="keys", result="passed", detail="", version="7")
say(ask="restart")
assert sys.stdin.readline() == "back\\n"
say(scenario="nulls", result="not applicable", detail="knows no null", version="7")
say(scenario="codec-gzip", result="passed", detail="", version="7")
raise SystemExit("out of breath")
"""


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(scenarios, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_what_a_program_does_not_say_has_failed(tmp_path: Path, results: Path) -> None:
    report = run("one/two", "Python", [sys.executable, "-c", PROGRAM], tmp_path)
    assert report.version == "7"
    assert report.results["keys"] == ("passed", "")
    assert report.results["nulls"] == ("not applicable", "knows no null")
    assert report.results["codec-gzip"] == ("failed", "not compressed with gzip on disk")
    untold = set(SCENARIOS) - {"keys", "nulls", "codec-gzip"}
    assert {report.results[name][0] for name in untold} == {"failed"}
    assert report.results["pause"][1].endswith("out of breath")
    assert (results / "one-two.json").exists()


def test_names_are_fit_for_topics() -> None:
    assert plain("@platformatic/kafka") == "platformatic-kafka"
    assert plain("kafka-clients 3.9") == "kafka-clients-3.9"
