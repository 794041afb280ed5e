"""The table of APIs, and the headers."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.oracles import kio_class, kio_read
from tests.wire.strategies import declared

from millstream.errors import Refused
from millstream.wire.apis import (
    APIS,
    Api,
    RequestHeader,
    read_response_header,
    request_header_version,
    response_header_version,
    write_response_header,
)
from millstream.wire.primitives import Reader

SERVED = """
18 0-4  3 0-13  0 3-13  1 4-18  2 1-11  23 2-4  60 0-2  75 0-0
10 0-6  11 0-9  12 0-4  13 0-5  14 0-5  8 2-10  9 1-10  15 0-6  16 0-5  42 0-2  47 0-0
68 0-1  69 0-1
19 2-7  20 1-6  37 0-3  21 0-2  32 1-4  33 0-2  44 0-1  35 1-5  34 1-2  74 0-1  48 0-1  49 0-1  57 0-2  55 0-2
22 0-5  24 0-5  25 0-4  26 0-5  27 1-2  28 0-5  61 0-0  65 0-0  66 0-2
29 1-3  30 1-3  31 1-3  43 0-2  45 0-1  46 0-0  50 0-0
"""
"""Kafka 4.3's stable ranges of the keys we serve."""

every_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


def test_ranges_are_kafkas() -> None:
    words = SERVED.split()
    wanted = dict(zip(map(int, words[::2]), words[1::2], strict=True))
    assert {key: f"{api.min}-{api.max}" for key, api in APIS.items()} == wanted


def test_only_produce_is_advertised_below_what_we_serve() -> None:
    """librdkafka before 2.11.1 stops compressing where Produce 0 is not offered."""
    assert {api.key: api.advertised_min for api in APIS.values() if api.advertised_min != api.min} == {0: 0}


@every_api
def test_the_table_agrees_with_the_messages(api: Api) -> None:
    there = declared(api)
    assert (there.key, there.min, there.max, there.advertised) == (
        api.key,
        api.min,
        api.max,
        api.advertised_min,
    )
    for message in (api.request, api.response):
        assert (api.key, api.min, api.max) == (message.KEY, message.MIN_VERSION, message.MAX_VERSION)
        assert min(message.FLEXIBLE_FROM, api.max + 1) == min(api.flexible_from, api.max + 1)


@every_api
def test_header_versions_are_kafkas(api: Api) -> None:
    for version in range(api.min, api.max + 1):
        request = kio_class(api, "request", version).__header_schema__
        response = kio_class(api, "response", version).__header_schema__
        assert request_header_version(api.key, version) == request.__version__
        assert response_header_version(api.key, version) == response.__version__


def test_the_response_to_api_versions_never_has_tags() -> None:
    assert response_header_version(18, 4) == 0
    assert response_header_version(18, 99) == 0


@every_api
@settings(max_examples=5)
@given(correlation_id=st.integers(-(1 << 31), (1 << 31) - 1), client_id=st.text(max_size=9) | st.none())
def test_a_request_header_is_the_same_for_kio(api: Api, correlation_id: int, client_id: str | None) -> None:
    for version in (api.min, api.max):
        out = bytearray()
        RequestHeader(api.key, version, correlation_id, client_id).write(out)

        theirs = kio_read(kio_class(api, "request", version).__header_schema__, bytes(out))
        assert (theirs.request_api_key, theirs.request_api_version) == (api.key, version)
        assert (theirs.correlation_id, theirs.client_id) == (correlation_id, client_id)

        reader = Reader(out)
        ours = RequestHeader.read(reader)
        assert (ours.api_key, ours.api_version) == (api.key, version)
        assert (ours.correlation_id, ours.client_id) == (correlation_id, client_id)
        assert reader.remaining() == 0
        for cut in range(len(out)):
            with pytest.raises(Refused):
                RequestHeader.read(Reader(out[:cut]))


def test_tags_in_a_request_header_are_skipped() -> None:
    reader = Reader(b"\0\0\0\x09" + b"\0\0\0\x01" + b"\0\x01c" + b"\x01\x07\x02??" + b"rest")
    assert RequestHeader.read(reader).client_id == "c"
    assert bytes(reader.raw(4)) == b"rest"


@pytest.mark.parametrize("length", [b"\x80\x00", b"\xff\xfe", b"\x7f\xff"])
def test_a_client_id_that_cannot_be_is_refused(length: bytes) -> None:
    with pytest.raises(Refused):
        RequestHeader.read(Reader(b"\0\0\0\x03" + b"\0\0\0\x01" + length + b"abc"))


def test_a_client_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(Refused, match="UTF-8"):
        RequestHeader.read(Reader(b"\0\0\0\x03" + b"\0\0\0\x01" + b"\0\x01\xff"))


def test_the_header_of_an_api_we_do_not_know_can_be_read() -> None:
    header = RequestHeader.read(Reader(b"\x03\xe7\0\x63" + b"\0\0\0\x01" + b"\xff\xff" + b"whatever"))
    assert (header.api_key, header.api_version, header.correlation_id) == (999, 99, 1)


@every_api
def test_a_response_header_comes_back(api: Api) -> None:
    for version in (api.min, api.max):
        out = bytearray()
        write_response_header(out, api.key, version, 77)
        reader = Reader(out)
        assert read_response_header(reader, api.key, version) == 77
        assert reader.remaining() == 0


def test_messages_are_imported_when_asked_for() -> None:
    """A node that serves nobody yet has not read 18,000 lines of codec."""
    code = "import sys, millstream.wire.apis; print(any('wire.messages' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
