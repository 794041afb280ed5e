"""Records and batches for tests, made by us and by two other implementations."""

from collections.abc import Sequence
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build, seal
from millstream.records.compression import Codec
from millstream.records.read import Record

NOW_MS = 1_700_000_000_000
PLENTY = 64 << 20

ORACLES = {
    "aiokafka": (AiokafkaBuilder, AiokafkaBatch),
    "kafka-python": (KafkaPythonBuilder, KafkaPythonBatch),
}
# kafka-python wants a library for snappy that only it would use here.
ORACLES_AND_CODECS = [
    (oracle, codec)
    for oracle in ORACLES
    for codec in Codec
    if (oracle, codec) != ("kafka-python", Codec.SNAPPY)
]

timestamps = st.integers(0, 2**42) | st.integers(NOW_MS - 300, NOW_MS + 300)
maybe_bytes = st.none() | st.binary(max_size=200) | st.integers(0, 300).map(bytes)
headers = st.lists(st.tuples(st.text(max_size=20), maybe_bytes), max_size=3).map(tuple)
new_records = st.builds(NewRecord, maybe_bytes, maybe_bytes, headers, timestamps)
record_lists = st.lists(new_records, min_size=1, max_size=20)


def built_by(
    oracle: str,
    records: Sequence[NewRecord],
    codec: Codec = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytes:
    """A batch of *records* as another implementation writes it."""
    builder: Any = ORACLES[oracle][0](2, int(codec), int(transactional), *producer, 1 << 30)
    for offset, record in enumerate(records):
        assert builder.append(offset, record.timestamp_ms, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def read_by(oracle: str, data: bytes | bytearray) -> list[Record]:
    """The records that another implementation finds in the batch *data*, whose checksum it finds right."""
    batch: Any = ORACLES[oracle][1](data)
    assert batch.validate_crc()
    return [
        Record(it.offset, it.timestamp, _bytes(it.key), _bytes(it.value), tuple(it.headers)) for it in batch
    ]


def numbered(count: int, **kwargs: Any) -> bytearray:
    """A batch of *count* small records with distinct keys and values."""
    records = [NewRecord(b"key %d" % n, b"value %d" % n, (), NOW_MS + n) for n in range(count)]
    return build(records, now_ms=NOW_MS, **kwargs)


def placed(records: Sequence[NewRecord], base_offset: int = 0) -> list[Record]:
    """*records* as they should be read back."""
    return [
        Record(
            base_offset + n,
            NOW_MS if it.timestamp_ms is None else it.timestamp_ms,
            it.key,
            it.value,
            it.headers,
        )
        for n, it in enumerate(records)
    ]


def changed(data: bytes | bytearray, at: int, new: bytes) -> bytearray:
    """The batch *data* with *new* written over it at *at*, and a checksum that says all is well."""
    out = bytearray(data)
    out[at : at + len(new)] = new
    batch = Batch(bytes(data))
    seal(out, batch.base_offset, batch.leader_epoch)
    return out


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
