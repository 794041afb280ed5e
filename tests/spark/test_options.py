from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.client.offsets import EARLIEST, LATEST
from millstream.client.topics import TopicPartition
from millstream.spark.options import Place, SourceOptions, read_options
from millstream.spark.words import InvalidOption, from_json, to_json

BASE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def parsed(streaming: bool = False, base: dict[str, str] = BASE, **options: Any) -> SourceOptions:
    """Options as Spark hands them over: with small names. `kafka_x_y` stands for `kafka.x.y`."""
    return read_options(base | _small(options), streaming=streaming)


def refused(streaming: bool = False, base: dict[str, str] = BASE, **options: Any) -> str:
    with pytest.raises(InvalidOption) as problem:
        parsed(streaming, base, **options)
    return str(problem.value)


def _small(options: dict[str, str]) -> dict[str, str]:
    return {
        (name.replace("_", ".") if name.startswith("kafka_") else name).lower(): value
        for name, value in options.items()
    }


def test_defaults_are_those_of_sparks_connector() -> None:
    batch, stream = parsed(), parsed(streaming=True)

    assert batch.topics == ("orders",)
    assert batch.start == Place(everywhere=EARLIEST)
    assert batch.end == Place(everywhere=LATEST)
    assert stream.start == Place(everywhere=LATEST)
    assert batch.fail_on_data_loss
    assert not batch.committed_only
    assert not batch.headers
    assert batch.max_offsets is batch.min_partitions is None


def test_topics_are_named_in_one_of_three_ways() -> None:
    base = {"kafka.bootstrap.servers": "localhost"}

    assert parsed(base=base, subscribe=" orders, refunds ,orders").topics == ("orders", "refunds")
    assert parsed(base=base, subscribePattern="or.*").pattern == "or.*"
    assert parsed(base=base, assign='{"orders": [1, 0], "b": 2}').assigned == (
        TopicPartition("b", 2),
        TopicPartition("orders", 0),
        TopicPartition("orders", 1),
    )
    assert "none is given" in refused(base=base)
    assert "not subscribe and assign at once" in refused(assign='{"orders": [0]}')


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"startingOffsets": "earliest"}, Place(everywhere=EARLIEST)),
        (
            {"startingOffsets": '{"orders": {"0": 23, "1": -2}}'},
            Place(each={TopicPartition("orders", 0): 23, TopicPartition("orders", 1): EARLIEST}),
        ),
        ({"startingTimestamp": "1700000000000"}, Place(1_700_000_000_000, None, True, "error")),
        ({"startingTimestamp": "2023-11-14T22:13:20Z"}, Place(1_700_000_000_000, None, True, "error")),
        ({"startingTimestamp": "2023-11-14T23:13:20+01:00"}, Place(1_700_000_000_000, None, True, "error")),
        (
            {
                "startingOffsetsByTimestamp": '{"orders": {"0": 5}}',
                "startingOffsetsByTimestampStrategy": "latest",
            },
            Place(None, {TopicPartition("orders", 0): 5}, True, "latest"),
        ),
        (
            {"startingOffsets": "earliest", "startingTimestamp": "5"},
            Place(5, None, True, "error"),
        ),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_where_to_begin(streaming: bool, options: dict[str, Any], place: Place) -> None:
    assert parsed(streaming, **options).start == place


def test_where_to_end() -> None:
    assert parsed(endingOffsets='{"orders": {"0": 50}}').end == Place(each={TopicPartition("orders", 0): 50})
    assert parsed(endingTimestamp="77").end == Place(everywhere=77, by_time=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"startingOfsets": "earliest"}, "no option 'startingofsets'; did you mean 'startingOffsets'?"),
        ({"kafka_isolation_lvel": "x"}, "did you mean 'kafka.isolation.level'?"),
        ({"zzz": "1"}, "no option 'zzz'"),
        ({"kafka_auto_offset_reset": "earliest"}, "startingOffsets says where to begin"),
        ({"startingOffsets": "first"}, "write JSON such as"),
        ({"startingOffsets": "[1]"}, "write JSON such as"),
        ({"startingOffsets": '{"orders": 5}'}, "says 5 of 'orders'"),
        ({"startingOffsets": '{"orders": {"x": 5}}'}, "names a partition 'x'"),
        ({"startingOffsets": '{"orders": {"0": "5"}}'}, "says '5' of orders-0"),
        ({"startingOffsets": '{"orders": {"0": true}}'}, "says True of orders-0"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "below -2"),
        ({"startingOffsets": "latest"}, "cannot be latest (-1)"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "cannot be earliest (-2)"),
        ({"startingTimestamp": "yesterday"}, "2026-11-01T00:00:00Z"),
        ({"startingTimestamp": "2026-11-01T00:00:00"}, "2026-11-01T00:00:00Z"),
        ({"maxOffsetsPerTrigger": "5"}, "for a stream only"),
        ({"minPartitions": "0"}, "a whole number of at least 1"),
        ({"minPartitions": "many"}, "a whole number of at least 1"),
        ({"failOnDataLoss": "maybe"}, "it may be true or false"),
        ({"kafka_isolation_level": "dirty"}, "read_uncommitted or read_committed"),
        ({"kafka_security_protocol": "SASL_SSL"}, "PLAINTEXT or SSL"),
        ({"kafka_ssl_truststore_location": "trust.jks"}, "PEM"),
        ({"kafka_bootstrap_servers": "http://x"}, "has no valid port"),
    ],
)
def test_what_is_unclear_is_refused_with_a_way_out(options: dict[str, Any], words: str) -> None:
    assert words in refused(**options)


def test_a_limit_is_for_a_stream() -> None:
    assert parsed(streaming=True, maxOffsetsPerTrigger="7").max_offsets == 7
    assert parsed(streaming=True, startingOffsets="latest").start == Place(everywhere=LATEST)


def test_a_password_is_not_shown_where_options_are() -> None:
    secret: dict[str, Any] = {"kafka_ssl_key_password": "hunter2", "kafka_security_protocol": "ssl"}

    chosen = parsed(**secret)
    assert chosen.reach.key_password == "hunter2"
    assert "hunter2" not in repr(chosen)


def test_options_of_sparks_connector_without_use_here_are_let_pass() -> None:
    others: dict[str, Any] = {"kafkaConsumer.pollTimeoutMs": "5", "fetchOffset.numRetries": "1"}
    parsed(groupIdPrefix="x", **others)


offsets = st.dictionaries(st.builds(TopicPartition, st.text(), st.integers(0, 99)), st.integers(0, 2**62))


@given(offsets=offsets)
def test_offsets_survive_sparks_checkpoint(offsets: Any) -> None:
    assert from_json(to_json(offsets)) == offsets
