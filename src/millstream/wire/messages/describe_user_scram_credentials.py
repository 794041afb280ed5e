"""DescribeUserScramCredentials (key 50). Users who have a password, and how it is kept.

Generated from wire/schema/describe_user_scram_credentials.txt by tools/generate_messages.py: change that, not this.
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

unpack_biB: Final = struct.Struct(">biB").unpack_from
pack_bix: Final = struct.Struct(">bix").pack
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class DescribeUserScramCredentialsRequestUser(Struct):
    __slots__ = ("name",)
    FIELDS = ("name",)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


@final
class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ("users",)
    FIELDS = ("users",)
    KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        users: list[DescribeUserScramCredentialsRequestUser] | None = EMPTY,
    ) -> None:
        self.users: list[DescribeUserScramCredentialsRequestUser] | None = [] if users is EMPTY else users

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeUserScramCredentialsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeUserScramCredentialsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeUserScramCredentialsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        users = self.users
        if users is None:
            n = 0
        else:
            n = len(users) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if users is not None:
            for user in users:
                raw = user.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> DescribeUserScramCredentialsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    users: list[DescribeUserScramCredentialsRequestUser] | None
    if n == -1:
        users = None
    else:
        if n < 0 or n > (size - pos) // 2 or n > budget:
            raise too_many("users", n, size - pos)
        budget -= n
        users = []
        users_count = n
        for _ in range(users_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            users_name = data[pos:stop].tobytes().decode()
            pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            users.append(DescribeUserScramCredentialsRequestUser(users_name))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeUserScramCredentialsRequest(users)


@final
class DescribeUserScramCredentialsResponseCredential(Struct):
    __slots__ = ("mechanism", "iterations")
    FIELDS = ("mechanism", "iterations")

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


@final
class DescribeUserScramCredentialsResponseResult(Struct):
    __slots__ = ("user", "error_code", "error_message", "credential_infos")
    FIELDS = ("user", "error_code", "error_message", "credential_infos")

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[DescribeUserScramCredentialsResponseCredential] = EMPTY,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos: list[DescribeUserScramCredentialsResponseCredential] = [] if credential_infos is EMPTY else credential_infos


@final
class DescribeUserScramCredentialsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results")
    KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResponseResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[DescribeUserScramCredentialsResponseResult] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeUserScramCredentialsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeUserScramCredentialsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeUserScramCredentialsResponse v{version}: {error}") from error

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
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for result in self.results:
            raw = result.user.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_h(result.error_code)
            result_error_message = result.error_message
            if result_error_message is None:
                raw = b""
                n = 0
            else:
                raw = result_error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(result.credential_infos) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for credential in result.credential_infos:
                out += pack_bix(credential.mechanism, credential.iterations)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> DescribeUserScramCredentialsResponse:
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
    n -= 1
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DescribeUserScramCredentialsResponseResult] = []
    results_count = n
    for _ in range(results_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("user", n - 1, size - pos)
        results_user = data[pos:stop].tobytes().decode()
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("credential_infos", n, size - pos)
        budget -= n
        results_credential_infos: list[DescribeUserScramCredentialsResponseCredential] = []
        results_credential_infos_count = n
        for _ in range(results_credential_infos_count):
            credential_infos_mechanism, credential_infos_iterations, tags = unpack_biB(data, pos)
            pos += 6
            if tags:
                pos = skip_tags(data, pos, tags)
            results_credential_infos.append(DescribeUserScramCredentialsResponseCredential(credential_infos_mechanism, credential_infos_iterations))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(DescribeUserScramCredentialsResponseResult(results_user, results_error_code, results_error_message, results_credential_infos))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results)
