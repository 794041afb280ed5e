"""Ground: laid for segments that grow, never more than is of use, and given back when it is not used."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.env.roomy import held_bytes, roomy
from tests.storage.helpers import NOW, append, contents, open_log, open_store, sync

from millstream.env.disk import File, RealDisk
from millstream.storage.config import LogConfig
from millstream.storage.ground import _MOST_BYTES, FIRST_BYTES, Ground
from millstream.storage.log import Log
from millstream.storage.segment import LOG, file_name

__all__ = ["roomy"]

MB = 1 << 20
LARGE = LogConfig(segment_bytes=1 << 30)


class Recorded(File):
    """A file that tells what was set aside for it; nothing else is asked of it."""

    def __init__(self) -> None:
        self.aside = 0
        self.times = 0
        self.may_give_back = True

    def set_aside(self, size: int) -> bool:
        self.aside = size
        self.times += 1
        return True

    def give_back_blocks(self) -> bool:
        if self.may_give_back:
            self.aside = 0
        return self.may_give_back

    append = read = truncate = size = sync = forget = close = None  # type: ignore[assignment]


def always(size: int) -> bool:
    return True


@given(steps=st.lists(st.integers(1, 2 * MB), max_size=60), most=st.integers(FIRST_BYTES, 64 * MB))
def test_is_never_more_than_a_segment_holds_nor_than_it_may(steps: list[int], most: int) -> None:
    file = Recorded()
    ground = Ground(file)
    size = 0
    for step in steps:
        size = min(size + step, most)
        if size > ground.due_bytes:
            ground.lay(size, most, always)
        assert file.aside <= min(size + min(size, _MOST_BYTES), most)
        assert size <= FIRST_BYTES or size == most or ground.due_bytes >= size
    assert file.times <= 2 + size // MB


def test_there_is_more_before_it_is_used_up() -> None:
    file = Recorded()
    ground = Ground(file)
    for size in range(0, 50 * MB, 64 << 10):
        if size > ground.due_bytes:
            ground.lay(size, 1 << 30, always)
        assert size <= FIRST_BYTES + (64 << 10) or file.aside > size


def test_is_not_laid_where_the_disk_has_none_to_spare() -> None:
    asked: list[int] = []

    def refuse(size: int) -> bool:
        asked.append(size)
        return False

    file = Recorded()
    assert not Ground(file).lay(2 * MB, 1 << 30, refuse)
    assert (asked, file.times) == ([2 * MB], 0)


def test_what_is_used_within_a_minute_stays_and_the_rest_goes() -> None:
    file = Recorded()
    ground = Ground(file)
    assert ground.lay(4 * MB, 1 << 30, always)
    assert ground.tick(4 * MB)
    assert ground.tick(4 * MB + MB // 10)
    assert file.aside
    assert not ground.tick(4 * MB + MB // 10 + 1000)
    assert not file.aside
    assert ground.due_bytes > 4 * MB + FIRST_BYTES  # not again at once


def test_what_cannot_be_given_back_just_now_is_given_back_later() -> None:
    file = Recorded()
    ground = Ground(file)
    ground.lay(4 * MB, 1 << 30, always)
    ground.tick(4 * MB)
    file.may_give_back = False
    assert ground.tick(4 * MB)
    file.may_give_back = True
    assert not ground.tick(4 * MB)
    assert not file.aside


def test_a_file_that_has_outgrown_it_has_none() -> None:
    ground = Ground(Recorded())
    ground.lay(4 * MB, 1 << 30, always)
    ground.lay(7 * MB, 1 << 30, lambda size: False)
    assert not ground.tick(9 * MB)


# Of a real log


def spare_bytes(root: Path, log: Log, segment: int = -1) -> int:
    """What the disk has given for a segment, beyond what it holds."""
    path = root / log.name / file_name(log.segments[segment].base_offset, LOG)
    return held_bytes(path) - log.segments[segment].size_bytes


def grown(log: Log, much: int = 3 * MB) -> None:
    for _ in range(much // 100_000):
        append(log, size=100_000)
        if log.needs_ground:
            assert log.lay_ground(always)


def test_a_log_that_grows_has_some(roomy: Path) -> None:
    log = open_log(open_store(RealDisk(str(roomy))), LARGE)
    grown(log, MB)
    assert spare_bytes(roomy, log) < MB // 4
    grown(log)
    assert spare_bytes(roomy, log) > MB // 4
    assert log.tick_room()
    assert not log.tick_room()
    assert spare_bytes(roomy, log) < MB // 4


def test_goes_with_the_segment_it_was_laid_for(roomy: Path) -> None:
    log = open_log(open_store(RealDisk(str(roomy))), LogConfig(segment_bytes=1 << 30, segment_ms=60_000))
    grown(log)
    assert log.roll_if_due(NOW + 100_000)
    assert spare_bytes(roomy, log, 0) < MB // 4
    assert not log.needs_ground
    grown(log)  # and the next one gets its own
    assert spare_bytes(roomy, log) > MB // 4


def test_goes_with_a_clean_stop_and_at_the_start_after_a_kill(roomy: Path) -> None:
    for is_clean in (True, False):
        root = roomy / str(is_clean)
        store = open_store(RealDisk(str(root)))
        log = open_log(store, LARGE)
        grown(log)
        kept = contents(log, log.end_offset)
        assert spare_bytes(root, log) > MB // 4
        store.close() if is_clean else store.release()
        store = open_store(RealDisk(str(root)))
        log = open_log(store, LARGE)
        assert contents(log, log.end_offset) == kept
        assert spare_bytes(root, log) < MB // 4
        assert store.recoveries == {}
        store.release()


def test_goes_with_what_is_cut_off(roomy: Path) -> None:
    store = open_store(RealDisk(str(roomy)))
    log = open_log(store, LARGE)
    grown(log)
    store.truncate(log, 5)
    assert spare_bytes(roomy, log) < MB // 4
    assert not log.needs_ground
    grown(log, 2 * MB)
    assert spare_bytes(roomy, log) > MB // 4


def test_stays_with_a_log_whose_closed_segments_are_synced(roomy: Path) -> None:
    """Headroom, of which there is none, is looked after by the same chore."""
    config = LogConfig(segment_bytes=1 << 30, segment_ms=60_000, flush_policy="os")
    log = open_log(open_store(RealDisk(str(roomy))), config)
    grown(log)
    assert log.roll_if_due(NOW + 100_000)
    grown(log)
    sync(log)
    log.lay_headroom(always)
    for _ in range(4):
        assert log.tick_room()
        grown(log, 200_000)
    assert spare_bytes(roomy, log) > MB // 4
