"""The system's table of descriptors, as large as it will be needed before there are threads."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.env.descriptors import have_descriptors

STATUS = Path("/proc/self/status")
STORY = """
import resource
from pathlib import Path

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {limit} or hard))

from millstream.env.descriptors import have_descriptors

before = sorted(each.name for each in Path("/proc/self/fd").iterdir())
limit = have_descriptors()
after = sorted(each.name for each in Path("/proc/self/fd").iterdir())
assert before == after, "nothing stays open"
(size,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "FDSize" in line]
print(limit, size, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def told(*, soft: int, limit: int) -> list[int]:
    words = [sys.executable, "-c", STORY.format(soft=soft, limit=limit)]
    return [
        int(each) for each in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    ]


@pytest.mark.skipif(not STATUS.exists(), reason="no /proc")
@pytest.mark.parametrize("limit", [64, 1000, 5000])
def test_there_is_room_for_as_many_as_the_system_allows(limit: int) -> None:
    allowed, size, soft = told(soft=32, limit=limit)

    assert (allowed, soft) == (limit, limit)
    assert size >= limit


@pytest.mark.skipif(not STATUS.exists(), reason="no /proc")
def test_where_it_allows_very_many_no_room_is_taken_for_them() -> None:
    allowed, size, _ = told(soft=32, limit=0)

    assert size <= max(allowed, 1024)
    assert size <= 16 << 10


def test_a_node_starts_without_the_room_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "devnull", "/nowhere/null")  # as in a bare root
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert have_descriptors() > 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
