"""Compaction of logs with transactions in them: of each key what was committed last."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partition.compaction_story import HOUR, STEPS, CompactedStory, Step

from millstream.records.control import Marker
from millstream.sim.disk import SimDisk


@settings(deadline=None, max_examples=30)
@given(steps=st.lists(STEPS, min_size=20, max_size=70), seed=st.integers(0, 1 << 32))
def test_readers_learn_of_each_key_what_was_committed_last(steps: list[Step], seed: int) -> None:
    CompactedStory(SimDisk(Random(seed)), Random(seed)).run(steps)


@settings(deadline=None, max_examples=30)
@given(
    steps=st.lists(STEPS, min_size=20, max_size=60),
    cut_after=st.integers(10, 150),
    seed=st.integers(0, 1 << 32),
    end=st.sampled_from(["crash", "kill", "lose"]),
)
def test_also_when_the_power_goes(steps: list[Step], cut_after: int, seed: int, end: str) -> None:
    CompactedStory(SimDisk(Random(seed)), Random(seed)).run(steps, cut_after, end)


def test_a_crash_that_takes_a_producers_first_batch_leaves_the_marker_that_told_of_it() -> None:
    steps: list[Step] = [
        *[("write", (0, False, 1, 0))] * 3,
        ("end", (1, Marker.ABORT, False)),
        *[("write", (0, False, 1, 0))] * 9,
        ("sync", None),
        *[("write", (0, False, 1, 0))] * 5,
        ("write", (1, False, 1, 0)),
        ("compact", 0),
        ("wait", HOUR),
        ("compact", 1 << 20),
    ]
    CompactedStory(SimDisk(Random(0)), Random(0)).run(steps)


@pytest.mark.parametrize(
    "lost",
    [
        [("write", (0, False, 1, 0))],
        [("write", (0, False, 1, 0))] * 6,
        [("end", (0, Marker.ABORT, True))],
    ],
    ids=["one batch", "more than are remembered", "a new epoch"],
)
def test_a_batch_that_is_lost_leaves_those_before_it_to_tell_who_wrote_what(lost: list[Step]) -> None:
    steps: list[Step] = [
        ("write", (0, False, 1, 0)),
        ("write", (0, True, 1, 0)),
        ("end", (0, Marker.ABORT, False)),
        ("roll", None),
        ("sync", None),
        *lost,
        ("compact", 1 << 20),
        ("truncate", 0.0),
    ]
    CompactedStory(SimDisk(Random(0)), Random(0)).run(steps, end="lose")


STORY: list[Step] = [
    ("write", (0, True, 3, 100)),
    ("write", (1, True, 2, 100)),
    ("write", (2, False, 3, 100)),
    ("end", (0, 0, False)),
    ("plain", 100),
    ("write", (0, True, 3, 100)),
    ("roll", None),
    ("write", (1, True, 1, 10)),
    ("end", (1, 0, True)),
    ("end", (0, 1, True)),
    ("write", (2, False, 2, 50)),
    ("roll", None),
    ("plain", 10),
    ("sync", None),
]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["crash", "kill", "lose"])
@pytest.mark.parametrize("checkpointed", [True, False])
def test_cut_off_at_every_change_to_the_disk(end: str, checkpointed: bool) -> None:
    """A pass over aborted and committed transactions, and the next one after the markers' time."""
    rest: list[Step] = [("compact", 1 << 20), ("wait", 3_600_000), ("compact", 1 << 20), ("sync", None)]
    before = STORY + ([("checkpoint", None)] if checkpointed else [])
    cut_after, went_through = 0, False
    while not went_through:
        story = CompactedStory(SimDisk(Random(cut_after)), Random(1))
        story.run(before, end="nothing")
        story.run(rest, cut_after, end="nothing")
        went_through = not story.was_cut
        getattr(story, f"_{end}")(None)
        story.run([("roll", None), ("sync", None), ("wait", 3_600_000), ("compact", 1 << 20)], end=end)
        cut_after += 1
    assert cut_after > 20
