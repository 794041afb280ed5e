"""Transactions in a partition: whatever happens, readers see what was decided and nothing else."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partition.transaction_story import STEPS, Step, Story
from tests.storage.helpers import NOW

from millstream.records.control import Marker
from millstream.sim.disk import SimDisk


@settings(deadline=None, max_examples=50)
@given(steps=st.lists(STEPS, min_size=20, max_size=60), seed=st.integers(0, 1 << 32))
def test_readers_see_what_was_decided(steps: list[Step], seed: int) -> None:
    Story(SimDisk(Random(seed))).run(steps)


@settings(deadline=None, max_examples=50)
@given(
    steps=st.lists(STEPS, min_size=15, max_size=40),
    cut_after=st.integers(10, 90),
    seed=st.integers(0, 1 << 32),
    end=st.sampled_from(["crash", "kill"]),
)
def test_also_when_the_power_goes(steps: list[Step], cut_after: int, seed: int, end: str) -> None:
    Story(SimDisk(Random(seed))).run(steps, cut_after, end)


@pytest.mark.parametrize("room", range(0, 140, 3))
def test_a_marker_that_does_not_fit_on_the_disk_was_never_there(room: int) -> None:
    """Whether it is the index that has no room for it, or the log: both or neither are written."""
    disk = SimDisk(Random(1))
    story = Story(disk)
    for id in (0, 1):
        story.run([("write", (id, True, 1, 10))], end="nothing")
    story.run([("end", (1, Marker.ABORT, False)), ("sync", None)], end="nothing")
    end, before = story.it.log.end_offset, story.it.aborted(0, 100)
    disk.capacity = disk.total_bytes() - disk.free_bytes() + room
    try:
        story.it.append_marker(Marker.ABORT, 0, 0, 0, NOW)
    except OSError:
        assert (story.it.log.end_offset, story.it.last_stable_offset) == (end, 0)
        assert story.it.aborted(0, 100) == before
        disk.capacity = None
        story.check()
        story.run([("end", (0, Marker.ABORT, False)), ("sync", None)], end="crash")
    else:
        assert room >= 34 + 78, "of the index's entry and the log's batch"
        assert len(story.it.aborted(0, 100)) == len(before) + 1
