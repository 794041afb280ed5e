"""DeleteTopics (key 20). Delete topics, by name or by id.

Generated from wire/schema/delete_topics.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    ZERO_UUID,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    too_many,
    write_uvarint,
)

unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_16sh: Final = struct.Struct(">16sh").unpack_from
pack_16sh: Final = struct.Struct(">16sh").pack
pack_16sx: Final = struct.Struct(">16sx").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class DeleteTopicsRequestTopic(Struct):
    __slots__ = ("name", "topic_id")
    FIELDS = ("name", "topic_id")

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


@final
class DeleteTopicsRequest(Message):
    __slots__ = ("topic_names", "topics", "timeout_ms")
    FIELDS = ("topic_names", "topics", "timeout_ms")
    KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        topic_names: list[str] = EMPTY,
        topics: list[DeleteTopicsRequestTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topic_names: list[str] = [] if topic_names is EMPTY else topic_names
        self.topics: list[DeleteTopicsRequestTopic] = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteTopicsRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteTopicsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteTopicsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version <= 5:
            n = len(self.topic_names) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for text in self.topic_names:
                raw = text.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
        if version >= 6:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in self.topics:
                topic_name = topic.name
                if topic_name is None:
                    raw = b""
                    n = 0
                else:
                    raw = topic_name.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_16sx(topic.topic_id)
        out += pack_ix(self.timeout_ms)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topic_names)
        out += pack_i(n)
        for text in self.topic_names:
            raw = text.encode()
            out += pack_h(len(raw))
            out += raw
        out += pack_i(self.timeout_ms)


def _read_flexible_request(reader: Reader, version: int) -> DeleteTopicsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    topic_names: list[str] = EMPTY
    if version <= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > size - pos or n > budget:
            raise too_many("topic_names", n, size - pos)
        budget -= n
        topic_names = []
        topic_names_count = n
        for _ in range(topic_names_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic_names", n - 1, size - pos)
            topic_names.append(data[pos:stop].tobytes().decode())
            pos = stop
    topics: list[DeleteTopicsRequestTopic] = EMPTY
    if version >= 6:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        topics = []
        topics_count = n
        for _ in range(topics_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                topics_name = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("name", n - 1, size - pos)
                topics_name = data[pos:stop].tobytes().decode()
                pos = stop
            topics_topic_id, tags = unpack_16sB(data, pos)
            pos += 17
            if tags:
                pos = skip_tags(data, pos, tags)
            topics.append(DeleteTopicsRequestTopic(topics_name, topics_topic_id))
    timeout_ms, tags = unpack_iB(data, pos)
    pos += 5
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteTopicsRequest(topic_names, topics, timeout_ms)


def _read_older_request(reader: Reader, version: int) -> DeleteTopicsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("topic_names", n, size - pos)
    budget -= n
    topic_names: list[str] = []
    topic_names_count = n
    for _ in range(topic_names_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic_names", n, size - pos)
        topic_names.append(data[pos:stop].tobytes().decode())
        pos = stop
    (timeout_ms,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return DeleteTopicsRequest(topic_names, EMPTY, timeout_ms)


@final
class DeleteTopicsResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message")
    FIELDS = ("name", "topic_id", "error_code", "error_message")

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


@final
class DeleteTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "responses")
    FIELDS = ("throttle_time_ms", "responses")
    KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeleteTopicsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[DeleteTopicsResponseTopic] = [] if responses is EMPTY else responses

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteTopicsResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteTopicsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteTopicsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.responses) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.responses:
            topic_name = topic.name
            if topic_name is None:
                if version < 6:
                    raise ValueError(f"name may not be null in version {version}")
                raw = b""
                n = 0
            else:
                raw = topic_name.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 6:
                out += pack_16sh(topic.topic_id, topic.error_code)
            else:
                out += pack_h(topic.error_code)
            if version >= 5:
                topic_error_message = topic.error_message
                if topic_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = topic_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.responses)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.responses:
            topic_name = topic.name
            if topic_name is None:
                raise ValueError(f"name may not be null in version {version}")
            else:
                raw = topic_name.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
            out += pack_h(topic.error_code)


def _read_flexible_response(reader: Reader, version: int) -> DeleteTopicsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[DeleteTopicsResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0 and version >= 6:
            responses_name = None
        else:
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            responses_name = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 6:
            responses_topic_id, responses_error_code = unpack_16sh(data, pos)
            pos += 18
        else:
            (responses_error_code,) = unpack_h(data, pos)
            pos += 2
            responses_topic_id = ZERO_UUID
        responses_error_message = None
        if version >= 5:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                responses_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                responses_error_message = data[pos:stop].tobytes().decode()
                pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        responses.append(DeleteTopicsResponseTopic(responses_name, responses_topic_id, responses_error_code, responses_error_message))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteTopicsResponse(throttle_time_ms, responses)


def _read_older_response(reader: Reader, version: int) -> DeleteTopicsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[DeleteTopicsResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        responses_name = data[pos:stop].tobytes().decode()
        pos = stop
        (responses_error_code,) = unpack_h(data, pos)
        pos += 2
        responses.append(DeleteTopicsResponseTopic(responses_name, ZERO_UUID, responses_error_code, None))
    reader.position = pos
    return DeleteTopicsResponse(throttle_time_ms, responses)
