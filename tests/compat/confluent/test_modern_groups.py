"""confluent-kafka in groups of the newer protocol (KIP-848): members come and go, and change over."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, final

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from tests.compat.confluent.clients import SECONDS, admin, create, producer, send
from tests.compat.node import Node

QUICK: Final[dict[str, object]] = {
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.session.timeout.ms": 10_000,  # no machine sleeps that long
    "group.consumer.session.timeout.ms": 10_000,
}
AGAIN: Final = (
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.UNKNOWN_MEMBER_ID,
)
CLASSIC: Final = {"heartbeat_interval_ms": 100, "session_timeout_ms": 10_000}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(tmp_path_factory.mktemp("modern") / "data", QUICK)
    try:
        yield node
    finally:
        node.close()


@final
class Work:
    """What a whole group does: who owns what at any moment, and which records have been read."""

    def __init__(self) -> None:
        self.owners: dict[tuple[str, int], str] = {}
        self.read: list[str] = []
        self.quarrels: list[str] = []

    def given(self, who: str, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            before = self.owners.setdefault((each.topic, each.partition), who)
            if before != who:
                self.quarrels.append(f"{each.topic}-{each.partition} of {before} was given to {who}")

    def taken(self, who: str, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            if self.owners.get((each.topic, each.partition)) == who:
                del self.owners[each.topic, each.partition]

    def shares(self) -> dict[str, int]:
        names = sorted(set(self.owners.values()))
        return {name: list(self.owners.values()).count(name) for name in names}


@final
class Member:
    """A consumer that commits every record it reads, before the next."""

    def __init__(
        self, name: str, consumer: Consumer, topics: list[str], work: Work, *, is_eager: bool
    ) -> None:
        self.name = name
        self.is_eager = is_eager
        self.consumer = consumer
        self.changes = 0
        self._work = work
        consumer.subscribe(topics, on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)

    def step(self) -> None:
        message = self.consumer.poll(0.02)
        if message is None:
            return
        error = message.error()
        if error is not None:
            # Said once to an application that subscribes by a name that is not there yet.
            assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART, error
            return
        partition = (message.topic() or "", message.partition() or 0)
        if self._work.owners.get(partition) != self.name:
            self._work.quarrels.append(f"{self.name} read {partition} of {self._work.owners.get(partition)}")
        if self._commits(message):
            self._work.read.append((message.value() or b"").decode())

    def _commits(self, message: Message) -> bool:
        """Whether the record counts as read. One read in an epoch that is over by now is read again."""
        try:
            self.consumer.commit(message=message, asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() not in AGAIN:
                raise
            with suppress(KafkaException):  # it may have been taken away meanwhile
                self.consumer.seek(
                    TopicPartition(message.topic() or "", message.partition() or 0, message.offset() or 0)
                )
            return False
        return True

    def _given(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self._work.given(self.name, partitions)
        if self.is_eager:
            consumer.assign(partitions)
        else:
            consumer.incremental_assign(partitions)

    def _taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self._work.taken(self.name, partitions)
        if self.is_eager:
            consumer.unassign()
        else:
            consumer.incremental_unassign(partitions)


@contextmanager
def member(
    node: Node, group: str, name: str, work: Work, topics: list[str], *, classic: str = "", **config: Any
) -> Iterator[Member]:
    """A member of the newer protocol, or a *classic* one with that assignor."""
    protocol: dict[str, Any] = {"group_protocol": "consumer"}
    if classic:
        protocol = {"partition_assignment_strategy": classic, **CLASSIC}
    made = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": group,
            "client.id": name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "topic.metadata.refresh.interval.ms": 500,
            **{key.replace("_", "."): value for key, value in {**protocol, **config}.items()},
        }
    )
    try:
        yield Member(name, made, topics, work, is_eager=classic == "range")
    finally:
        made.close()
        work.taken(name, [TopicPartition(*each) for each in list(work.owners)])


def go_on(members: list[Member], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        for each in members:
            each.step()


def fill(node: Node, topic: str, start: int, count: int, partitions: int) -> list[str]:
    values = [str(number) for number in range(start, start + count)]
    send(producer(node.bootstrap), topic, [{"value": v, "partition": int(v) % partitions} for v in values])
    return values


def test_a_group_grows_and_shrinks(node: Node, name: str) -> None:
    """No partition has two owners at once; every record is read, and none twice."""
    create(node.bootstrap, name, 6)
    sent = fill(node, name, 0, 60, 6)
    work = Work()
    with member(node, name, "one", work, [name]) as one:
        go_on([one], lambda: len(work.read) == 60)
        with member(node, name, "two", work, [name]) as two:
            go_on([one, two], lambda: work.shares() == {"one": 3, "two": 3})
            sent += fill(node, name, 60, 60, 6)
            with member(node, name, "three", work, [name]) as three:
                go_on([one, two, three], lambda: work.shares() == {"one": 2, "two": 2, "three": 2})
                sent += fill(node, name, 120, 60, 6)
                go_on([one, two, three], lambda: len(work.read) >= 180)
            go_on([one, two], lambda: work.shares() == {"one": 3, "two": 3})
        sent += fill(node, name, 180, 60, 6)
        go_on([one], lambda: work.shares() == {"one": 6} and len(work.read) >= 240)
    assert work.quarrels == []
    assert sorted(work.read, key=int) == sent


def test_a_static_member_is_back_before_anybody_notices(node: Node, name: str) -> None:
    create(node.bootstrap, name, 4)
    work = Work()
    static = {"group_instance_id": "fixed"}
    with member(node, name, "one", work, [name]) as one:
        with member(node, name, "two", work, [name], **static) as two:
            go_on([one, two], lambda: work.shares() == {"one": 2, "two": 2})
            before, changes = dict(work.owners), one.changes
        with member(node, name, "two", work, [name], **static) as two:
            go_on([one, two], lambda: work.owners == before)
        assert one.changes == changes
    assert work.quarrels == []


def test_a_static_member_that_stays_away_is_given_up(node: Node, name: str) -> None:
    create(node.bootstrap, name, 4)
    work = Work()
    with member(node, name, "one", work, [name]) as one:
        with member(node, name, "two", work, [name], group_instance_id="fixed") as two:
            go_on([one, two], lambda: work.shares() == {"one": 2, "two": 2})
        go_on([one], lambda: work.shares() == {"one": 4})


def test_topics_are_found_by_a_pattern(node: Node, name: str) -> None:
    """Those that are there, and those that come later."""
    create(node.bootstrap, f"{name}-a", 2)
    create(node.bootstrap, f"x-{name}", 2)
    work = Work()
    with member(node, name, "one", work, [f"^{name}-.*"]) as one:
        go_on([one], lambda: set(work.owners) == {(f"{name}-a", 0), (f"{name}-a", 1)})
        create(node.bootstrap, f"{name}-b", 1)
        go_on([one], lambda: (f"{name}-b", 0) in work.owners)
        assert len(work.owners) == 3
        operator = admin(node.bootstrap)
        operator.delete_topics([f"{name}-a"])[f"{name}-a"].result(SECONDS)
        go_on([one], lambda: set(work.owners) == {(f"{name}-b", 0)})


def test_a_pattern_that_is_none_is_refused(node: Node, name: str) -> None:
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": name, "group.protocol": "consumer"})
    try:
        consumer.subscribe(["^a{2000}"])  # too much for RE2, though not for the client
        found = consumer.poll(SECONDS)
        assert found is not None
        error = found.error()
        assert error is not None
        assert "regular expression" in error.str()
    finally:
        consumer.close()


def test_the_group_outlives_the_broker(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Killed or stopped, it goes on with the members and what they have."""
    node = Node(tmp_path_factory.mktemp("mortal") / "data", QUICK)
    try:
        create(node.bootstrap, name, 4)
        work = Work()
        with member(node, name, "one", work, [name]) as one, member(node, name, "two", work, [name]) as two:
            go_on([one, two], lambda: work.shares() == {"one": 2, "two": 2})
            sent = fill(node, name, 0, 40, 4)
            go_on([one, two], lambda: len(work.read) == 40)
            before, changes = dict(work.owners), one.changes + two.changes
            for end in (node.kill, node.stop):
                end()
                node.start()
                sent.extend(fill(node, name, len(sent), 40, 4))
                count = len(sent)
                go_on([one, two], lambda count=count: len(work.read) >= count)  # type: ignore[misc]  # bound
            assert (work.owners, one.changes + two.changes) == (before, changes)
        assert sorted(work.read, key=int) == sent
        assert work.quarrels == []
    finally:
        node.close()


@pytest.mark.parametrize("classic", ["range", "cooperative-sticky"])
def test_a_group_changes_over_and_back(node: Node, name: str, classic: str) -> None:
    """Classic members are replaced one by one, and put back; every record is read, and none twice."""
    create(node.bootstrap, name, 4)
    sent = fill(node, name, 0, 40, 4)
    work = Work()
    described = admin(node.bootstrap)

    def kind() -> str:
        found = described.describe_consumer_groups([name])[name].result(SECONDS)
        return str(found.type.name)

    def more() -> None:
        sent.extend(fill(node, name, len(sent), 40, 4))

    with member(node, name, "old", work, [name], classic=classic) as old:
        go_on([old], lambda: len(work.read) >= 40)
        assert kind() == "CLASSIC"
        with member(node, name, "new", work, [name]) as new:
            more()
            go_on([old, new], lambda: work.shares() == {"new": 2, "old": 2} and len(work.read) >= len(sent))
            assert kind() == "CONSUMER"
            with member(node, name, "older", work, [name], classic=classic) as older:
                more()
                go_on([old, new, older], lambda: len(work.shares()) == 3 and len(work.read) >= len(sent))
            more()
            go_on([old, new], lambda: work.shares() == {"new": 2, "old": 2} and len(work.read) >= len(sent))
        more()
        go_on([old], lambda: work.shares() == {"old": 4} and len(work.read) >= len(sent))
        assert kind() == "CLASSIC"
        with member(node, name, "newer", work, [name]) as newer:
            go_on([old, newer], lambda: work.shares() == {"newer": 2, "old": 2})
            old.consumer.close()
            work.taken("old", [TopicPartition(*each) for each in list(work.owners)])
            more()
            go_on([newer], lambda: work.shares() == {"newer": 4} and len(work.read) >= len(sent))
    assert work.quarrels == []
    assert sorted(work.read, key=int) == sent


def test_operators_see_what_there_is(node: Node, name: str) -> None:
    create(node.bootstrap, name, 3)
    work, operator = Work(), admin(node.bootstrap)
    with member(node, name, "one", work, [name]) as one:
        go_on([one], lambda: work.shares() == {"one": 3})
        found = operator.describe_consumer_groups([name])[name].result(SECONDS)
        assert (found.state.name, found.type.name, found.partition_assignor) == (
            "STABLE",
            "CONSUMER",
            "uniform",
        )
        (described,) = found.members
        assert described.client_id == "one"
        assert sorted(each.partition for each in described.assignment.topic_partitions) == [0, 1, 2]
        listed = operator.list_consumer_groups().result(SECONDS).valid
        assert [each.type.name for each in listed if each.group_id == name] == ["CONSUMER"]
        with pytest.raises(KafkaException) as refusal:
            operator.delete_consumer_groups([name])[name].result(SECONDS)
        assert refusal.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    operator.delete_consumer_groups([name])[name].result(SECONDS)
