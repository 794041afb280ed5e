"""confluent-kafka in groups: members come and go, eagerly, cooperatively, or as fixtures."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, final

from confluent_kafka import Consumer, TopicPartition
from tests.compat.confluent.clients import consumer, create, poll_until, producer, read, send


@final
class Member:
    """A consumer that notes what it is given and what is taken away."""

    def __init__(self, consumer: Consumer, topics: list[str]) -> None:
        self.consumer = consumer
        self.given: list[set[int]] = []
        self.taken: list[set[int]] = []
        consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked)

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.given.append({each.partition for each in partitions})

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.taken.append({each.partition for each in partitions})


@contextmanager
def member(bootstrap: str, group: str, topic: str, **config: Any) -> Iterator[Member]:
    with consumer(bootstrap, group_id=group, **config) as made:
        yield Member(made, [topic])


def settle(*members: Member, partitions: int) -> None:
    """Until *members* share all *partitions* among them, and each has some."""

    def settled() -> bool:
        shares = [each.partitions for each in members]
        return all(shares) and sorted(p for share in shares for p in share) == list(range(partitions))

    poll_until([each.consumer for each in members], settled)


def test_members_come_and_go(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 6)
    with member(bootstrap, name, name) as first:
        settle(first, partitions=6)
        with member(bootstrap, name, name) as second:
            settle(first, second, partitions=6)
            assert (len(first.partitions), len(second.partitions)) == (3, 3)
            with member(bootstrap, name, name) as third:
                settle(first, second, third, partitions=6)
                assert {len(each.partitions) for each in (first, second, third)} == {2}
            settle(first, second, partitions=6)
        settle(first, partitions=6)


def test_a_cooperative_rebalance_moves_only_what_must_move(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 6)
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    with member(bootstrap, name, name, **settings) as first:
        settle(first, partitions=6)
        with member(bootstrap, name, name, **settings) as second:
            settle(first, second, partitions=6)
            assert len(second.partitions) == 3
            assert first.taken == [second.partitions]  # and the rest was never let go
        settle(first, partitions=6)
        assert len(first.taken) == 1


def test_cooperative_members_read_on_while_others_come(bootstrap: str, name: str) -> None:
    """Nothing is lost and nothing read twice, though a member joins in the middle and commits go on."""
    create(bootstrap, name, 4)
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    one = producer(bootstrap)
    send(one, name, [{"value": str(i), "partition": i % 4} for i in range(200)])
    got: list[int] = []

    def take(reader: Consumer) -> None:
        message = reader.poll(0.02)
        if message is not None:
            assert message.error() is None, message.error()
            got.append(int(message.value() or b""))
            reader.commit(message=message, asynchronous=False)

    with member(bootstrap, name, name, **settings) as first:
        while len(got) < 50:
            take(first.consumer)
        with member(bootstrap, name, name, **settings) as second:
            while len(got) < 200 or not second.partitions:
                take(first.consumer)
                take(second.consumer)
    assert sorted(got) == list(range(200))


def test_a_static_member_that_stays_away_is_replaced(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 4)
    quick = {"session_timeout_ms": 1_000, "heartbeat_interval_ms": 100}
    with member(bootstrap, name, name, group_instance_id="one", **quick) as first:
        with member(bootstrap, name, name, group_instance_id="two", **quick) as second:
            settle(first, second, partitions=4)
        settle(first, partitions=4)


def test_commits_by_itself_when_closed(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(producer(bootstrap), name, [{"value": str(i)} for i in range(10)])
    with member(bootstrap, name, name, enable_auto_commit=True) as reader:
        read(reader.consumer, 10)
    with consumer(bootstrap, group_id=name) as looker:
        assert looker.committed([TopicPartition(name, 0)])[0].offset == 10


def test_new_partitions_and_topics_are_found(bootstrap: str, name: str) -> None:
    """By a pattern, and by asking now and then for what there is."""
    create(bootstrap, f"{name}-a")
    with member(
        bootstrap, name, f"^{name}-.*", topic_metadata_refresh_interval_ms=200, metadata_max_age_ms=400
    ) as reader:
        places: set[tuple[str, int]] = set()

        def found(wanted: int) -> bool:
            places.update((each.topic, each.partition) for each in reader.consumer.assignment())
            return len(places) == wanted

        poll_until([reader.consumer], lambda: found(1))
        create(bootstrap, f"{name}-b", 2)
        poll_until([reader.consumer], lambda: found(3))
        assert places == {(f"{name}-a", 0), (f"{name}-b", 0), (f"{name}-b", 1)}


def test_two_groups_do_not_know_each_other(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    with ExitStack() as stack:
        members = [stack.enter_context(member(bootstrap, f"{name}-{i}", name)) for i in range(2)]
        poll_until(
            [each.consumer for each in members], lambda: all(each.partitions == {0, 1} for each in members)
        )


def test_a_regretted_subscription(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    with member(bootstrap, name, name) as first, member(bootstrap, name, name) as second:
        settle(first, second, partitions=2)
        second.consumer.unsubscribe()
        poll_until([first.consumer, second.consumer], lambda: first.partitions == {0, 1})
