from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.helpers import NOW, append, contents, make_batch, open_log, open_store, sim_disk, sync

from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.retention import JUMP_MS, STEADY_MS, ClockGuard
from millstream.storage.store import Store

HOUR = 3_600_000


def aged(config: LogConfig) -> tuple[Store, Log]:
    """A log of four segments, an hour apart, the newest of them now."""
    store = open_store(sim_disk())
    log = open_log(store, config)
    for age in (3, 2, 1, 0):
        log.append(make_batch(log.end_offset, [b"v" * 700], times=[NOW - age * HOUR]), NOW)
    sync(log)
    assert len(log.segments) == 4
    return store, log


def test_deletes_closed_segments_whose_newest_record_is_too_old() -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=HOUR * 3 // 2))

    assert log.expire(NOW, log.end_offset) == 2
    assert (log.start_offset, log.end_offset) == (2, 4)
    assert len(contents(log)) == 2


def limit(hours: int, segments: int) -> tuple[int, int]:
    return (hours * HOUR if hours >= 0 else -1), (segments * 800 if segments >= 0 else -1)


LIMITS = st.builds(limit, st.integers(-1, 30), st.integers(-1, 12))


@given(
    ages=st.lists(st.integers(0, 30), min_size=1, max_size=12).map(lambda some: sorted(some, reverse=True)),
    retention=LIMITS,
    most=LIMITS,
    held_from=st.integers(0, 13),
    by_time=st.booleans(),
)
@settings(deadline=None)
def test_what_is_held_goes_by_the_wider_limits_and_the_rest_as_ever(
    ages: list[int], retention: tuple[int, int], most: tuple[int, int], held_from: int, by_time: bool
) -> None:
    def start(limits: tuple[int, int], held: int | None) -> int:
        log = open_log(
            open_store(sim_disk()),
            LogConfig(
                segment_bytes=1024,
                retention_ms=limits[0],
                retention_bytes=limits[1],
                retention_hold_max_ms=most[0],
                retention_hold_max_bytes=most[1],
            ),
        )
        for age in ages:  # one record a segment
            log.append(make_batch(log.end_offset, [b"v" * 700], times=[NOW - age * HOUR]), NOW)
        sync(log)
        log.expire(NOW, log.end_offset, by_time=by_time, held_from=held)
        assert (log.held_bytes > 0) == (held is not None and log.start_offset < start(limits, None))
        return log.start_offset

    wider = tuple(-1 if -1 in both else max(both) for both in zip(retention, most, strict=True))
    plain = start(retention, None)
    assert start(retention, held_from) == min(plain, max(held_from, start((wider[0], wider[1]), None)))


def test_what_a_group_has_not_read_is_kept_past_its_time_within_bounds() -> None:
    config = LogConfig(segment_bytes=1024, retention_ms=HOUR // 2, retention_hold_max_ms=HOUR * 5 // 2)
    _, log = aged(config)

    assert log.expire(NOW, log.end_offset, held_from=0) == 1  # three hours are too much even for a hold
    assert log.held_bytes > 1400
    assert log.expire(NOW, log.end_offset, held_from=2) == 1
    assert log.start_offset == 2
    assert log.expire(NOW, log.end_offset, held_from=4) == 1
    assert (log.start_offset, log.held_bytes) == (3, 0)


def test_one_new_record_keeps_a_segment_and_all_after_it() -> None:
    store = open_store(sim_disk())
    log = open_log(store, LogConfig(segment_bytes=1024, retention_ms=HOUR))
    for times in ([NOW - 9 * HOUR], [NOW - 9 * HOUR, NOW - 1], [NOW - 9 * HOUR], [NOW]):
        log.append(make_batch(log.end_offset, [b"v" * 800] * len(times), times=times), NOW)
    sync(log)

    assert log.expire(NOW, log.end_offset) == 1


def test_time_may_empty_a_log_which_still_knows_its_end() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, LogConfig(segment_bytes=1024, retention_ms=HOUR))
    append(log, 5)
    sync(log)
    log.expire(NOW + 2 * HOUR, log.end_offset)
    assert (log.start_offset, log.end_offset) == (5, 5)
    assert contents(log) == []
    sync(log)
    assert log.size_bytes == 0
    assert len(log.segments) == 1
    disk.crash()

    log = open_log(open_store(disk), LogConfig(segment_bytes=1024))
    assert (log.start_offset, log.end_offset) == (5, 5)
    append(log)
    assert len(contents(log)) == 1


def test_size_takes_the_oldest_and_never_the_newest() -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=-1, retention_bytes=0))

    assert log.expire(NOW, log.end_offset) == 3
    assert len(log.segments) == 1


@given(st.integers(0, 5000))
def test_size_leaves_at_least_what_was_asked_for(limit: int) -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=-1, retention_bytes=limit))
    before, segment = log.size_bytes, log.segments[0].size_bytes
    log.expire(NOW, log.end_offset)

    assert log.size_bytes >= min(limit, before)
    assert log.size_bytes < max(limit, segment) + segment or log.size_bytes == before


def test_nothing_above_the_limit_is_deleted() -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=1))

    assert log.expire(NOW + HOUR, 2) == 2
    assert log.start_offset == 2


def test_what_is_only_compacted_does_not_expire() -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=1, cleanup_policy=("compact",)))
    assert log.expire(NOW + HOUR, log.end_offset) == 0
    log.config = LogConfig(segment_bytes=1024, retention_ms=1, cleanup_policy=("compact", "delete"))
    assert log.expire(NOW + HOUR, log.end_offset) == 4


def test_a_clock_not_to_be_trusted_stops_time_but_not_size() -> None:
    _, log = aged(LogConfig(segment_bytes=1024, retention_ms=1, retention_bytes=1500))

    assert log.expire(NOW + HOUR, log.end_offset, by_time=False) == 2


def test_records_without_timestamps_age_with_their_file() -> None:
    store = open_store(sim_disk())
    log = open_log(store, LogConfig(segment_bytes=1024, retention_ms=HOUR))
    log.append(make_batch(0, [b"v" * 900], times=[-1]), NOW)
    log.append(make_batch(1, [b"v" * 900], times=[-1]), NOW)
    sync(log)

    assert log.expire(NOW + HOUR, 2) == 0
    assert log.expire(NOW + HOUR + 1, 2) == 2


def test_a_deleted_file_stays_for_its_readers_a_while() -> None:
    store, log = aged(LogConfig(segment_bytes=1024, retention_ms=HOUR, file_delete_delay_ms=60_000))
    piece = log.read(0, 1, 4)
    assert piece is not None
    log.expire(NOW, log.end_offset)
    for now_ms in (NOW, NOW + 59_999):
        sweep = store.sweep(now_ms)
        if sweep is not None:
            sweep.run()
        assert len(piece.read()) == piece.size
        assert store._disk.exists("orders-0/00000000000000000000.log.deleted")
    sweep = store.sweep(NOW + 60_000)
    assert sweep is not None
    sweep.run()
    assert not store._disk.exists("orders-0/00000000000000000000.log.deleted")


def test_a_start_deleted_by_offset_survives_once_it_is_noted() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = append(log, 30)
    sync(log)
    log.delete_before(17)
    store.checkpoint()
    disk.crash()

    log = open_log(open_store(disk))
    assert (log.start_offset, log.end_offset) == (17, 30)
    assert contents(log) == [bytes(batch.data) for batch in batches[17:]]
    assert len(log.segments) < 5


def test_the_guard_waits_after_a_start_and_after_every_jump() -> None:
    guard = ClockGuard()
    now = offset = 0

    def tick(minutes: float, jump_ms: int = 0) -> bool:
        nonlocal now, offset
        now += int(minutes * 60_000)
        offset += jump_ms
        return guard.trusts(NOW + offset + now, now)

    assert not tick(0)
    assert not tick(STEADY_MS / 60_000 - 1)
    assert tick(1)
    assert tick(1, JUMP_MS)  # as far as clocks may drift
    assert not tick(1, 365 * 24 * HOUR)
    assert not tick(5)
    assert not tick(4.9, -365 * 24 * HOUR)
    assert not tick(9.9)
    assert tick(0.1)
    assert guard.jumps == 2


MINUTE = 60_000
YEAR = 365 * 24 * 60 * MINUTE
STORY = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 5)),
        st.tuples(st.just("append"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.sampled_from([1, 7, 30, 90])),
        st.tuples(st.just("jump"), st.sampled_from([-1, 1])),
        st.tuples(st.just("start"), st.just(0)),
    ),
    min_size=10,
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(STORY)
def test_nothing_younger_than_promised_goes_though_the_clock_jumps_by_a_year(
    story: list[tuple[str, int]],
) -> None:
    """And is put right within ten minutes: what stays for longer is the time."""
    config = LogConfig(segment_bytes=1024, retention_ms=60 * MINUTE, file_delete_delay_ms=0)
    disk = sim_disk()
    log = open_log(open_store(disk), config)
    guard = ClockGuard()
    true_ms = NOW
    written: dict[int, int] = {}

    def upkeep(skew_ms: int = 0) -> None:
        by_time = guard.trusts(true_ms + skew_ms, true_ms - NOW)
        log.expire(true_ms + skew_ms, log.end_offset, by_time=by_time)
        log.roll_if_due(true_ms + skew_ms)
        young = [offset for offset, at_ms in written.items() if true_ms - at_ms <= 60 * MINUTE]
        assert not young or min(young) >= log.start_offset

    for step, argument in story:
        if step == "append":
            written[log.end_offset] = true_ms
            log.append(make_batch(log.end_offset, [b"v" * 100 * argument], times=[true_ms]), true_ms)
        elif step == "pass":
            for _ in range(argument):
                true_ms += MINUTE
                upkeep()
        elif step == "jump":
            for _ in range(5):
                true_ms += MINUTE
                upkeep(argument * YEAR)
            upkeep()
        else:
            disk.kill()
            log = open_log(open_store(disk), config)
            guard = ClockGuard()
    for _ in range(75):
        true_ms += MINUTE
        upkeep()
    assert log.start_offset == log.end_offset, "what is old does go, once the clock is steady"
