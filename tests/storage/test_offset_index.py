from hypothesis import given
from hypothesis import strategies as st

from millstream.storage.offset_index import OffsetIndex

BASE = 5_000_000_000
ENTRIES = st.lists(
    st.tuples(st.integers(1, 500), st.integers(1, 5000)), max_size=30
)  # steps of offset and position


def index_of(steps: list[tuple[int, int]]) -> tuple[OffsetIndex, list[tuple[int, int]]]:
    index, entries = OffsetIndex(BASE), []
    offset, position = BASE, 0
    for offset_step, position_step in steps:
        offset, position = offset + offset_step, position + position_step
        index.add(offset, position)
        entries.append((offset, position))
    return index, entries


@given(ENTRIES, st.integers(-10, 20_000))
def test_finds_the_last_batch_that_ends_by_an_offset(steps: list[tuple[int, int]], beyond: int) -> None:
    index, entries = index_of(steps)
    offset = BASE + beyond

    assert index.before(offset) == max([each for each in entries if each[0] <= offset], default=(-1, 0))


@given(ENTRIES, st.integers(0, 200_000))
def test_finds_the_last_batch_that_begins_by_a_position(steps: list[tuple[int, int]], position: int) -> None:
    index, entries = index_of(steps)

    expected = max([each for each in entries if each[1] <= position], default=(-1, 0))
    assert index.before_position(position) == expected


@given(ENTRIES, st.integers(0, 200_000))
def test_forgets_what_was_truncated(steps: list[tuple[int, int]], size: int) -> None:
    index, entries = index_of(steps)
    index.truncate(size)

    assert len(index) == len([each for each in entries if each[1] < size])


@given(ENTRIES)
def test_comes_back_from_its_file(steps: list[tuple[int, int]]) -> None:
    index, entries = index_of(steps)
    again = OffsetIndex.from_bytes(BASE, index.to_bytes(), 1 << 30)

    assert again is not None
    assert again.to_bytes() == index.to_bytes()
    assert [again.before(offset) for offset, _ in entries] == entries


def test_the_file_is_kafkas() -> None:
    index = OffsetIndex(100)
    index.add(103, 4097)

    assert index.to_bytes() == bytes.fromhex("00000003 00001001")


@given(st.binary(max_size=64))
def test_garbage_is_no_index_or_one_that_rises(data: bytes) -> None:
    index = OffsetIndex.from_bytes(0, data, 1 << 31)
    if index is not None:
        entries = [(index.before_position(p)) for p in range(0, 1 << 20, 4096)]
        assert entries == sorted(entries)


def test_an_index_of_zeros_or_beyond_the_end_is_none() -> None:
    assert OffsetIndex.from_bytes(0, bytes(16), 100) is None
    assert OffsetIndex.from_bytes(0, bytes(7), 100) is None
    index = OffsetIndex(0)
    index.add(5, 100)
    assert OffsetIndex.from_bytes(0, index.to_bytes(), 100) is None
    assert OffsetIndex.from_bytes(0, index.to_bytes(), 101) is not None
