"""A client that says whatever it is told to, byte by byte."""

import socket
import struct
import time
from types import TracebackType

from millstream.records.build import NewRecord, build
from millstream.wire.apis import APIS, RequestHeader, read_response_header
from millstream.wire.frame import request_frame
from millstream.wire.message import Message, read_message
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)
from millstream.wire.primitives import Reader


class Raw:
    def __init__(self, port: int, timeout: float = 30.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)

    def __enter__(self) -> "Raw":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes | bytearray) -> None:
        self.socket.sendall(data)

    def reset(self) -> None:
        """Break the connection off with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def is_closed(self) -> bool:
        """Wait for the other side to close or speak; whether it closed."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def ask(self, request: Message, version: int, correlation_id: int = 7) -> Message:
        self.send(request_frame(RequestHeader(request.KEY, version, correlation_id, "raw"), request))
        reader = Reader(self.frame())
        assert read_response_header(reader, request.KEY, version) == correlation_id
        return read_message(APIS[request.KEY].response, reader.data[reader.position :], version)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            assert part, f"closed after {len(data)} of {size} bytes"
            data += part
        return bytes(data)


def batch(value: bytes = b"v", key: bytes | None = b"k") -> bytearray:
    return build([NewRecord(key, value)], now_ms=int(time.time() * 1000))


def produce_request(
    topic: str, records: bytes | bytearray | None, acks: int = -1, index: int = 0
) -> ProduceRequest:
    data = ProduceRequestPartitionData(index, records)
    return ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[ProduceRequestTopicData(topic, partition_data=[data])]
    )


def create(raw: Raw, topic: str) -> None:
    raw.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 9)


def produced(raw: Raw, topic: str, records: bytes | bytearray | None, version: int = 9) -> tuple[int, int]:
    """(error code, base offset) of one batch into partition 0."""
    response = raw.ask(produce_request(topic, records), version)
    assert isinstance(response, ProduceResponse)
    partition = response.responses[0].partition_responses[0]
    return partition.error_code, partition.base_offset
