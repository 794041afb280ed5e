"""When a consume may end."""

from millstream.cli.offsets import parse, resolve
from millstream.cli.places import Place
from millstream.cli.remaining import Remaining
from millstream.client.consumed import Consumed
from millstream.client.topics import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def remaining(offset: str, high: int = 10, *, count: int | None = None, follow: bool = False) -> Remaining:
    span = parse(offset, 0)
    return Remaining(
        {each: Place(2, high, resolve(span, 2, high, {})) for each in (A, B)}, count=count, follow=follow
    )


def record(offset: int, partition: int = 0) -> Consumed:
    return Consumed("t", partition, offset, 0, None, b"")


def test_ends_where_each_partition_ended_when_it_began() -> None:
    it = remaining("start")

    assert it.finished({A: 9, B: 10}) == [B]
    assert not it.done([A, B])
    assert it.finished({A: 12, B: 10}) == [A]
    assert it.done([A, B])


def test_follows_for_ever_if_there_is_no_stop() -> None:
    it = remaining("start", follow=True)

    assert it.finished({A: 1000, B: 1000}) == []
    assert not it.done([A, B])
    assert it.wants(record(1000))


def test_waits_for_a_stop_that_is_not_there_yet_only_if_it_follows() -> None:
    assert remaining("start:20", follow=True).finished({A: 19, B: 20}) == [B]
    assert remaining("start:20").finished({A: 10, B: 9}) == [A]


def test_shows_only_what_lies_in_the_span() -> None:
    it = remaining("4:6", follow=True)

    assert [offset for offset in range(2, 9) if it.wants(record(offset))] == [4, 5]


def test_an_offset_that_is_yet_to_come_is_waited_for() -> None:
    it = remaining("15", follow=True)

    assert [offset for offset in range(10, 18) if it.wants(record(offset))] == [15, 16, 17]


def test_counts_what_is_shown() -> None:
    it = remaining("5", count=2)

    assert not it.wants(record(4))
    assert it.most(100) == 2
    assert it.wants(record(5))
    assert it.most(100) == 1
    assert it.wants(record(6))
    assert it.done([A, B])
    assert not it.wants(record(7))


def test_a_group_member_need_not_wait_for_partitions_of_others() -> None:
    it = remaining("start")
    it.finished({A: 10})

    assert it.done([A])
    assert not it.done([A, B])


def test_nothing_to_read_is_done_at_once() -> None:
    it = remaining("start", high=2)

    assert it.finished({A: 2, B: 2}) == [A, B]
