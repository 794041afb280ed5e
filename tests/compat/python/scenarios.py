"""What every client is asked to do; tests/compat/scenarios.py says what each is about."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, NoReturn

from tests.compat.python.client import Client, Reading, Record, Writing
from tests.compat.python.turn import Turn, check, refused, run, same


def main(open: Callable[[str], Client]) -> NoReturn:
    run(open, SCENARIOS)


def numbered(count: int, partition: int = 0) -> list[Record]:
    return [Record(b"value %d" % i, partition=partition) for i in range(count)]


def timed(count: int, base: int) -> list[Record]:
    """A second apart."""
    return [replace(record, time=base + i * 1000) for i, record in enumerate(numbered(count))]


def minute_ago() -> int:
    return int(time.time() * 1000) - 60_000


def acks(turn: Turn, acks: str) -> None:
    topic = turn.topic(1)
    told = turn.write(topic, numbered(10), Writing(acks=acks))
    untold = acks == "0" or turn.client.a_command
    check(untold or told == list(range(10)), f"the records were told offsets {told}")
    same(turn.read(topic, 10), numbered(10))


def codec(turn: Turn, codec: str) -> None:
    topic = turn.topic(1)
    sent = [Record(b"value %d " % i * 20, b"key %d" % i) for i in range(50)]
    turn.write(topic, sent, Writing(codec=codec))
    same(turn.read(topic, 50), sent)


def keys(turn: Turn) -> None:
    topic = turn.topic(3)
    sent = [Record(b"%d" % i, b"key %d" % (i % 10)) for i in range(60)]
    turn.write(topic, sent, Writing(by_key=True))
    places: dict[bytes | None, set[int]] = {}
    for record in turn.read(topic, 60):
        places.setdefault(record.key, set()).add(record.partition)
    check({len(used) for used in places.values()} == {1}, f"keys are in partitions {places}")
    used = set.union(*places.values())
    check(len(places) == 10 and len(used) > 1, f"{len(places)} keys in {len(used)} partitions")


def headers(turn: Turn) -> None:
    topic = turn.topic(1)
    odd = b"odd" if turn.client.a_command else b"\x00\xff"
    some = (("a", b"1"), ("b", odd), ("a", b"2"), ("c", b""))
    sent = [Record(b"some", headers=some), Record(b"none")]
    turn.write(topic, sent)
    same(turn.read(topic, 2), sent)


def nulls(turn: Turn) -> None:
    topic = turn.topic(1)
    sent = [Record(b"no key"), Record(None, b"no value"), Record(b"", b"")]
    turn.write(topic, sent)
    same(turn.read(topic, 3), sent)


def megabyte(turn: Turn) -> None:
    topic = turn.topic(1)
    chance = random.Random(1)
    value = chance.randbytes(500_000).hex().encode()
    turn.write(topic, [Record(value)])
    same(turn.read(topic, 1), [Record(value)])


def assign(turn: Turn) -> None:
    topic = turn.topic(3)
    for partition in range(3):
        turn.write(topic, numbered(5, partition))
    got = [(record.partition, record.offset) for record in turn.read(topic, 15)]
    check(got == [(i // 5, i % 5) for i in range(15)], f"records came from {got}")


def group(turn: Turn, protocol: str) -> None:
    topic = turn.topic(4)
    how = Reading(topic, turn.name, protocol=protocol)
    members = [turn.consumer(how), turn.consumer(how)]
    turn.settle(2, *members)
    if protocol == "modern":
        check(turn.name in turn.client.admin.modern_groups(), "the group is not of the modern kind")
    for partition in range(4):
        turn.write(topic, numbered(10, partition))
    got: list[Record] = []
    while len(got) < 40:
        turn.in_time(f"{len(got)} of 40 records came")
        got += [record for member in members for record in member.poll()]
    check(len({(record.partition, record.offset) for record in got}) == 40, "some records came twice")
    for member in members:
        member.commit()


def cooperative(turn: Turn) -> None:
    topic = turn.topic(4)
    how = Reading(topic, turn.name, protocol="cooperative")
    one = turn.consumer(how)
    turn.settle(4, one)
    two = turn.consumer(how)
    turn.settle(2, one, two)
    check(len(one.revoked()) == 2, f"the first member lost {one.revoked()}")


def static_member(turn: Turn) -> None:
    topic = turn.topic(4)
    how = Reading(topic, turn.name)
    one, two = (turn.consumer(replace(how, instance=name)) for name in ("one", "two"))
    turn.settle(2, one, two)
    before, lost = sorted(one.owned()), len(two.revoked())
    turn.leave(one)
    again = turn.consumer(replace(how, instance="one"))
    turn.settle(2, again, two)
    check(sorted(again.owned()) == before, f"it owned {before}, and then {again.owned()}")
    check(len(two.revoked()) == lost, "the other member was rebalanced")


def large_group(turn: Turn) -> None:
    topic = turn.topic(40)
    with ThreadPoolExecutor(20) as pool:
        members = list(pool.map(lambda _: turn.consumer(Reading(topic, turn.name)), range(20)))
        turn.settle(2, *members)
        list(pool.map(turn.leave, members))


def seek_offset(turn: Turn) -> None:
    topic = turn.topic(1)
    turn.write(topic, numbered(10))
    consumer = turn.consumer(Reading(topic))
    turn.next(consumer, 10)
    for offset in (3, 8):
        consumer.seek(0, offset)
        first = turn.next(consumer, 10 - offset)[0].offset
        check(first == offset, f"offset {first} came after a seek to {offset}")


def seek_time(turn: Turn) -> None:
    topic = turn.topic(1)
    base = minute_ago()
    turn.write(topic, timed(10, base))
    consumer = turn.consumer(Reading(topic))
    turn.next(consumer, 10)
    consumer.seek_time(0, base + 4500)
    first = turn.next(consumer, 5)[0]
    check((first.offset, first.time) == (5, base + 5000), f"offset {first.offset} came first")


def pause(turn: Turn) -> None:
    topic = turn.topic(2)
    consumer = turn.consumer(Reading(topic))
    turn.write(topic, numbered(1, 0))
    turn.next(consumer, 1)
    consumer.pause(0)
    turn.quiet(consumer, "nothing was written")  # a fetch under way may still bring what comes next
    turn.write(topic, numbered(5, 0))
    turn.write(topic, numbered(5, 1))
    came = {record.partition for record in turn.next(consumer, 5)}
    check(came == {1}, "a record came from the paused partition")
    turn.quiet(consumer, "partition 0 is paused")
    consumer.resume(0)
    first = turn.next(consumer, 5)[0].offset
    check(first == 1, f"offset {first} came first after resuming")


def commit(turn: Turn) -> None:
    topic = turn.topic(1)
    turn.write(topic, numbered(10))
    one = turn.consumer(Reading(topic, turn.name))
    turn.next(one, 10)
    one.commit()
    turn.leave(one)
    turn.write(topic, numbered(5))
    first = turn.next(turn.consumer(Reading(topic, turn.name)), 5)[0].offset
    check(first == 10, f"the next member went on at offset {first}")


def lag(turn: Turn) -> None:
    topic = turn.topic(1)
    turn.write(topic, numbered(10))
    member = turn.consumer(Reading(topic, turn.name))
    turn.next(member, 10)
    member.commit()
    turn.write(topic, numbered(3))
    admin = turn.client.admin
    lag = admin.offset(topic, 0, -1) - admin.group_offset(turn.name, topic, 0)
    check(lag == 3, f"the lag is {lag}")


def idempotent(turn: Turn) -> None:
    topic = turn.topic(1)
    producer = turn.producer(Writing(idempotent=True))
    sent = numbered(200)
    for i in range(0, 200, 20):
        producer.send(topic, sent[i : i + 20])
    same(turn.read(topic, 200), sent)


def transaction_commit(turn: Turn) -> None:
    topic = turn.topic(2)
    producer = turn.producer(Writing(transactional=turn.name))
    consumer = turn.consumer(Reading(topic, committed=True))
    producer.begin()
    producer.send(topic, numbered(5, 0) + numbered(5, 1))
    turn.quiet(consumer, "the transaction is open")
    producer.commit()
    turn.next(consumer, 10)


def transaction_abort(turn: Turn) -> None:
    topic = turn.topic(1)
    producer = turn.producer(Writing(transactional=turn.name))
    producer.begin()
    producer.send(topic, numbered(3))
    producer.abort()
    producer.begin()
    kept = [Record(b"kept 1"), Record(b"kept 2")]
    producer.send(topic, kept)
    producer.commit()
    same(turn.read(topic, 2, committed=True), kept)
    turn.read(topic, 5)


def transaction_offsets(turn: Turn) -> None:
    source, to = turn.topic(1), f"{turn.name}-to"
    turn.client.admin.create(to, 1, {})
    turn.write(source, numbered(10))
    for decision, expected in ((False, -1), (True, 10)):
        turn.client.transform(source, to, turn.name, turn.name, decision)
        told = turn.client.admin.group_offset(turn.name, source, 0)
        check(told == expected, f"the group's offset is {told}, not {expected}")
    same(turn.read(to, 10, committed=True), numbered(10))


def transaction_fencing(turn: Turn) -> None:
    topic = turn.topic(1)
    one = turn.producer(Writing(transactional=turn.name))
    one.begin()
    one.send(topic, numbered(1))
    two = turn.producer(Writing(transactional=turn.name))
    two.begin()
    kept = [Record(b"of the second")]
    two.send(topic, kept)
    two.commit()

    def go_on() -> None:
        one.send(topic, numbered(1))
        one.commit()

    refused(go_on, "the first producer could commit")
    same(turn.read(topic, 1, committed=True), kept)


def admin_create(turn: Turn) -> None:
    admin = turn.client.admin
    admin.create(turn.name, 3, {"retention.ms": "12345"})
    refused(lambda: admin.create(turn.name, 3, {}), "the same topic was created twice")
    count = admin.partitions(turn.name)
    check(count == 3, f"it has {count} partitions")
    told = admin.configs(turn.name)["retention.ms"]
    check(told == "12345", f"retention.ms is {told}")


def admin_delete(turn: Turn) -> None:
    topic = turn.topic(1)
    admin = turn.client.admin
    admin.delete(topic)
    count = admin.partitions(topic)
    check(count == 0, f"it still has {count} partitions")
    refused(lambda: admin.delete(topic), "it could be deleted twice")


def admin_grow(turn: Turn) -> None:
    topic = turn.topic(1)
    admin = turn.client.admin
    admin.grow(topic, 4)
    count = admin.partitions(topic)
    check(count == 4, f"it has {count} partitions")
    refused(lambda: admin.grow(topic, 2), "it could shrink")


def admin_configs(turn: Turn) -> None:
    topic = turn.topic(1)
    admin = turn.client.admin
    told = admin.configs(topic)
    policy = told["cleanup.policy"]
    check(policy == "delete" and len(told) >= 20, f"{len(told)} configs, cleanup.policy {policy}")
    admin.set_config(topic, "cleanup.policy", "compact")
    policy = admin.configs(topic)["cleanup.policy"]
    check(policy == "compact", f"cleanup.policy is {policy} after the change")
    nonsense = "cleanup.policy=nonsense was taken"
    refused(lambda: admin.set_config(topic, "cleanup.policy", "nonsense"), nonsense)


def admin_offsets(turn: Turn) -> None:
    topic = turn.topic(1)
    base = minute_ago()
    turn.write(topic, timed(10, base))
    for time_, expected in ((-2, 0), (-1, 10), (base + 2500, 3)):
        told = turn.client.admin.offset(topic, 0, time_)
        check(told == expected, f"the offset at {time_} is {told}, not {expected}")


def admin_groups(turn: Turn) -> None:
    topic = turn.topic(1)
    admin = turn.client.admin
    turn.write(topic, numbered(5))
    member = turn.consumer(Reading(topic, turn.name))
    turn.next(member, 5)
    member.commit()
    check(turn.name in admin.groups(), "the group is not listed")
    state, members = admin.group(turn.name)
    check((state.lower(), members) == ("stable", 1), f"the group is {state} with {members} members")
    turn.leave(member)
    while admin.group(turn.name)[0].lower() != "empty":
        turn.in_time("it does not empty")
    admin.set_group_offset(turn.name, topic, 0, 2)
    offset = admin.group_offset(turn.name, topic, 0)
    check(offset == 2, f"the group's offset is {offset}, not 2")
    admin.delete_group(turn.name)
    check(turn.name not in admin.groups(), "the deleted group is still listed")


def admin_records(turn: Turn) -> None:
    topic = turn.topic(1)
    turn.write(topic, numbered(10))
    turn.client.admin.delete_records(topic, 0, 4)
    first = turn.client.admin.offset(topic, 0, -2)
    check(first == 4, f"the first offset is {first}")
    check(turn.read(topic, 6)[0].offset == 4, "an earlier record came")


def admin_log_dirs(turn: Turn) -> None:
    topic = turn.topic(2)
    turn.write(topic, [Record(b"x" * 10_000)])
    size = turn.client.admin.log_dirs(topic)
    check(size >= 10_000, f"the topic takes up {size} bytes")


def reconnect(turn: Turn) -> None:
    topic = turn.topic(1)
    producer = turn.producer()
    consumer = turn.consumer(Reading(topic, turn.name))
    sent = numbered(6)
    producer.send(topic, sent[:3])
    got = turn.next(consumer, 3)
    consumer.commit()
    turn.restart()
    producer.send(topic, sent[3:])
    got += turn.next(consumer, 3)
    same(got, sent)
    consumer.commit()
    same(turn.read(topic, 6), sent)


SCENARIOS: Final[dict[str, Callable[[Turn], None]]] = {
    "acks-0": lambda turn: acks(turn, "0"),
    "acks-1": lambda turn: acks(turn, "1"),
    "acks-all": lambda turn: acks(turn, "all"),
    "codec-none": lambda turn: codec(turn, "none"),
    "codec-gzip": lambda turn: codec(turn, "gzip"),
    "codec-snappy": lambda turn: codec(turn, "snappy"),
    "codec-lz4": lambda turn: codec(turn, "lz4"),
    "codec-zstd": lambda turn: codec(turn, "zstd"),
    "keys": keys,
    "headers": headers,
    "nulls": nulls,
    "megabyte": megabyte,
    "assign": assign,
    "group": lambda turn: group(turn, "eager"),
    "cooperative": cooperative,
    "static-member": static_member,
    "modern-group": lambda turn: group(turn, "modern"),
    "large-group": large_group,
    "seek-offset": seek_offset,
    "seek-time": seek_time,
    "pause": pause,
    "commit": commit,
    "lag": lag,
    "idempotent": idempotent,
    "transaction-commit": transaction_commit,
    "transaction-abort": transaction_abort,
    "transaction-offsets": transaction_offsets,
    "transaction-fencing": transaction_fencing,
    "admin-create": admin_create,
    "admin-delete": admin_delete,
    "admin-grow": admin_grow,
    "admin-configs": admin_configs,
    "admin-offsets": admin_offsets,
    "admin-groups": admin_groups,
    "admin-records": admin_records,
    "admin-log-dirs": admin_log_dirs,
    "reconnect": reconnect,
}
