"""Whatever happens, what was safe is there, and nothing else is."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.story import STEPS, Step, Story

from millstream.sim.disk import SimDisk


@settings(max_examples=200, deadline=None, report_multiple_bugs=False)
@given(
    lives=st.lists(
        st.tuples(
            st.lists(STEPS, max_size=25), st.none() | st.integers(0, 80), st.sampled_from(["crash", "kill"])
        ),
        min_size=1,
        max_size=3,
    ),
    seed=st.integers(0, 1 << 32),
)
def test_every_life_begins_where_the_last_one_was_safe(
    lives: list[tuple[list[Step], int | None, str]], seed: int
) -> None:
    story = Story(SimDisk(Random(seed)))
    for steps, cut_after, end in lives:
        story.run(steps, cut_after, end)
    story.run([])


@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("changes", range(24))
def test_what_a_killed_process_was_cutting_off_does_not_come_back(part: float, changes: int) -> None:
    """The next life finds the log cut, builds on that, and then the power goes."""
    for seed in range(3):
        story = Story(SimDisk(Random(seed)))
        story.run([("append", (0, 0, 1)), ("append", (0, 0, 1)), ("roll", None)], None, "kill")
        story.run([("checkpoint", None), ("truncate", part)], changes, "kill")
        story.run([])
