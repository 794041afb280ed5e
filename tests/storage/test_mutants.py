"""Four mistakes that must not go unnoticed: if a test cannot tell a careless disk, it tests nothing."""

from collections.abc import Callable
from random import Random

import pytest
from tests.storage.careless import Careless, NoDirectorySync, NoSync, RenameBeforeSync, RetrySync
from tests.storage.story import Step, Story

from millstream.errors import Refused
from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage import checkpoint

SEEDS = range(40)


def steps(random: Random) -> list[Step]:
    """An ordinary life: appends, most of them synced."""
    taken: list[Step] = []
    for _ in range(random.randint(5, 20)):
        taken.append(("append", (random.randint(0, 300), random.randint(-1, 2), 1)))
        if random.random() < 0.7:
            taken.append(("sync", None))
        if random.random() < 0.1:
            taken.append(("checkpoint", None))
    return taken


def loses(seed: int, disk: Callable[[SimDisk], Careless], *, failing_syncs: int = 0) -> bool:
    """Whether a log on such a disk has broken a promise by the end of two lives."""
    random = Random(f"story {seed}")
    sim = SimDisk(random, forgiving=True)
    story = Story(sim, disk(sim))
    try:
        for _ in range(2):
            sim.failing_syncs = failing_syncs
            story.run(steps(random), random.choice([None, random.randint(10, 60)]))
    except (AssertionError, Refused):
        return True  # gone, or there but not as it was
    return False


def tears(seed: int, disk: Callable[[SimDisk], Careless]) -> bool:
    """Whether a checkpoint on such a disk was ever anything but the old or the new one."""
    random = Random(f"checkpoint {seed}")
    sim = SimDisk(random)
    old, new = ["old"], ["new" * 100]
    checkpoint.write(disk(sim), "point", old)
    sim.cut_after = random.randint(0, 5)
    acceptable = [old, new]
    try:
        checkpoint.write(disk(sim), "point", new)
        acceptable = [new]
    except PowerCut:
        pass
    sim.crash()
    return checkpoint.read(sim, "point") not in acceptable


def test_a_careful_disk_breaks_no_promise() -> None:
    assert not [seed for seed in SEEDS if loses(seed, Careless)]
    assert not [seed for seed in SEEDS if tears(seed, Careless)]


@pytest.mark.parametrize("mutant", [NoSync, NoDirectorySync])
def test_a_disk_that_does_not_sync_is_found_out(mutant: type[Careless]) -> None:
    assert [seed for seed in SEEDS if loses(seed, mutant)]


def test_a_disk_that_renames_before_it_syncs_is_found_out() -> None:
    assert [seed for seed in range(200) if tears(seed, RenameBeforeSync)]


def test_a_disk_that_tries_again_after_a_failed_sync_is_found_out() -> None:
    assert [seed for seed in SEEDS if loses(seed, RetrySync, failing_syncs=1)]
