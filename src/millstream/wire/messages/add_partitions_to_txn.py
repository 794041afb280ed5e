"""AddPartitionsToTxn (key 24). Partitions join a transaction. From version 4 on only brokers ask, for many transactions at once.

Generated from wire/schema/add_partitions_to_txn.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    too_many,
    write_uvarint,
)

unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ihx: Final = struct.Struct(">ihx").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_qh: Final = struct.Struct(">qh").unpack_from
pack_qh: Final = struct.Struct(">qh").pack
pack_qho: Final = struct.Struct(">qh?").pack
unpack_qhoB: Final = struct.Struct(">qh?B").unpack_from
unpack_qhi: Final = struct.Struct(">qhi").unpack_from
pack_qhi: Final = struct.Struct(">qhi").pack


@final
class AddPartitionsToTxnRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class AddPartitionsToTxnRequestTransactionTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class AddPartitionsToTxnRequestTransaction(Struct):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnRequestTransactionTopic] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics: list[AddPartitionsToTxnRequestTransactionTopic] = [] if topics is EMPTY else topics


@final
class AddPartitionsToTxnRequest(Message):
    __slots__ = ("v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics", "transactions")
    FIELDS = ("v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics", "transactions")
    KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnRequestTopic] = EMPTY,
        transactions: list[AddPartitionsToTxnRequestTransaction] = EMPTY,
    ) -> None:
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnRequestTopic] = [] if v3_and_below_topics is EMPTY else v3_and_below_topics
        self.transactions: list[AddPartitionsToTxnRequestTransaction] = [] if transactions is EMPTY else transactions

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AddPartitionsToTxnRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AddPartitionsToTxnRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AddPartitionsToTxnRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version <= 3:
            raw = self.v3_and_below_transactional_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        if version >= 4:
            pass
        else:
            out += pack_qh(self.v3_and_below_producer_id, self.v3_and_below_producer_epoch)
        if version <= 3:
            n = len(self.v3_and_below_topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in self.v3_and_below_topics:
                raw = topic.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(topic.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
        if version >= 4:
            n = len(self.transactions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for transaction in self.transactions:
                raw = transaction.transactional_id.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_qho(transaction.producer_id, transaction.producer_epoch, transaction.verify_only)
                n = len(transaction.topics) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for transaction_topic in transaction.topics:
                    raw = transaction_topic.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    n = len(transaction_topic.partitions) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += struct.pack(f">{len(transaction_topic.partitions)}i", *transaction_topic.partitions)
                    out.append(0)
                out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.v3_and_below_transactional_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.v3_and_below_topics)
        out += pack_qhi(self.v3_and_below_producer_id, self.v3_and_below_producer_epoch, n)
        for topic in self.v3_and_below_topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)


def _read_flexible_request(reader: Reader, version: int) -> AddPartitionsToTxnRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    v3_and_below_transactional_id = ""
    if version <= 3:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("v3_and_below_transactional_id", n - 1, size - pos)
        v3_and_below_transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
    if version >= 4:
        v3_and_below_producer_id = 0
        v3_and_below_producer_epoch = 0
    else:
        v3_and_below_producer_id, v3_and_below_producer_epoch = unpack_qh(data, pos)
        pos += 10
    v3_and_below_topics: list[AddPartitionsToTxnRequestTopic] = EMPTY
    if version <= 3:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("v3_and_below_topics", n, size - pos)
        budget -= n
        v3_and_below_topics = []
        v3_and_below_topics_count = n
        for _ in range(v3_and_below_topics_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            v3_and_below_topics_name = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            v3_and_below_topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            v3_and_below_topics.append(AddPartitionsToTxnRequestTopic(v3_and_below_topics_name, v3_and_below_topics_partitions))
    transactions: list[AddPartitionsToTxnRequestTransaction] = EMPTY
    if version >= 4:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 14 or n > budget:
            raise too_many("transactions", n, size - pos)
        budget -= n
        transactions = []
        transactions_count = n
        for _ in range(transactions_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("transactional_id", n - 1, size - pos)
            transactions_transactional_id = data[pos:stop].tobytes().decode()
            pos = stop
            transactions_producer_id, transactions_producer_epoch, transactions_verify_only, n = unpack_qhoB(data, pos)
            pos += 12
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 3 or n > budget:
                raise too_many("topics", n, size - pos)
            budget -= n
            transactions_topics: list[AddPartitionsToTxnRequestTransactionTopic] = []
            transactions_topics_count = n
            for _ in range(transactions_topics_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                topics_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                n -= 1
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("partitions", n, size - pos)
                budget -= n
                topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                transactions_topics.append(AddPartitionsToTxnRequestTransactionTopic(topics_name, topics_partitions))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            transactions.append(AddPartitionsToTxnRequestTransaction(transactions_transactional_id, transactions_producer_id, transactions_producer_epoch, transactions_verify_only, transactions_topics))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AddPartitionsToTxnRequest(v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics, transactions)


def _read_older_request(reader: Reader, version: int) -> AddPartitionsToTxnRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("v3_and_below_transactional_id", n, size - pos)
    v3_and_below_transactional_id = data[pos:stop].tobytes().decode()
    pos = stop
    v3_and_below_producer_id, v3_and_below_producer_epoch, n = unpack_qhi(data, pos)
    pos += 14
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("v3_and_below_topics", n, size - pos)
    budget -= n
    v3_and_below_topics: list[AddPartitionsToTxnRequestTopic] = []
    v3_and_below_topics_count = n
    for _ in range(v3_and_below_topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        v3_and_below_topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        v3_and_below_topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
        pos += 4 * n
        v3_and_below_topics.append(AddPartitionsToTxnRequestTopic(v3_and_below_topics_name, v3_and_below_topics_partitions))
    reader.position = pos
    return AddPartitionsToTxnRequest(v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics, EMPTY)


@final
class AddPartitionsToTxnResponseTransactionPartition(Struct):
    __slots__ = ("partition_index", "partition_error_code")
    FIELDS = ("partition_index", "partition_error_code")

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


@final
class AddPartitionsToTxnResponseTransactionTopic(Struct):
    __slots__ = ("name", "results_by_partition")
    FIELDS = ("name", "results_by_partition")

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnResponseTransactionPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.results_by_partition: list[AddPartitionsToTxnResponseTransactionPartition] = [] if results_by_partition is EMPTY else results_by_partition


@final
class AddPartitionsToTxnResponseTransaction(Struct):
    __slots__ = ("transactional_id", "topic_results")
    FIELDS = ("transactional_id", "topic_results")

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnResponseTransactionTopic] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results: list[AddPartitionsToTxnResponseTransactionTopic] = [] if topic_results is EMPTY else topic_results


@final
class AddPartitionsToTxnResponsePartition(Struct):
    __slots__ = ("partition_index", "partition_error_code")
    FIELDS = ("partition_index", "partition_error_code")

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


@final
class AddPartitionsToTxnResponseTopic(Struct):
    __slots__ = ("name", "results_by_partition")
    FIELDS = ("name", "results_by_partition")

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.results_by_partition: list[AddPartitionsToTxnResponsePartition] = [] if results_by_partition is EMPTY else results_by_partition


@final
class AddPartitionsToTxnResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    FIELDS = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResponseTransaction] = EMPTY,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResponseTransaction] = [] if results_by_transaction is EMPTY else results_by_transaction
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseTopic] = [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AddPartitionsToTxnResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AddPartitionsToTxnResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AddPartitionsToTxnResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 4:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        else:
            out += pack_i(self.throttle_time_ms)
        if version >= 4:
            n = len(self.results_by_transaction) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for transaction in self.results_by_transaction:
                raw = transaction.transactional_id.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(transaction.topic_results) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for transaction_topic in transaction.topic_results:
                    raw = transaction_topic.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    n = len(transaction_topic.results_by_partition) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    for transaction_partition in transaction_topic.results_by_partition:
                        out += pack_ihx(transaction_partition.partition_index, transaction_partition.partition_error_code)
                    out.append(0)
                out.append(0)
        if version <= 3:
            n = len(self.results_by_topic_v3_and_below) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in self.results_by_topic_v3_and_below:
                raw = topic.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(topic.results_by_partition) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for partition in topic.results_by_partition:
                    out += pack_ihx(partition.partition_index, partition.partition_error_code)
                out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results_by_topic_v3_and_below)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.results_by_topic_v3_and_below:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.results_by_partition)
            out += pack_i(n)
            for partition in topic.results_by_partition:
                out += pack_ih(partition.partition_index, partition.partition_error_code)


def _read_flexible_response(reader: Reader, version: int) -> AddPartitionsToTxnResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 4:
        throttle_time_ms, error_code = unpack_ih(data, pos)
        pos += 6
    else:
        (throttle_time_ms,) = unpack_i(data, pos)
        pos += 4
        error_code = 0
    results_by_transaction: list[AddPartitionsToTxnResponseTransaction] = EMPTY
    if version >= 4:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("results_by_transaction", n, size - pos)
        budget -= n
        results_by_transaction = []
        results_by_transaction_count = n
        for _ in range(results_by_transaction_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("transactional_id", n - 1, size - pos)
            results_by_transaction_transactional_id = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 3 or n > budget:
                raise too_many("topic_results", n, size - pos)
            budget -= n
            results_by_transaction_topic_results: list[AddPartitionsToTxnResponseTransactionTopic] = []
            results_by_transaction_topic_results_count = n
            for _ in range(results_by_transaction_topic_results_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                topic_results_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                n -= 1
                if n < 0 or n > (size - pos) // 7 or n > budget:
                    raise too_many("results_by_partition", n, size - pos)
                budget -= n
                topic_results_results_by_partition: list[AddPartitionsToTxnResponseTransactionPartition] = []
                topic_results_results_by_partition_count = n
                for _ in range(topic_results_results_by_partition_count):
                    results_by_partition_partition_index, results_by_partition_partition_error_code, tags = unpack_ihB(data, pos)
                    pos += 7
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    topic_results_results_by_partition.append(AddPartitionsToTxnResponseTransactionPartition(results_by_partition_partition_index, results_by_partition_partition_error_code))
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                results_by_transaction_topic_results.append(AddPartitionsToTxnResponseTransactionTopic(topic_results_name, topic_results_results_by_partition))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            results_by_transaction.append(AddPartitionsToTxnResponseTransaction(results_by_transaction_transactional_id, results_by_transaction_topic_results))
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseTopic] = EMPTY
    if version <= 3:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("results_by_topic_v3_and_below", n, size - pos)
        budget -= n
        results_by_topic_v3_and_below = []
        results_by_topic_v3_and_below_count = n
        for _ in range(results_by_topic_v3_and_below_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            results_by_topic_v3_and_below_name = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 7 or n > budget:
                raise too_many("results_by_partition", n, size - pos)
            budget -= n
            results_by_topic_v3_and_below_results_by_partition: list[AddPartitionsToTxnResponsePartition] = []
            results_by_topic_v3_and_below_results_by_partition_count = n
            for _ in range(results_by_topic_v3_and_below_results_by_partition_count):
                results_by_topic_v3_and_below_results_by_partition_partition_index, results_by_topic_v3_and_below_results_by_partition_partition_error_code, tags = unpack_ihB(data, pos)
                pos += 7
                if tags:
                    pos = skip_tags(data, pos, tags)
                results_by_topic_v3_and_below_results_by_partition.append(AddPartitionsToTxnResponsePartition(results_by_topic_v3_and_below_results_by_partition_partition_index, results_by_topic_v3_and_below_results_by_partition_partition_error_code))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            results_by_topic_v3_and_below.append(AddPartitionsToTxnResponseTopic(results_by_topic_v3_and_below_name, results_by_topic_v3_and_below_results_by_partition))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below)


def _read_older_response(reader: Reader, version: int) -> AddPartitionsToTxnResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("results_by_topic_v3_and_below", n, size - pos)
    budget -= n
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseTopic] = []
    results_by_topic_v3_and_below_count = n
    for _ in range(results_by_topic_v3_and_below_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        results_by_topic_v3_and_below_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("results_by_partition", n, size - pos)
        budget -= n
        results_by_topic_v3_and_below_results_by_partition: list[AddPartitionsToTxnResponsePartition] = []
        results_by_topic_v3_and_below_results_by_partition_count = n
        for _ in range(results_by_topic_v3_and_below_results_by_partition_count):
            results_by_partition_partition_index, results_by_partition_partition_error_code = unpack_ih(data, pos)
            pos += 6
            results_by_topic_v3_and_below_results_by_partition.append(AddPartitionsToTxnResponsePartition(results_by_partition_partition_index, results_by_partition_partition_error_code))
        results_by_topic_v3_and_below.append(AddPartitionsToTxnResponseTopic(results_by_topic_v3_and_below_name, results_by_topic_v3_and_below_results_by_partition))
    reader.position = pos
    return AddPartitionsToTxnResponse(throttle_time_ms, 0, EMPTY, results_by_topic_v3_and_below)
