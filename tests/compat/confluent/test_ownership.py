"""Who owned what and when, while a group grows, shrinks and changes protocol under load.

Every member is a thread of its own, and a producer goes on all the while. Of
each partition it is written down when a member was given it, what it read, how
far it committed, and when it let go; at the end all of it is held together:

- no two members had a partition at the same time;
- nobody read what it did not have;
- each began where the last commit before had left off: nothing is skipped, and
  nothing that was committed is read again.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from tests.compat.confluent.clients import SECONDS, admin, create, producer
from tests.compat.confluent.test_modern_groups import CLASSIC, QUICK
from tests.compat.node import Node

Partition = tuple[str, int]
PARTITIONS: Final = 4
RECORDS_A_SECOND: Final = 200
NOT_YET: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._ASSIGN_PARTITIONS)


@final
@dataclass
class Tenure:
    """One member's time with one partition."""

    member: str
    begun: float
    started_at: int  # the offset the group had committed when it began
    offsets: list[int] = field(default_factory=list)
    ended: float | None = None
    was_lost: bool = False


@final
class Register:
    """Every tenure of every partition, and how far the group has committed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tenures: dict[Partition, list[Tenure]] = {}
        self.committed: dict[Partition, int] = {}
        self.refusals: list[str] = []
        self.failures: list[str] = []

    def begin(self, member: str, partition: Partition) -> None:
        with self.lock:
            tenure = Tenure(member, time.monotonic(), self.committed.get(partition, 0))
            self.tenures.setdefault(partition, []).append(tenure)

    def end(self, member: str, partition: Partition, *, lost: bool = False) -> None:
        with self.lock:
            tenure = self._open(member, partition)
            if tenure is not None:
                tenure.ended, tenure.was_lost = time.monotonic(), lost

    def end_all(self, member: str) -> None:
        for partition in list(self.tenures):
            self.end(member, partition)

    def read(self, member: str, partition: Partition, offset: int) -> None:
        with self.lock:
            tenure = self._open(member, partition)
            if tenure is None:
                self.failures.append(f"{member} read {partition} at {offset} and does not have it")
            else:
                tenure.offsets.append(offset)

    def commit(self, partition: Partition, offset: int) -> None:
        with self.lock:
            self.committed[partition] = max(offset, self.committed.get(partition, 0))

    def shares(self) -> dict[str, int]:
        """How many partitions each member has now."""
        with self.lock:
            holders = [each.member for some in self.tenures.values() for each in some if each.ended is None]
        return {name: holders.count(name) for name in sorted(set(holders))}

    def _open(self, member: str, partition: Partition) -> Tenure | None:
        for tenure in self.tenures.get(partition, []):
            if tenure.member == member and tenure.ended is None:
                return tenure
        return None

    def verdicts(self, ends: dict[Partition, int]) -> list[str]:
        found = list(self.failures)
        for partition, end in ends.items():
            tenures = sorted(self.tenures.get(partition, []), key=lambda each: each.begun)
            for earlier, later in pairwise(tenures):
                if earlier.ended is None or earlier.ended > later.begun:
                    found.append(f"{partition}: {later.member} was given what {earlier.member} still had")
            for tenure in tenures:
                if tenure.was_lost:
                    found.append(f"{partition} was taken from {tenure.member} without a word")
                wanted = list(range(tenure.started_at, tenure.started_at + len(tenure.offsets)))
                if tenure.offsets != wanted:
                    at = next(
                        n for n, (a, b) in enumerate(zip(tenure.offsets, wanted, strict=True)) if a != b
                    )
                    read_there = tenure.offsets[max(at - 2, 0) : at + 3]
                    found.append(f"{partition}: {tenure.member} read {read_there} where {wanted[at]} was due")
            read = {offset for tenure in tenures for offset in tenure.offsets}
            if read != set(range(end)) or self.committed.get(partition) != end:
                found.append(f"{partition}: {len(read)} read, {self.committed.get(partition)} done of {end}")
        return found


@final
class Member(threading.Thread):
    """A consumer in a thread of its own, until it is told to leave."""

    def __init__(self, name: str, consumer: Consumer, register: Register, *, is_eager: bool) -> None:
        super().__init__(name=name, daemon=True)
        self._consumer = consumer
        self._register = register
        self._is_eager = is_eager
        self._leaving = threading.Event()
        self._done: dict[Partition, int] = {}

    def run(self) -> None:
        try:
            while not self._leaving.is_set():
                self._step()
            self._commit()
            self._consumer.close()
        except Exception as failure:  # whatever it is, the test must hear of it
            self._register.failures.append(f"{self.name}: {failure!r}")
        finally:
            self._register.end_all(self.name)

    def leave(self) -> None:
        self._leaving.set()
        self.join(SECONDS)
        assert not self.is_alive(), f"{self.name} did not leave"

    def given(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._register.begin(self.name, (each.topic, each.partition))
        if self._is_eager:
            consumer.assign(partitions)
        else:
            consumer.incremental_assign(partitions)

    def taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        if self._is_eager:
            consumer.unassign()
        else:
            consumer.incremental_unassign(partitions)
        for each in partitions:
            self._register.end(self.name, (each.topic, each.partition))

    def lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._is_eager:
            consumer.unassign()
        else:
            consumer.incremental_unassign(partitions)
        for each in partitions:
            self._register.end(self.name, (each.topic, each.partition), lost=True)

    def _step(self) -> None:
        message = self._consumer.poll(0.05)
        if message is None:
            self._commit()
            return
        error = message.error()
        if error is not None:
            assert error.code() in NOT_YET, error
            return
        partition = (message.topic() or "", message.partition() or 0)
        offset = message.offset() or 0
        self._register.read(self.name, partition, offset)
        self._done[partition] = offset + 1
        if sum(self._done.values()) % 7 == 0:
            self._commit()

    def _commit(self) -> None:
        """Say how far we are; who is refused has to read it again, or another has."""
        if not self._done:
            return
        done, self._done = self._done, {}
        offsets = [TopicPartition(topic, index, offset) for (topic, index), offset in done.items()]
        for _ in range(50):
            try:
                told = self._consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as failure:
                # In the middle of a change of epochs: the next heartbeat tells the new one.
                self._register.refusals.append(f"{self.name}: {failure.args[0].name()}")
                time.sleep(0.05)
                continue
            assert all(each.error is None for each in told), told
            for partition, offset in done.items():
                self._register.commit(partition, offset)
            return
        self._register.failures.append(f"{self.name} could not commit {done}")


@final
class Story:
    def __init__(self, node: Node, group: str, topics: list[str]) -> None:
        self.register = Register()
        self._node = node
        self._group = group
        self._topics = topics
        self.members: dict[str, Member] = {}

    def join(self, name: str, *, classic: str = "", **config: Any) -> None:
        """A member of the newer protocol, or a *classic* one with that assignor."""
        protocol: dict[str, Any] = {"group_protocol": "consumer"}
        if classic:
            protocol = {"partition_assignment_strategy": classic, **CLASSIC}
        consumer = Consumer(
            {
                "bootstrap.servers": self._node.bootstrap,
                "group.id": self._group,
                "client.id": name,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "topic.metadata.refresh.interval.ms": 500,
                **{key.replace("_", "."): value for key, value in {**protocol, **config}.items()},
            }
        )
        member = Member(name, consumer, self.register, is_eager=classic == "range")
        pattern = [f"^{self._group}-.*"]  # half of them by a pattern, half by name
        topics = pattern if len(self.members) % 2 else self._topics
        consumer.subscribe(topics, on_assign=member.given, on_revoke=member.taken, on_lost=member.lost)
        self.members[name] = member
        member.start()

    def leave(self, *names: str) -> None:
        for name in names:
            self.members.pop(name).leave()

    def until_shared(self) -> None:
        """Wait until all members have their part, and nobody else."""
        total = len(self._topics) * PARTITIONS
        most = -(-total // len(self.members))
        self.until(
            lambda: (
                (shares := self.register.shares()).keys() == self.members.keys()
                and sum(shares.values()) == total
                and max(shares.values()) <= most + 1
            )
        )

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert not self.register.failures, self.register.failures
            assert time.monotonic() < deadline, f"it did not come to that: {self.register.shares()}"
            time.sleep(0.02)


@contextmanager
def load(node: Node, topics: list[str]) -> Iterator[dict[Partition, int]]:
    """Produce to every partition in turn; how many each has got is known at the end."""
    sent = {(topic, index): 0 for topic in topics for index in range(PARTITIONS)}
    stopping = threading.Event()
    client: Producer = producer(node.bootstrap)

    def run() -> None:
        while not stopping.wait(len(sent) / RECORDS_A_SECOND):
            for topic, index in sent:
                client.produce(topic, value=str(sent[topic, index]), partition=index)
                sent[topic, index] += 1
            client.poll(0)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        stopping.set()
        thread.join()
        assert client.flush(SECONDS) == 0


def begin_at_the_start(node: Node, group: str, topics: list[str]) -> None:
    """Commit offset 0 everywhere, so that no member has to ask where the start is.

    librdkafka 2.16 may ask twice when it is told of a new assignment meanwhile, and half a second later
    goes back to the start because of the second answer, whatever it has read by then.
    """
    places = [TopicPartition(topic, index, 0) for topic in topics for index in range(PARTITIONS)]
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group})
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def test_no_partition_has_two_owners_and_no_record_is_skipped(tmp_path: Any, name: str) -> None:
    node = Node(tmp_path / "data", QUICK)
    topics = [f"{name}-a", f"{name}-b"]
    story = Story(node, name, topics)
    described = admin(node.bootstrap)

    def kind() -> str:
        return str(described.describe_consumer_groups([name])[name].result(SECONDS).type.name)

    try:
        for topic in topics:
            create(node.bootstrap, topic, PARTITIONS)
        begin_at_the_start(node, name, topics)
        with load(node, topics) as sent:
            # It grows and shrinks, one of its members with a name that outlives the process.
            story.join("a")
            story.until_shared()
            story.join("b", group_instance_id="fixed")
            story.join("c")
            story.until_shared()
            story.leave("b")
            story.join("b", group_instance_id="fixed")
            story.join("d")
            story.until_shared()
            story.leave("a", "c")
            story.until_shared()
            # To the classic protocol, and back.
            story.join("e", classic="cooperative-sticky")
            story.until_shared()
            story.join("f", classic="cooperative-sticky")
            story.until_shared()
            story.leave("d", "b")  # the one with a name of its own stays until its session is over
            story.until_shared()
            assert kind() == "CLASSIC"
            story.join("g")
            story.until_shared()
            assert kind() == "CONSUMER"
            story.leave("e", "f")
            story.until_shared()
        register = story.register
        story.until(lambda: all(register.committed.get(each) == end for each, end in sent.items()))
        story.leave(*list(story.members))
        assert register.verdicts(sent) == [], register.refusals
        assert min(sent.values()) > 20
        assert all(len(tenures) >= 3 for tenures in register.tenures.values())
    finally:
        for member in story.members.values():
            member.leave()
        node.close()
