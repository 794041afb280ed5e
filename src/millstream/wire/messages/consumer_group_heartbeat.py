"""ConsumerGroupHeartbeat (key 68). A member of a consumer group of the newer protocol joins, lives, reconciles and leaves.

Generated from wire/schema/consumer_group_heartbeat.txt by tools/generate_messages.py: change that, not this.
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

pack_16s: Final = struct.Struct(">16s").pack
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_b: Final = struct.Struct(">b").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class ConsumerGroupHeartbeatRequestTopic(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class ConsumerGroupHeartbeatRequest(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "topic_partitions")
    FIELDS = ("group_id", "member_id", "member_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "topic_partitions")
    KEY = 68
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[ConsumerGroupHeartbeatRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ConsumerGroupHeartbeatRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ConsumerGroupHeartbeatRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ConsumerGroupHeartbeatRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        raw = self.member_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.member_epoch)
        instance_id = self.instance_id
        if instance_id is None:
            raw = b""
            n = 0
        else:
            raw = instance_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        rack_id = self.rack_id
        if rack_id is None:
            raw = b""
            n = 0
        else:
            raw = rack_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.rebalance_timeout_ms)
        subscribed_topic_names = self.subscribed_topic_names
        if subscribed_topic_names is None:
            n = 0
        else:
            n = len(subscribed_topic_names) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if subscribed_topic_names is not None:
            for text in subscribed_topic_names:
                raw = text.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
        if version >= 1:
            subscribed_topic_regex = self.subscribed_topic_regex
            if subscribed_topic_regex is None:
                raw = b""
                n = 0
            else:
                raw = subscribed_topic_regex.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        server_assignor = self.server_assignor
        if server_assignor is None:
            raw = b""
            n = 0
        else:
            raw = server_assignor.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        topic_partitions = self.topic_partitions
        if topic_partitions is None:
            n = 0
        else:
            n = len(topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if topic_partitions is not None:
            for topic in topic_partitions:
                out += pack_16s(topic.topic_id)
                n = len(topic.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> ConsumerGroupHeartbeatRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("group_id", n - 1, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("member_id", n - 1, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    member_epoch, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        instance_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("instance_id", n - 1, size - pos)
        instance_id = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        rack_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("rack_id", n - 1, size - pos)
        rack_id = data[pos:stop].tobytes().decode()
        pos = stop
    rebalance_timeout_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    subscribed_topic_names: list[str] | None
    if n == -1:
        subscribed_topic_names = None
    else:
        if n < 0 or n > size - pos or n > budget:
            raise too_many("subscribed_topic_names", n, size - pos)
        budget -= n
        subscribed_topic_names = []
        subscribed_topic_names_count = n
        for _ in range(subscribed_topic_names_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("subscribed_topic_names", n - 1, size - pos)
            subscribed_topic_names.append(data[pos:stop].tobytes().decode())
            pos = stop
    subscribed_topic_regex = None
    if version >= 1:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            subscribed_topic_regex = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("subscribed_topic_regex", n - 1, size - pos)
            subscribed_topic_regex = data[pos:stop].tobytes().decode()
            pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        server_assignor = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("server_assignor", n - 1, size - pos)
        server_assignor = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    topic_partitions: list[ConsumerGroupHeartbeatRequestTopic] | None
    if n == -1:
        topic_partitions = None
    else:
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("topic_partitions", n, size - pos)
        budget -= n
        topic_partitions = []
        topic_partitions_count = n
        for _ in range(topic_partitions_count):
            topic_partitions_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topic_partitions_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topic_partitions.append(ConsumerGroupHeartbeatRequestTopic(topic_partitions_topic_id, topic_partitions_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, subscribed_topic_regex, server_assignor, topic_partitions)


@final
class ConsumerGroupHeartbeatResponseTopic(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class ConsumerGroupHeartbeatResponseAssignment(Struct):
    __slots__ = ("topic_partitions",)
    FIELDS = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[ConsumerGroupHeartbeatResponseTopic] = EMPTY,
    ) -> None:
        self.topic_partitions: list[ConsumerGroupHeartbeatResponseTopic] = [] if topic_partitions is EMPTY else topic_partitions


@final
class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")
    KEY = 68
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: ConsumerGroupHeartbeatResponseAssignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ConsumerGroupHeartbeatResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ConsumerGroupHeartbeatResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ConsumerGroupHeartbeatResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        error_message = self.error_message
        if error_message is None:
            raw = b""
            n = 0
        else:
            raw = error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        member_id = self.member_id
        if member_id is None:
            raw = b""
            n = 0
        else:
            raw = member_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_ii(self.member_epoch, self.heartbeat_interval_ms)
        assignment = self.assignment
        if assignment is None:
            out.append(255)
        else:
            out.append(1)
            n = len(assignment.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in assignment.topic_partitions:
                out += pack_16s(topic.topic_id)
                n = len(topic.partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> ConsumerGroupHeartbeatResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        error_message = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("error_message", n - 1, size - pos)
        error_message = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        member_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("member_id", n - 1, size - pos)
        member_id = data[pos:stop].tobytes().decode()
        pos = stop
    member_epoch, heartbeat_interval_ms = unpack_ii(data, pos)
    pos += 8
    (n,) = unpack_b(data, pos)
    pos += 1
    if n < 0:
        assignment = None
    else:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("topic_partitions", n, size - pos)
        budget -= n
        assignment_topic_partitions: list[ConsumerGroupHeartbeatResponseTopic] = []
        assignment_topic_partitions_count = n
        for _ in range(assignment_topic_partitions_count):
            topic_partitions_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topic_partitions_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            assignment_topic_partitions.append(ConsumerGroupHeartbeatResponseTopic(topic_partitions_topic_id, topic_partitions_partitions))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        assignment = ConsumerGroupHeartbeatResponseAssignment(assignment_topic_partitions)
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ConsumerGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment)
