"""ApiVersions (key 18). Which APIs and versions a broker serves; the first word of every conversation.

Generated from wire/schema/api_versions.txt by tools/generate_messages.py: change that, not this.
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
    read_tags,
    skip_tags,
    too_many,
    write_tags,
    write_uvarint,
)

unpack_o: Final = struct.Struct(">?").unpack_from
pack_o: Final = struct.Struct(">?").pack
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hhB: Final = struct.Struct(">hhB").unpack_from
unpack_hhh: Final = struct.Struct(">hhh").unpack_from
pack_hhh: Final = struct.Struct(">hhh").pack
unpack_hhhB: Final = struct.Struct(">hhhB").unpack_from
pack_hhhx: Final = struct.Struct(">hhhx").pack
pack_hhx: Final = struct.Struct(">hhx").pack
unpack_hi: Final = struct.Struct(">hi").unpack_from
pack_hi: Final = struct.Struct(">hi").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_q: Final = struct.Struct(">q").unpack_from
pack_q: Final = struct.Struct(">q").pack


@final
class ApiVersionsRequest(Message):
    __slots__ = ("client_software_name", "client_software_version")
    FIELDS = ("client_software_name", "client_software_version")
    KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ApiVersionsRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ApiVersionsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ApiVersionsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.client_software_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        raw = self.client_software_version.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        pass


def _read_flexible_request(reader: Reader, version: int) -> ApiVersionsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("client_software_name", n - 1, size - pos)
    client_software_name = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("client_software_version", n - 1, size - pos)
    client_software_version = data[pos:stop].tobytes().decode()
    pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ApiVersionsRequest(client_software_name, client_software_version)


def _read_older_request(reader: Reader, version: int) -> ApiVersionsRequest:
    return ApiVersionsRequest("", "")


@final
class ApiVersionsResponseApiKey(Struct):
    __slots__ = ("api_key", "min_version", "max_version")
    FIELDS = ("api_key", "min_version", "max_version")

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


@final
class ApiVersionsResponseSupportedFeature(Struct):
    __slots__ = ("name", "min_version", "max_version")
    FIELDS = ("name", "min_version", "max_version")

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


@final
class ApiVersionsResponseFinalizedFeature(Struct):
    __slots__ = ("name", "max_version_level", "min_version_level")
    FIELDS = ("name", "max_version_level", "min_version_level")

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


@final
class ApiVersionsResponse(Message):
    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    FIELDS = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersionsResponseApiKey] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[ApiVersionsResponseSupportedFeature] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[ApiVersionsResponseFinalizedFeature] = EMPTY,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys: list[ApiVersionsResponseApiKey] = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features: list[ApiVersionsResponseSupportedFeature] = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features: list[ApiVersionsResponseFinalizedFeature] = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready = zk_migration_ready

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ApiVersionsResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ApiVersionsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ApiVersionsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_h(self.error_code)
        n = len(self.api_keys) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for api_key in self.api_keys:
            out += pack_hhhx(api_key.api_key, api_key.min_version, api_key.max_version)
        out += pack_i(self.throttle_time_ms)
        if not self.supported_features and self.finalized_features_epoch == -1 and not self.finalized_features and not self.zk_migration_ready:
            out.append(0)
        else:
            tags: list[tuple[int, bytearray]] = []
            if self.supported_features:
                tag = bytearray()
                n = len(self.supported_features) + 1
                if n < 128:
                    tag.append(n)
                else:
                    write_uvarint(tag, n)
                for supported_feature in self.supported_features:
                    raw = supported_feature.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        tag.append(n)
                    else:
                        write_uvarint(tag, n)
                    tag += raw
                    tag += pack_hhx(supported_feature.min_version, supported_feature.max_version)
                tags.append((0, tag))
            if self.finalized_features_epoch != -1:
                tag = bytearray()
                tag += pack_q(self.finalized_features_epoch)
                tags.append((1, tag))
            if self.finalized_features:
                tag = bytearray()
                n = len(self.finalized_features) + 1
                if n < 128:
                    tag.append(n)
                else:
                    write_uvarint(tag, n)
                for finalized_feature in self.finalized_features:
                    raw = finalized_feature.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        tag.append(n)
                    else:
                        write_uvarint(tag, n)
                    tag += raw
                    tag += pack_hhx(finalized_feature.max_version_level, finalized_feature.min_version_level)
                tags.append((2, tag))
            if self.zk_migration_ready:
                tag = bytearray()
                tag += pack_o(self.zk_migration_ready)
                tags.append((3, tag))
            write_tags(out, tags)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.api_keys)
        out += pack_hi(self.error_code, n)
        for api_key in self.api_keys:
            out += pack_hhh(api_key.api_key, api_key.min_version, api_key.max_version)
        if version >= 1:
            out += pack_i(self.throttle_time_ms)


def _read_flexible_response(reader: Reader, version: int) -> ApiVersionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    error_code, n = unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("api_keys", n, size - pos)
    budget -= n
    api_keys: list[ApiVersionsResponseApiKey] = []
    api_keys_count = n
    for _ in range(api_keys_count):
        api_keys_api_key, api_keys_min_version, api_keys_max_version, tags = unpack_hhhB(data, pos)
        pos += 7
        if tags:
            pos = skip_tags(data, pos, tags)
        api_keys.append(ApiVersionsResponseApiKey(api_keys_api_key, api_keys_min_version, api_keys_max_version))
    throttle_time_ms, tags = unpack_iB(data, pos)
    pos += 5
    supported_features: list[ApiVersionsResponseSupportedFeature] = EMPTY
    finalized_features_epoch = -1
    finalized_features: list[ApiVersionsResponseFinalizedFeature] = EMPTY
    zk_migration_ready = False
    if tags:
        spans, after = read_tags(data, pos, tags)
        if 0 in spans:
            pos, supported_features_end = spans[0]
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 6 or n > budget:
                raise too_many("supported_features", n, size - pos)
            budget -= n
            supported_features = []
            supported_features_count = n
            for _ in range(supported_features_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                supported_features_name = data[pos:stop].tobytes().decode()
                pos = stop
                supported_features_min_version, supported_features_max_version, tags = unpack_hhB(data, pos)
                pos += 5
                if tags:
                    pos = skip_tags(data, pos, tags)
                supported_features.append(ApiVersionsResponseSupportedFeature(supported_features_name, supported_features_min_version, supported_features_max_version))
            if pos != supported_features_end:
                raise bad_length("supported_features", supported_features_end - pos, size - pos)
        if 1 in spans:
            pos, finalized_features_epoch_end = spans[1]
            (finalized_features_epoch,) = unpack_q(data, pos)
            pos += 8
            if pos != finalized_features_epoch_end:
                raise bad_length("finalized_features_epoch", finalized_features_epoch_end - pos, size - pos)
        if 2 in spans:
            pos, finalized_features_end = spans[2]
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 6 or n > budget:
                raise too_many("finalized_features", n, size - pos)
            budget -= n
            finalized_features = []
            finalized_features_count = n
            for _ in range(finalized_features_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                finalized_features_name = data[pos:stop].tobytes().decode()
                pos = stop
                finalized_features_max_version_level, finalized_features_min_version_level, tags = unpack_hhB(data, pos)
                pos += 5
                if tags:
                    pos = skip_tags(data, pos, tags)
                finalized_features.append(ApiVersionsResponseFinalizedFeature(finalized_features_name, finalized_features_max_version_level, finalized_features_min_version_level))
            if pos != finalized_features_end:
                raise bad_length("finalized_features", finalized_features_end - pos, size - pos)
        if 3 in spans:
            pos, zk_migration_ready_end = spans[3]
            (zk_migration_ready,) = unpack_o(data, pos)
            pos += 1
            if pos != zk_migration_ready_end:
                raise bad_length("zk_migration_ready", zk_migration_ready_end - pos, size - pos)
        pos = after
    reader.position = pos
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready)


def _read_older_response(reader: Reader, version: int) -> ApiVersionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    error_code, n = unpack_hi(data, pos)
    pos += 6
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("api_keys", n, size - pos)
    budget -= n
    api_keys: list[ApiVersionsResponseApiKey] = []
    api_keys_count = n
    for _ in range(api_keys_count):
        api_keys_api_key, api_keys_min_version, api_keys_max_version = unpack_hhh(data, pos)
        pos += 6
        api_keys.append(ApiVersionsResponseApiKey(api_keys_api_key, api_keys_min_version, api_keys_max_version))
    if version >= 1:
        (throttle_time_ms,) = unpack_i(data, pos)
        pos += 4
    else:
        throttle_time_ms = 0
    reader.position = pos
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, EMPTY, -1, EMPTY, False)
