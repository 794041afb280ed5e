"""The APIs we serve: their keys, their versions, and the headers that go before their messages.

Ranges are those of Kafka 4.3; consoles and clients guess a broker's release
from them, so they change only together. Request and response classes are
imported when first asked for.
"""

import struct
from importlib import import_module
from typing import Final, final

from millstream.wire.message import Message
from millstream.wire.primitives import Reader, malformed, refusal, skip_tags, write_string

API_VERSIONS: Final = 18

_HEADER: Final = struct.Struct(">hhih")  # key, version, correlation id, length of the client id
_HEADER_START: Final = struct.Struct(">hhi")
_INT32: Final = struct.Struct(">i")
assert _HEADER.size == _HEADER_START.size + 2


@final
class Api:
    """One API: what we serve of it and where its messages are."""

    __slots__ = ("_messages", "advertised_min", "flexible_from", "key", "max", "min", "module", "name")

    def __init__(
        self, key: int, name: str, versions: tuple[int, int], flexible_from: int, advertised_min: int = -1
    ) -> None:
        self.key = key
        self.name = name
        self.min, self.max = versions
        self.flexible_from = flexible_from
        self.advertised_min = self.min if advertised_min < 0 else advertised_min
        self.module = _snake(name)
        self._messages: tuple[type[Message], type[Message]] | None = None

    def serves(self, version: int) -> bool:
        return self.min <= version <= self.max

    @property
    def request(self) -> type[Message]:
        """The class of its requests."""
        return self._load()[0]

    @property
    def response(self) -> type[Message]:
        """The class of its responses."""
        return self._load()[1]

    def _load(self) -> tuple[type[Message], type[Message]]:
        if self._messages is None:
            module = import_module(f"millstream.wire.messages.{self.module}")
            self._messages = (getattr(module, f"{self.name}Request"), getattr(module, f"{self.name}Response"))
        return self._messages

    def __repr__(self) -> str:
        return f"Api({self.key} {self.name} {self.min}-{self.max})"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


_NEVER: Final = 1 << 15  # no version reaches it

APIS: Final[dict[int, Api]] = {
    api.key: api
    for api in (
        # Advertised from 0: librdkafka before 2.11.1 silently stops compressing otherwise.
        Api(0, "Produce", (3, 13), 9, advertised_min=0),
        Api(1, "Fetch", (4, 18), 12),
        Api(2, "ListOffsets", (1, 11), 6),
        Api(3, "Metadata", (0, 13), 9),
        Api(8, "OffsetCommit", (2, 10), 8),
        Api(9, "OffsetFetch", (1, 10), 6),
        Api(10, "FindCoordinator", (0, 6), 3),
        Api(11, "JoinGroup", (0, 9), 6),
        Api(12, "Heartbeat", (0, 4), 4),
        Api(13, "LeaveGroup", (0, 5), 4),
        Api(14, "SyncGroup", (0, 5), 4),
        Api(15, "DescribeGroups", (0, 6), 5),
        Api(16, "ListGroups", (0, 5), 3),
        Api(18, "ApiVersions", (0, 4), 3),
        Api(19, "CreateTopics", (2, 7), 5),
        Api(20, "DeleteTopics", (1, 6), 4),
        Api(21, "DeleteRecords", (0, 2), 2),
        Api(22, "InitProducerId", (0, 5), 2),
        Api(23, "OffsetForLeaderEpoch", (2, 4), 4),
        Api(24, "AddPartitionsToTxn", (0, 5), 3),
        Api(25, "AddOffsetsToTxn", (0, 4), 3),
        Api(26, "EndTxn", (0, 5), 3),
        Api(27, "WriteTxnMarkers", (1, 2), 1),
        Api(28, "TxnOffsetCommit", (0, 5), 3),
        Api(29, "DescribeAcls", (1, 3), 2),
        Api(30, "CreateAcls", (1, 3), 2),
        Api(31, "DeleteAcls", (1, 3), 2),
        Api(32, "DescribeConfigs", (1, 4), 4),
        Api(33, "AlterConfigs", (0, 2), 2),
        Api(34, "AlterReplicaLogDirs", (1, 2), 2),
        Api(35, "DescribeLogDirs", (1, 5), 2),
        Api(37, "CreatePartitions", (0, 3), 2),
        Api(42, "DeleteGroups", (0, 2), 2),
        Api(43, "ElectLeaders", (0, 2), 2),
        Api(44, "IncrementalAlterConfigs", (0, 1), 1),
        Api(45, "AlterPartitionReassignments", (0, 1), 0),
        Api(46, "ListPartitionReassignments", (0, 0), 0),
        Api(47, "OffsetDelete", (0, 0), _NEVER),
        Api(48, "DescribeClientQuotas", (0, 1), 1),
        Api(49, "AlterClientQuotas", (0, 1), 1),
        Api(50, "DescribeUserScramCredentials", (0, 0), 0),
        Api(55, "DescribeQuorum", (0, 2), 0),
        Api(57, "UpdateFeatures", (0, 2), 0),
        Api(60, "DescribeCluster", (0, 2), 0),
        Api(61, "DescribeProducers", (0, 0), 0),
        Api(65, "DescribeTransactions", (0, 0), 0),
        Api(66, "ListTransactions", (0, 2), 0),
        Api(68, "ConsumerGroupHeartbeat", (0, 1), 0),
        Api(69, "ConsumerGroupDescribe", (0, 1), 0),
        Api(74, "ListConfigResources", (0, 1), 0),
        Api(75, "DescribeTopicPartitions", (0, 0), 0),
    )
}

_FLEXIBLE_FROM: Final = {api.key: api.flexible_from for api in APIS.values()}


def request_header_version(key: int, version: int) -> int:
    """2 with tagged fields, 1 without. Of an API we do not know: 1."""
    return 2 if version >= _FLEXIBLE_FROM.get(key, _NEVER) else 1


def response_header_version(key: int, version: int) -> int:
    """1 with tagged fields, 0 without; ApiVersions has none, as its caller may not know our versions yet."""
    return 0 if key == API_VERSIONS else request_header_version(key, version) - 1


@final
class RequestHeader:
    """What precedes every request."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id")

    def __init__(self, api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    @classmethod
    def read(cls, reader: Reader) -> "RequestHeader":
        """The header at *reader*, of APIs and versions we do not serve too."""
        data = reader.data
        start = reader.position + _HEADER.size
        try:
            key, version, correlation_id, length = _HEADER.unpack_from(data, reader.position)
            client_id = None
            if length >= 0:
                stop = start + length
                client_id = data[start:stop].tobytes().decode()
                start = stop
            if version >= _FLEXIBLE_FROM.get(key, _NEVER):
                tags = data[start]
                start += 1
                if tags:
                    start = skip_tags(data, start, tags)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("the request header", 2, error) from None
        if length < -1 or start > reader.size:
            raise refusal(f"client_id has length {length} where the request ends")
        reader.position = start
        return RequestHeader(key, version, correlation_id, client_id)

    def write(self, out: bytearray) -> None:
        out += _HEADER_START.pack(self.api_key, self.api_version, self.correlation_id)
        write_string(out, self.client_id)  # of the older kind in every version
        if request_header_version(self.api_key, self.api_version) == 2:
            out.append(0)

    def __repr__(self) -> str:
        return f"RequestHeader({self.api_key}, {self.api_version}, {self.correlation_id}, {self.client_id!r})"


def read_response_header(reader: Reader, key: int, version: int) -> int:
    """The correlation id of the response at *reader*, to a request of *key* and *version*."""
    correlation_id = reader.int32()
    if response_header_version(key, version) == 1:
        reader.skip_tags()
    return correlation_id


def write_response_header(out: bytearray, key: int, version: int, correlation_id: int) -> None:
    out += _INT32.pack(correlation_id)
    if response_header_version(key, version) == 1:
        out.append(0)
