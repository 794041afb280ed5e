from hypothesis import given
from hypothesis import strategies as st

from millstream.storage.time_index import TimeIndex

BASE = 5_000_000_000
BATCHES = st.lists(st.tuples(st.integers(-1, 1000), st.integers(1, 5)), max_size=40)  # timestamp, records


def index_of(batches: list[tuple[int, int]]) -> tuple[TimeIndex, list[tuple[int, int]]]:
    """An index with an entry a batch, and (timestamp, last offset) of every batch."""
    index, noted = TimeIndex(BASE), []
    next_offset, newest = BASE, (-1, -1)
    for timestamp, records in batches:
        next_offset += records
        if timestamp > newest[0]:
            newest = (timestamp, next_offset - 1)
        index.add(*newest)
        noted.append((timestamp, next_offset - 1))
    return index, noted


@given(BATCHES, st.integers(0, 1100))
def test_everything_up_to_the_answer_is_older(batches: list[tuple[int, int]], timestamp: int) -> None:
    index, noted = index_of(batches)
    offset = index.before(timestamp)

    assert all(each < timestamp for each, last_offset in noted if last_offset <= offset)
    newer = [last_offset for each, last_offset in noted if each >= timestamp]
    assert not newer or offset < newer[0]


@given(BATCHES, st.integers(-3, 200))
def test_finds_the_last_entry_below_an_offset(batches: list[tuple[int, int]], beyond: int) -> None:
    index, noted = index_of(batches)
    timestamp, offset = index.before_offset(BASE + beyond)

    below = [each for each, last_offset in noted if last_offset < BASE + beyond]
    assert timestamp == max([-1, *below])
    assert (timestamp == -1) == (offset == -1)


@given(BATCHES)
def test_comes_back_from_its_file(batches: list[tuple[int, int]]) -> None:
    index, noted = index_of(batches)
    next_offset = noted[-1][1] + 1 if noted else BASE
    again = TimeIndex.from_bytes(BASE, index.to_bytes(), next_offset)

    assert again is not None
    assert (len(again), again.last, again.to_bytes()) == (len(index), index.last, index.to_bytes())


def test_the_file_is_kafkas() -> None:
    index = TimeIndex(100)
    index.add(0x0102030405, 103)

    assert index.to_bytes() == bytes.fromhex("0000000102030405 00000003")


def test_what_cannot_be_an_index_is_none() -> None:
    index = TimeIndex(0)
    index.add(1000, 7)
    data = index.to_bytes()

    assert TimeIndex.from_bytes(0, data, 8) is not None
    assert TimeIndex.from_bytes(0, data, 7) is None  # beyond the end of the segment
    assert TimeIndex.from_bytes(0, data[:-1], 8) is None
    assert TimeIndex.from_bytes(0, data + data, 8) is None  # does not rise
    assert TimeIndex.from_bytes(0, bytes(24), 8) is None


def test_no_timestamp_is_not_noted() -> None:
    index = TimeIndex(0)
    index.add(-1, -1)

    assert len(index) == 0
    assert index.last == (-1, -1)
