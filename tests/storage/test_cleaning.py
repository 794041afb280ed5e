from hypothesis import given
from hypothesis import strategies as st
from tests.storage.helpers import NOW, make_batch

from millstream.records.batch import HEADER_SIZE, Batch
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.records.control import Marker, build_marker, read_marker
from millstream.records.expiry import TTL_HEADER
from millstream.records.read import Record, read
from millstream.storage.cleaning import NEVER, Cleaner, Keys, note_keys

DAY = 86_400_000
KEYS = st.sampled_from([b"a", b"b", b"c", b"", b"k" * 40])
RECORDS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=30), st.integers(0, 1000)), min_size=1)
CODECS = st.sampled_from(list(Codec))


def batch_of(records: list[tuple[bytes, bytes | None, int]], offset: int = 100, **more: object) -> Batch:
    return make_batch(
        offset,
        [value for _, value, _ in records],
        keys=[key for key, _, _ in records],
        times=[NOW + time for _, _, time in records],
        **more,  # type: ignore[arg-type]
    )


def noted(*batches: Batch) -> Keys:
    keys = Keys(1 << 20)
    for batch in batches:
        note_keys(keys, batch)
    return keys


def cleaned(
    batch: Batch, keys: Keys, now_ms: int, keep_ms: int, *, keep_empty: bool
) -> bytes | memoryview | None:
    return Cleaner(keys, now_ms, keep_ms).left_of(batch, keep_empty=keep_empty)


def records_of(data: bytes | memoryview) -> list[Record]:
    batch = Batch(data)
    batch.check(allow_empty=True)
    return read(batch, max_bytes=1 << 20)


@given(RECORDS, RECORDS, CODECS)
def test_leaves_the_last_record_of_each_key_untouched(
    first: list[tuple[bytes, bytes | None, int]], second: list[tuple[bytes, bytes | None, int]], codec: Codec
) -> None:
    old, new = batch_of(first, codec=codec), batch_of(second, 500, codec=codec)
    keys = noted(old, new)
    before = read(old, max_bytes=1 << 20)
    later = {key for key, _, _ in second}
    data = cleaned(old, keys, NOW, DAY, keep_empty=False)

    last = {record.key: record.offset for record in before}
    expected = [each for each in before if each.key not in later and last[each.key] == each.offset]
    assert (records_of(data) if data is not None else []) == expected
    if data is not None:
        batch = Batch(data)
        assert (batch.base_offset, batch.last_offset) == (old.base_offset, old.last_offset)
        assert batch.codec == codec
        assert batch.max_timestamp_ms == max(each.timestamp_ms for each in expected)


def test_a_batch_that_keeps_everything_is_the_same_bytes() -> None:
    batch = batch_of([(b"a", b"1", 5), (b"b", b"2", 6)], codec=Codec.LZ4)

    assert cleaned(batch, noted(batch), NOW, DAY, keep_empty=False) == batch.data


def test_a_tombstone_stays_its_time_and_then_goes() -> None:
    batch = batch_of([(b"a", None, 5), (b"b", b"2", 700)], codec=Codec.ZSTD)
    keys = noted(batch)
    before = read(batch, max_bytes=1 << 20)
    once = cleaned(batch, keys, NOW, DAY, keep_empty=False)
    assert once is not None
    assert records_of(once) == before  # with the same timestamps, though they are counted from elsewhere
    assert Batch(once).has_delete_horizon
    assert Batch(once).base_timestamp_ms == NOW + DAY
    assert Batch(once).max_timestamp_ms == NOW + 700

    again = cleaned(Batch(once), keys, NOW + DAY - 1, DAY, keep_empty=False)
    assert again == once
    gone = cleaned(Batch(once), keys, NOW + DAY, DAY, keep_empty=False)
    assert gone is not None
    assert records_of(gone) == before[1:]
    assert Batch(gone).has_delete_horizon


def test_the_last_word_of_a_producer_stays_without_its_words() -> None:
    batch = batch_of([(b"a", b"1", 5), (b"b", b"2", 6)], codec=Codec.GZIP, producer=(9, 2, 40))
    keys = noted(batch, batch_of([(b"a", b"1", 5), (b"b", b"2", 6)], 500))
    assert cleaned(batch, keys, NOW, DAY, keep_empty=False) is None
    data = cleaned(batch, keys, NOW, DAY, keep_empty=True)
    assert data is not None
    left = Batch(data)
    left.check(allow_empty=True)

    assert (left.size, left.record_count) == (HEADER_SIZE, 0)
    assert (left.producer_id, left.producer_epoch) == (9, 2)
    assert (left.base_sequence, left.last_sequence) == (40, 41)
    assert (left.base_offset, left.last_offset) == (100, 101)
    assert records_of(data) == []
    assert cleaned(left, keys, NOW, DAY, keep_empty=True) == left.data
    assert cleaned(left, keys, NOW, DAY, keep_empty=False) is None


def test_what_cannot_be_read_stays_as_it_is() -> None:
    control = batch_of([(b"a", b"1", 5)], control=True)
    bad = batch_of([(b"a", b"v" * 40, 5)])
    bad.data[HEADER_SIZE : HEADER_SIZE + 4] = bytes(4)
    keys = noted(control, bad, batch_of([(b"a", b"1", 5)], 500))

    assert cleaned(bad, keys, NOW, DAY, keep_empty=False) == bad.data
    assert len(keys) == 1


def test_a_record_without_a_key_has_no_place_here() -> None:
    batch = make_batch(0, [b"1", b"2"], keys=[None, b"a"])
    data = cleaned(batch, noted(batch), NOW, DAY, keep_empty=False)

    assert data is not None
    assert [record.offset for record in records_of(data)] == [1]


@given(st.binary(max_size=60), st.integers(1, 5))
def test_any_bytes_for_records_are_taken_apart_or_left(body: bytes, count: int) -> None:
    batch = make_batch(0, [b"x" * 60])
    data = bytearray(batch.data[:HEADER_SIZE]) + body
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[57:61] = count.to_bytes(4, "big")
    broken = Batch(memoryview(data))
    keys = Keys(1000)
    note_keys(keys, broken)

    cleaned(broken, keys, NOW, DAY, keep_empty=True)


def test_keys_are_counted_against_a_budget() -> None:
    keys = Keys(10_000)
    count = 0
    while not keys.is_full:
        note_keys(keys, make_batch(count, keys=[str(count).encode()]))
        count += 1

    assert 10 < count < 100


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_only_the_same_key_is_the_same(one: bytes, other: bytes) -> None:
    old, new = make_batch(0, keys=[one]), make_batch(1, keys=[other])

    left = cleaned(old, noted(old, new), NOW, DAY, keep_empty=False)
    assert (left is None) == (one == other)


def test_what_has_expired_goes_and_nothing_comes_back() -> None:
    def expiring(offset: int, ttl: bytes) -> Batch:
        record = NewRecord(b"a", b"v", ((TTL_HEADER, ttl),), NOW)
        data = build([record, NewRecord(b"b", b"w", (), NOW)], now_ms=NOW, codec=Codec.LZ4)
        batch = Batch(memoryview(data))
        batch.stamp(offset, 0)
        return batch

    old, new = make_batch(0, keys=[b"a"]), expiring(1, b"1000")
    keys = noted(old, new)
    cleaner = Cleaner(keys, NOW + 999, DAY)
    assert cleaner.left_of(old, keep_empty=False) is None
    assert cleaner.left_of(new, keep_empty=False) == new.data
    assert cleaner.due_ms == NOW + 1000

    cleaner = Cleaner(keys, NOW + 1000, DAY)
    assert cleaner.left_of(old, keep_empty=False) is None
    left = cleaner.left_of(new, keep_empty=False)
    assert left is not None
    assert [each.key for each in records_of(left)] == [b"b"]
    assert cleaner.due_ms == NEVER
    forever = expiring(1, b"soon")
    assert Cleaner(keys, NOW + 1000, DAY).left_of(forever, keep_empty=False) == forever.data


def test_a_marker_that_decides_nothing_stays_its_time() -> None:
    data = build_marker(Marker.ABORT, producer_id=7, producer_epoch=3, coordinator_epoch=5, now_ms=NOW)
    marker = Batch(memoryview(data))
    cleaner = Cleaner(Keys(1000), NOW, DAY)
    once = cleaner.left_of_marker(marker, is_last_word=False)
    assert once is not None
    waiting = Batch(once)
    waiting.check()
    assert read_marker(waiting) == (Marker.ABORT, 5)
    assert (waiting.producer_id, waiting.producer_epoch) == (7, 3)
    assert [each.timestamp_ms for each in records_of(once)] == [NOW]
    assert cleaner.due_ms == NOW + DAY

    def later(now_ms: int, is_last_word: bool) -> bytes | memoryview | None:
        return Cleaner(Keys(1000), now_ms, DAY).left_of_marker(waiting, is_last_word=is_last_word)

    assert later(NOW + DAY - 1, False) == once
    assert later(NOW + DAY, True) == once
    assert later(NOW + DAY, False) is None


def test_who_does_not_know_the_time_takes_nothing_out_for_it() -> None:
    deleted = batch_of([(b"a", None, 5), (b"b", b"2", 700)])
    keys = noted(deleted)
    cleaner = Cleaner(keys, None, DAY)
    assert cleaner.left_of(deleted, keep_empty=False) == deleted.data
    assert cleaner.due_ms == 0, "it is gone over again as soon as somebody does"

    waiting = cleaned(deleted, keys, NOW, 0, keep_empty=False)
    assert waiting is not None
    assert Cleaner(keys, None, DAY).left_of(Batch(waiting), keep_empty=False) == waiting
    record = NewRecord(b"a", b"v", ((TTL_HEADER, b"0"),), NOW)
    expiring = Batch(memoryview(build([record], now_ms=NOW)))
    assert Cleaner(Keys(1000), None, DAY).left_of(expiring, keep_empty=False) == expiring.data
    data = build_marker(Marker.COMMIT, producer_id=7, producer_epoch=3, coordinator_epoch=5, now_ms=NOW)
    marker = Batch(memoryview(data))
    assert Cleaner(Keys(1000), None, DAY).left_of_marker(marker, is_last_word=False) == marker.data
