from hypothesis import given
from hypothesis import strategies as st
from tests.storage.helpers import NOW, make_batch

from millstream.records.batch import HEADER_SIZE, Batch
from millstream.records.compression import Codec
from millstream.records.read import Record, read
from millstream.storage.cleaning import Keys, cleaned, note_keys

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


def test_control_batches_and_what_cannot_be_read_stay_as_they_are() -> None:
    control = batch_of([(b"a", b"1", 5)], control=True)
    bad = batch_of([(b"a", b"v" * 40, 5)])
    bad.data[HEADER_SIZE : HEADER_SIZE + 4] = bytes(4)
    keys = noted(control, bad, batch_of([(b"a", b"1", 5)], 500))

    assert cleaned(control, keys, NOW, DAY, keep_empty=False) == control.data
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
    keys = Keys(1000)
    noted_keys = 0
    while not keys.is_full:
        keys.note(str(noted_keys).encode(), noted_keys)
        noted_keys += 1

    assert 1 < noted_keys < 100
    assert keys.is_latest(b"0", 0)
    keys.note(b"0", 7)
    assert not keys.is_latest(b"0", 6)
    assert keys.is_latest(b"0", 7)
    assert keys.is_latest(b"never seen", 3)
