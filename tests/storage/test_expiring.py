"""Records that expire, in topics from which whole segments are deleted."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.helpers import NOW, contents, open_log, open_store, sim_disk, sync

from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker, build_marker
from millstream.records.expiry import TTL_HEADER, is_expired
from millstream.records.read import read
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.expiring import drop_expired, next_look
from millstream.storage.log import Log
from millstream.storage.segment import LOG

CONFIG = LogConfig(segment_bytes=1024, file_delete_delay_ms=0)


def write(log: Log, *ttls: bytes | None) -> None:
    records = [NewRecord(b"k", b"v" * 30, () if ttl is None else ((TTL_HEADER, ttl),), NOW) for ttl in ttls]
    batch = Batch(memoryview(build(records, now_ms=NOW)))
    batch.stamp(log.end_offset, 0)
    log.append(batch, NOW)


def upkeep(disk: SimDisk, log: Log, now_ms: int, limit: int | None = None) -> int:
    """What the chore does; how often it had to look into a segment."""
    looks = 0
    while True:
        look = next_look(disk, log)
        if look is not None:
            look.run()
            look.done()
            looks += 1
        if not drop_expired(log, log.end_offset if limit is None else limit, now_ms):
            return looks


TTLS = st.sampled_from([b"0", b"10", b"100", b"1000", None, b"soon"])
BATCHES = st.lists(
    st.lists(st.sampled_from([b"0", b"10", b"100"]) | TTLS, min_size=1, max_size=3), max_size=8
)


@settings(max_examples=60)
@given(st.lists(BATCHES, min_size=1, max_size=5), st.sampled_from([0, 9, 10, 100, 5000]), st.booleans())
def test_a_segment_goes_when_all_in_it_and_before_it_has_expired(
    segments: list[list[list[bytes | None]]], after_ms: int, restarts: bool
) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    for batches in segments:
        for ttls in batches:
            write(log, *ttls)
        log.roll_if_due(NOW + CONFIG.segment_ms)
    sync(log)
    if restarts:
        store.close()
        disk.kill()
        log = open_log(open_store(disk), CONFIG)
    before = [each for data in contents(log) for each in read(Batch(data), max_bytes=1 << 20)]
    upkeep(disk, log, NOW + after_ms)

    after = [each for data in contents(log) for each in read(Batch(data), max_bytes=1 << 20)]
    gone = before[: len(before) - len(after)]
    assert after == before[len(gone) :]
    assert all(is_expired(each, NOW + after_ms) for each in gone)
    oldest = log.segments[0] if log.segments else None
    if oldest is not None and len(log.segments) > 1 and oldest.size_bytes:
        kept = [each for each in after if each.offset < oldest.next_offset]
        assert not all(is_expired(each, NOW + after_ms) for each in kept), "it could have gone"


def test_looks_once_and_no_further_than_it_must() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for _ in range(3):
        write(log, None)
        write(log, b"1")
        log.roll_if_due(NOW + CONFIG.segment_ms)
    sync(log)

    assert upkeep(disk, log, NOW + 1000) == 1
    assert upkeep(disk, log, NOW + 1000) == 0


def test_nothing_goes_that_is_not_committed_or_not_to_be_deleted() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    write(log, b"1")
    log.roll_if_due(NOW + CONFIG.segment_ms)
    sync(log)
    upkeep(disk, log, NOW + 10, limit=0)
    assert log.start_offset == 0
    log.config = LogConfig(cleanup_policy=("compact",))
    upkeep(disk, log, NOW + 10)
    assert log.start_offset == 0
    log.config = CONFIG
    upkeep(disk, log, NOW + 10)
    assert log.start_offset == 1


def test_markers_neither_expire_nor_keep_others_from_it() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for ttl in (b"1", None):
        if ttl is not None:
            write(log, ttl)
        data = build_marker(Marker.COMMIT, producer_id=1, producer_epoch=0, coordinator_epoch=0, now_ms=NOW)
        marker = Batch(memoryview(data))
        marker.stamp(log.end_offset, 0)
        log.append(marker, NOW)
        log.roll_if_due(NOW + CONFIG.segment_ms)
    sync(log)
    upkeep(disk, log, NOW + 10)

    assert log.start_offset == 2


def test_what_is_damaged_is_not_thrown_away() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    write(log, b"1")
    log.roll_if_due(NOW + CONFIG.segment_ms)
    sync(log)
    disk.flip(log.segments[0].path(LOG), 80, 1)
    upkeep(disk, log, NOW + 10)

    assert log.start_offset == 0
