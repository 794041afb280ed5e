"""UpdateFeatures (key 57). Raise or lower finalized features.

Generated from wire/schema/update_features.txt by tools/generate_messages.py: change that, not this.
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

unpack_oB: Final = struct.Struct(">?B").unpack_from
pack_ox: Final = struct.Struct(">?x").pack
pack_h: Final = struct.Struct(">h").pack
unpack_hoB: Final = struct.Struct(">h?B").unpack_from
pack_hox: Final = struct.Struct(">h?x").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hbB: Final = struct.Struct(">hbB").unpack_from
pack_hbx: Final = struct.Struct(">hbx").pack
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class UpdateFeaturesRequestFeatureUpdate(Struct):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    FIELDS = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


@final
class UpdateFeaturesRequest(Message):
    __slots__ = ("timeout_ms", "feature_updates", "validate_only")
    FIELDS = ("timeout_ms", "feature_updates", "validate_only")
    KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[UpdateFeaturesRequestFeatureUpdate] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates: list[UpdateFeaturesRequestFeatureUpdate] = [] if feature_updates is EMPTY else feature_updates
        self.validate_only = validate_only

    @classmethod
    def read(cls, reader: Reader, version: int) -> "UpdateFeaturesRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("UpdateFeaturesRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"UpdateFeaturesRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.timeout_ms)
        n = len(self.feature_updates) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for feature_update in self.feature_updates:
            raw = feature_update.feature.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 1:
                out += pack_hbx(feature_update.max_version_level, feature_update.upgrade_type)
            else:
                out += pack_hox(feature_update.max_version_level, feature_update.allow_downgrade)
        if version >= 1:
            out += pack_ox(self.validate_only)
        else:
            out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> UpdateFeaturesRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    timeout_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("feature_updates", n, size - pos)
    budget -= n
    feature_updates: list[UpdateFeaturesRequestFeatureUpdate] = []
    feature_updates_count = n
    for _ in range(feature_updates_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("feature", n - 1, size - pos)
        feature_updates_feature = data[pos:stop].tobytes().decode()
        pos = stop
        if version >= 1:
            feature_updates_max_version_level, feature_updates_upgrade_type, tags = unpack_hbB(data, pos)
            pos += 4
            feature_updates_allow_downgrade = False
        else:
            feature_updates_max_version_level, feature_updates_allow_downgrade, tags = unpack_hoB(data, pos)
            pos += 4
            feature_updates_upgrade_type = 1
        if tags:
            pos = skip_tags(data, pos, tags)
        feature_updates.append(UpdateFeaturesRequestFeatureUpdate(feature_updates_feature, feature_updates_max_version_level, feature_updates_allow_downgrade, feature_updates_upgrade_type))
    if version >= 1:
        validate_only, tags = unpack_oB(data, pos)
        pos += 2
    else:
        tags = data[pos]
        pos += 1
        validate_only = False
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only)


@final
class UpdateFeaturesResponseFeature(Struct):
    __slots__ = ("feature", "error_code", "error_message")
    FIELDS = ("feature", "error_code", "error_message")

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


@final
class UpdateFeaturesResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results")
    KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdateFeaturesResponseFeature] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[UpdateFeaturesResponseFeature] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "UpdateFeaturesResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("UpdateFeaturesResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"UpdateFeaturesResponse v{version}: {error}") from error

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
        if version <= 1:
            n = len(self.results) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for feature in self.results:
                raw = feature.feature.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_h(feature.error_code)
                feature_error_message = feature.error_message
                if feature_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = feature_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> UpdateFeaturesResponse:
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
    results: list[UpdateFeaturesResponseFeature] = EMPTY
    if version <= 1:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 5 or n > budget:
            raise too_many("results", n, size - pos)
        budget -= n
        results = []
        results_count = n
        for _ in range(results_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("feature", n - 1, size - pos)
            results_feature = data[pos:stop].tobytes().decode()
            pos = stop
            results_error_code, n = unpack_hB(data, pos)
            pos += 3
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                results_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                results_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            results.append(UpdateFeaturesResponseFeature(results_feature, results_error_code, results_error_message))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results)
