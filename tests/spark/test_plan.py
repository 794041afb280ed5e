import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.client.topics import TopicPartition
from millstream.spark.plan import DataLoss, Gap, Gone, Range, limited, tasks

partitions = st.builds(TopicPartition, st.sampled_from(["orders", "other"]), st.integers(0, 5))
spans = st.dictionaries(partitions, st.tuples(st.integers(0, 1000), st.integers(0, 10**6)))
ranges = spans.map(lambda some: [Range(each, first, first + size) for each, (first, size) in some.items()])


@given(spans=spans, most=st.integers(1, 10**6), new=st.sets(partitions))
@example(spans={TopicPartition("orders", n): (0, 1) for n in range(5)}, most=1, new=set())
def test_a_limit_is_used_up_and_kept_to(
    spans: dict[TopicPartition, tuple[int, int]], most: int, new: set[TopicPartition]
) -> None:
    start = {each: first for each, (first, _) in spans.items() if each not in new}
    end = {each: start.get(each, 0) + size for each, (_, size) in spans.items()}

    found = limited(start, end, most)

    assert found.keys() == end.keys()
    assert all(start.get(each, 0) <= found[each] <= end[each] for each in end)
    taken = sum(found[each] - start.get(each, 0) for each in end)
    assert taken == min(most, sum(end[each] - start.get(each, 0) for each in end))


def test_a_limit_is_shared_out_by_what_waits() -> None:
    big, small = TopicPartition("orders", 0), TopicPartition("orders", 1)

    assert limited({big: 100, small: 0}, {big: 1000, small: 100}, 100) == {big: 190, small: 10}


def test_a_partition_that_has_shrunk_takes_nothing_of_the_limit() -> None:
    shrunk, other = TopicPartition("orders", 0), TopicPartition("orders", 1)

    assert limited({shrunk: 500, other: 0}, {shrunk: 20, other: 90}, 30) == {shrunk: 20, other: 30}


@given(
    ranges=ranges,
    least=st.none() | st.integers(1, 50),
    most_records=st.none() | st.integers(10**4, 10**6),
)
def test_tasks_cover_what_is_to_be_read_once(
    ranges: list[Range], least: int | None, most_records: int | None
) -> None:
    found = tasks(ranges, least, most_records)

    joined: dict[TopicPartition, list[Range]] = {}
    for each in found:
        assert each.size > 0
        assert most_records is None or each.size <= most_records
        joined.setdefault(each.partition, []).append(each)
    for whole in ranges:
        pieces = joined.pop(whole.partition, [])
        at = whole.first
        for piece in pieces:
            assert piece.first == at
            at = piece.until
        assert at == whole.until
    assert not joined
    if least is not None:
        assert len(found) >= min(least, sum(each.size for each in ranges))


def test_pieces_are_of_about_one_size() -> None:
    big, small = (Range(TopicPartition("orders", n), 0, size) for n, size in enumerate((900, 100)))

    assert [each.size for each in tasks([big, small], 10, None)] == [100] * 10


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (
            Gap(TopicPartition("orders", 3), 100, 5000, 5000),
            "orders-3: offsets 100 to 4999 are gone; the partition now begins at 5000",
        ),
        (
            Gap(TopicPartition("orders", 3), 7, 8, 20),
            "orders-3: offset 7 is gone; the partition now begins at 20",
        ),
        (
            Gap(TopicPartition("orders", 3), 20, 500, 0, 20),
            "orders-3: offsets 20 to 499 are not there; the partition ends at 20: "
            "was the topic deleted and created again?",
        ),
        (
            Gone(TopicPartition("orders", 3), 42),
            "orders-3: the whole partition is gone; it had been read up to offset 42",
        ),
    ],
)
def test_a_loss_says_which_offsets_of_which_partition(loss: Gap | Gone, words: str) -> None:
    assert str(loss) == words
    assert words in str(DataLoss([loss]))
    assert "failOnDataLoss" in str(DataLoss([loss]))
