"""A whole node by seed: killed, unplugged, cut off and filled up, it keeps what it promised.

MILLSTREAM_SEEDS=500 runs so many seeds; MILLSTREAM_SEED=7 runs that one alone.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.sim.mutants import LyingDisk

from millstream.broker.topics import Topics
from millstream.broker.waiting import Hosted
from millstream.cluster.image import Topic
from millstream.env.disk import Disk
from millstream.groups.group import Group
from millstream.groups.modern_state import Draft
from millstream.partition.partition import Partition
from millstream.records.batch import Batch
from millstream.records.read import read
from millstream.sim.plan import KINDS, TOPIC, draw
from millstream.sim.world import Report, World
from millstream.storage.cleaning import Cleaner
from millstream.storage.log import Log
from millstream.storage.producers import Producers

_CI_SEEDS = 20
_LONG_SEEDS = 500
_FOUND = (
    539,  # a batch sent again after compaction and a crash
    845,  # a log whose name was synced in vain by a life that died of it
    988,  # a zombie that ended its successor's work
)
_ENDS = ("kill", "power", "trigger", "restart")


def seeds() -> list[Any]:
    """A few for every run of the tests, the rest for the long one; or as the environment asks."""
    if "MILLSTREAM_SEED" in os.environ:
        return [int(os.environ["MILLSTREAM_SEED"])]
    if "MILLSTREAM_SEEDS" in os.environ:
        return list(range(1, 1 + int(os.environ["MILLSTREAM_SEEDS"])))
    return [
        pytest.param(seed, marks=[pytest.mark.long] * (seed > _CI_SEEDS and seed not in _FOUND))
        for seed in (*range(1, 1 + _LONG_SEEDS), *_FOUND)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds())
def test_a_node_keeps_its_promises(seed: int) -> None:
    report = World(draw(seed)).run()

    assert not report.anomalies, f"\n{report}"


@pytest.mark.slow
def test_same_seed_same_run_in_any_process_under_any_hash_seed() -> None:
    here = World(draw(3)).run()
    again = World(draw(3)).run()
    elsewhere = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert here.steps > 10_000
    assert (here.digest, here.steps) == (again.digest, again.steps)
    assert elsewhere.stdout.split() == [here.digest, str(here.steps)], elsewhere.stderr


_ELSEWHERE = """
from millstream.sim.plan import draw
from millstream.sim.world import World
report = World(draw(3)).run()
print(report.digest, report.steps)
"""


@pytest.mark.slow
def test_a_run_without_faults_has_none() -> None:
    report = World(draw(1, kinds=())).run()

    assert not report.anomalies, f"\n{report}"
    assert report.struck == {}
    assert report.lives == 1
    assert report.acked > 100
    assert report.polled >= report.acked


@pytest.mark.slow
def test_every_kind_of_fault_can_strike_and_a_report_says_what_happened() -> None:
    report = World(draw(6, kinds=KINDS)).run()

    assert len(report.struck) > len(KINDS) // 2
    assert report.lives > 1
    assert f"seed 6: {', '.join(KINDS)}" in str(report)
    assert "strike" in str(report)


# Whoever breaks the node on purpose must be found out.


def caught(
    kinds: tuple[str, ...],
    mutate: Callable[[Disk], Disk] | None = None,
    tries: int = 12,
    settings: Mapping[str, object] | None = None,
) -> set[str]:
    """The first verdicts that any of a few seeds comes to."""
    for seed in range(1, tries + 1):
        plan = draw(seed, kinds=kinds)
        plan = replace(plan, settings={**plan.settings, **(settings or {})})
        report: Report = World(plan, mutate_disk=mutate).run()
        if report.anomalies:
            return {anomaly.kind for anomaly in report.anomalies}
    return set()


@pytest.mark.slow
def test_a_disk_that_does_not_sync_is_caught() -> None:
    # Unavailable: what is missing below a point that was said to be synced takes the partition offline.
    found = caught(("power",), partial(LyingDisk, files=TOPIC))
    assert found & {"unseen", "lost-write", "vanished", "unavailable"}


@pytest.mark.slow
def test_a_disk_that_does_not_sync_what_groups_say_is_caught() -> None:
    mutate = partial(LyingDisk, files="__consumer_offsets")

    # Unavailable: what is missing below a point that was said to be synced takes the partition offline.
    found = caught(("power", "trigger"), mutate)
    assert found & {"lost-commit", "two-owners", "generation-back", "unavailable"}


@pytest.mark.slow
def test_a_disk_that_does_not_sync_names_is_caught() -> None:
    assert caught(_ENDS, partial(LyingDisk, names=True))


@pytest.mark.slow
def test_a_broker_that_writes_again_what_is_sent_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: Producers, batch: Batch) -> None:
        return None

    monkeypatch.setattr(Producers, "check", check)

    assert "duplicate" in caught(("kill", "reset", "slow-disk"))


@pytest.mark.slow
def test_a_broker_that_acknowledges_before_the_sync_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def acked(self: Hosted, end_offset: int) -> None:
        return None

    monkeypatch.setattr(Hosted, "acked", acked)

    assert caught(("power", "trigger", "slow-disk")) & {"unseen", "lost-write", "inconsistent-offsets"}


@pytest.mark.slow
def test_a_broker_that_shows_what_is_not_synced_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "safe_offset", property(lambda self: self.end_offset))

    def append(self: Partition, records: memoryview, now_ms: int) -> object:
        appended = original(self, records, now_ms)
        self.commit()
        return appended

    original = Partition.append
    monkeypatch.setattr(Partition, "append", append)

    assert caught(("power", "trigger", "slow-disk")) & {"vanished", "out-of-range", "inconsistent-offsets"}


@pytest.mark.slow
def test_a_broker_that_forgets_who_wrote_when_it_restarts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def note(self: Producers, *args: object) -> None:
        """Learn nothing from what is already in the log."""

    monkeypatch.setattr("millstream.storage.recovery.note", note)

    assert caught(("kill", "trigger"))


@pytest.mark.slow
def test_a_group_that_does_not_wait_for_the_last_owner_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draft, "is_free_for", lambda self, id, partition: True)

    assert "two-owners" in caught(("churn",))


@pytest.mark.slow
def test_a_group_that_takes_any_commit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "_check_modern_commit", lambda self, modern, commit: None)

    # Sessions shorter than a client's patience: it wakes up, and goes on as if nothing had happened.
    short = {"group.consumer.session.timeout.ms": 1000}
    assert "zombie-commit" in caught(("pause",), tries=20, settings=short)


@pytest.mark.slow
def test_compaction_that_forgets_a_key_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Cleaner.left_of

    def left_of(self: Cleaner, batch: Batch, *, keep_empty: bool) -> bytes | memoryview | None:
        forgets = any((each.key or b"").endswith(b"3") for each in read(batch, max_bytes=1 << 20))
        return None if forgets else known(self, batch, keep_empty=keep_empty)

    monkeypatch.setattr(Cleaner, "left_of", left_of)

    assert "stale-key" in caught((), tries=3)


@pytest.mark.slow
def test_a_config_that_is_not_kept_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    async def replace(self: Topics, old: Topic, new: Topic) -> None:
        """Remember it, as long as we live."""

    monkeypatch.setattr(Topics, "_replace", replace)

    assert {"config-lost", "topic-lost"} & caught(("kill",))
