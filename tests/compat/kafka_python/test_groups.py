"""kafka-python in groups: members come and go, eagerly, cooperatively, or as fixtures."""

import threading
from typing import Any, final

import pytest
from kafka import ConsumerRebalanceListener, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from tests.compat.kafka_python.clients import POLL_MS, SECONDS, consumer, create, producer, read, send

Share = set[tuple[str, int]]


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Tells a member what it is given and what is taken away."""

    def __init__(self, member: "Member") -> None:
        self._member = member

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._member.changed(self._member.share - {tuple(each) for each in revoked})

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._member.rebalances += 1
        self._member.changed(self._member.share | {tuple(each) for each in assigned})


@final
class Member:
    """A consumer that is polled without a break, in a thread of its own.

    One thread for several would not do, nor would short polls: kafka-python
    3.0 forgets a rebalance that is completed while nobody polls.
    """

    moved = threading.Condition()

    def __init__(self, bootstrap: str, name: str, *, pattern: str | None = None, **config: Any) -> None:
        self.share: Share = set()
        self.rebalances = 0
        self._bootstrap = bootstrap
        self._subscription = {"pattern": pattern} if pattern else {"topics": [name]}
        self._made = consumer(bootstrap, group_id=name, **config)
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Member":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        topic, partition = min(self.share)
        with producer(self._bootstrap) as one:
            send(one, topic, b"enough", partition=partition)  # or it would poll on
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def changed(self, share: Share) -> None:
        with self.moved:
            self.share = share
            self.moved.notify_all()

    def _work(self) -> None:
        with self._made as consumer:
            consumer.subscribe(**self._subscription, listener=Listener(self))
            while not self._leaving.is_set():
                consumer.poll(timeout_ms=POLL_MS)


def settle(*members: Member, partitions: int) -> None:
    """Until *members* share all *partitions* among them, and each has some."""

    def settled() -> bool:
        shares = [each.share for each in members]
        return all(shares) and sum(map(len, shares)) == len(set().union(*shares)) == partitions

    with Member.moved:
        assert Member.moved.wait_for(settled, SECONDS), [each.share for each in members]


def test_members_come_and_go(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 6)
    with Member(bootstrap, name) as first:
        settle(first, partitions=6)
        with Member(bootstrap, name) as second:
            settle(first, second, partitions=6)
            with Member(bootstrap, name) as third:
                settle(first, second, third, partitions=6)
                assert {len(each.share) for each in (first, second, third)} == {2}
            settle(first, second, partitions=6)
        settle(first, partitions=6)


@pytest.mark.parametrize(
    "assignor", [RoundRobinPartitionAssignor, StickyPartitionAssignor, CooperativeStickyAssignor]
)
def test_every_assignor(bootstrap: str, name: str, assignor: Any) -> None:
    create(bootstrap, name, 4)
    settings: dict[str, Any] = {"partition_assignment_strategy": [assignor]}
    with Member(bootstrap, name, **settings) as first:
        settle(first, partitions=4)
        with Member(bootstrap, name, **settings) as second:
            settle(first, second, partitions=4)
        settle(first, partitions=4)


def test_commits_by_itself_when_closed(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    with producer(bootstrap) as one:
        send(one, name, b"a", b"b", b"c")
    with consumer(bootstrap, name, group_id=name, enable_auto_commit=True) as reader:
        read(reader, 3)
    with consumer(bootstrap, group_id=name) as looker:
        looker.assign([TopicPartition(name, 0)])
        assert looker.committed(TopicPartition(name, 0)) == 3


def test_a_pattern_finds_new_topics(bootstrap: str, name: str) -> None:
    create(bootstrap, f"{name}-a")
    with Member(bootstrap, name, pattern=f"^{name}-.*", metadata_max_age_ms=300) as only:
        settle(only, partitions=1)
        create(bootstrap, f"{name}-b", 2)
        settle(only, partitions=3)
