"""Subscriptions and assignments as other clients read and write them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from millstream.client.consumer_protocol import Subscription, decode_assignment, encode_assignment
from millstream.client.topics import TopicPartition
from millstream.errors import Refused

topics = st.text(alphabet="abcdefghij.-_", min_size=1, max_size=8)
partitions = st.lists(st.builds(TopicPartition, topics, st.integers(0, 2**31 - 1)), max_size=6, unique=True)
subscriptions = st.builds(
    Subscription,
    topics=st.lists(topics, max_size=4).map(tuple),
    owned=partitions.map(sorted).map(tuple),
    generation=st.integers(-1, 2**31 - 1),
    user_data=st.none() | st.binary(max_size=8),
    rack=st.none() | topics,
)


@given(subscriptions)
def test_a_subscription_comes_back(subscription: Subscription) -> None:
    assert Subscription.decode(subscription.encode()) == subscription


@given(partitions)
def test_an_assignment_comes_back(given: list[TopicPartition]) -> None:
    assert sorted(decode_assignment(encode_assignment(given))) == sorted(given)


@given(subscriptions)
def test_kafka_python_reads_our_subscription(ours: Subscription) -> None:
    theirs = ConsumerProtocolSubscription.decode(ours.encode())

    assert tuple(theirs.topics) == ours.topics
    assert [(t.topic, p) for t in theirs.owned_partitions for p in t.partitions] == [
        tuple(o) for o in ours.owned
    ]
    assert theirs.generation_id == ours.generation


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_we_read_kafka_pythons(version: int) -> None:
    theirs = ConsumerProtocolSubscription(
        topics=["a", "b"], user_data=b"x", owned_partitions=[], version=version
    )

    assert Subscription.decode(theirs.encode(version=version)).topics == ("a", "b")


def test_kafka_python_reads_our_assignment() -> None:
    theirs = ConsumerProtocolAssignment.decode(
        encode_assignment([TopicPartition("a", 1), TopicPartition("a", 0)])
    )

    assert [(each.topic, each.partitions) for each in theirs.assigned_partitions] == [("a", [0, 1])]


def test_a_member_that_was_left_out_has_nothing() -> None:
    assert decode_assignment(b"") == ()


@given(st.binary(max_size=64))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    with suppress(Refused):
        Subscription.decode(data)
    with suppress(Refused):
        decode_assignment(data)
