from random import Random

import pytest

from millstream.sim.disk import PowerCut, SimDisk
from millstream.sim.life import Life
from millstream.sim.watched_disk import Act, Seen, WatchedDisk


def test_everything_is_told_before_and_after() -> None:
    seen: list[Seen] = []
    disk = WatchedDisk(SimDisk(Random(1)), Life("a", 1), seen.append)

    file = disk.open("x.log", create=True)
    file.append(b"data")
    file.sync()
    assert file.read(0, 10) == b"data"
    disk.open("x.log", create=True)
    disk.rename("x.log", "y.log")
    disk.sync_dir("")

    assert seen == [
        Seen(act, path, done)
        for act, path in (
            (Act.CREATE, "x.log"),
            (Act.APPEND, "x.log"),
            (Act.SYNC, "x.log"),
            (Act.RENAME, "y.log"),
            (Act.SYNC_DIR, ""),
        )
        for done in (False, True)
    ]


@pytest.mark.parametrize("done", [False, True])
def test_whoever_watches_may_end_the_node_just_before_or_just_after(done: bool) -> None:
    inner = SimDisk(Random(1))
    life = Life("a", 1)

    def watch(seen: Seen) -> None:
        if seen == Seen(Act.APPEND, "x", done):
            life.alive = False

    disk = WatchedDisk(inner, life, watch)
    file = disk.open("x", create=True)
    with pytest.raises(PowerCut):
        file.append(b"data")

    assert inner.size("x") == (4 if done else 0)
    for call in (file.sync, file.size, lambda: disk.list(""), lambda: disk.open("x"), lambda: disk.lock("l")):
        with pytest.raises(PowerCut):
            call()
