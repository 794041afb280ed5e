"""Keys land where every other client puts them."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as oracle

from millstream.records.keys import murmur2, partition_of_key


@given(st.binary(max_size=64))
def test_hashes_as_kafka_python_does(key: bytes) -> None:
    assert murmur2(key) == oracle(key) & 0xFFFFFFFF


def test_hashes_as_java_does() -> None:
    """The figures in Kafka's own UtilsTest."""
    expected = {
        b"21": -973932308,
        b"foobar": -790332482,
        b"a-little-bit-long-string": -985981536,
        b"abc": 479470107,
    }

    assert {key: murmur2(key) for key in expected} == {
        key: hashed & 0xFFFFFFFF for key, hashed in expected.items()
    }


@given(st.binary(max_size=32), st.integers(1, 1000))
def test_a_key_has_one_partition(key: bytes, count: int) -> None:
    assert partition_of_key(key, count) == (oracle(key) & 0x7FFFFFFF) % count
