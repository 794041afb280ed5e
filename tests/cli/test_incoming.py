"""Records as people write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.encoding import ENCODINGS
from millstream.cli.incoming import Incoming, InvalidLine, JsonLines, PlainLines
from millstream.cli.printing import JsonPrinter
from millstream.client.consumed import Consumed

Flat = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int | None, int | None]
UTF8 = ENCODINGS["utf-8"]


def flat(incoming: Incoming) -> Flat:
    """Key, value, headers, partition, timestamp."""
    record = incoming.record
    return record.key, record.value, record.headers, incoming.partition, record.timestamp_ms


def expected(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
    partition: int | None = None,
    timestamp_ms: int | None = None,
) -> Flat:
    return key, value, headers, partition, timestamp_ms


def from_json(said: object, encoding: str = "utf-8") -> Flat:
    return flat(JsonLines(ENCODINGS[encoding], ENCODINGS[encoding]).parse(json.dumps(said).encode()))


def test_a_line_is_a_value() -> None:
    assert flat(PlainLines().parse(b"a:b\xff")) == expected(None, b"a:b\xff")


def test_a_separator_splits_off_the_key_at_its_first_place() -> None:
    it = PlainLines(separator=b":", headers=(("h", b"1"),))

    assert flat(it.parse(b"k:v:w")) == expected(b"k", b"v:w", (("h", b"1"),))
    with pytest.raises(InvalidLine, match="no separator ':'"):
        it.parse(b"kv")


def test_empty_is_null_only_if_that_is_asked_for() -> None:
    assert flat(PlainLines(separator=b":").parse(b":")) == expected(b"", b"")
    assert flat(PlainLines(separator=b":", empty_is_null=True).parse(b":")) == expected(None, None)
    assert flat(PlainLines(key=b"k").parse(b"")) == expected(b"k", b"")


@pytest.mark.parametrize(
    ("said", "record"),
    [
        ({"value": "v"}, expected(None, b"v")),
        ({"value": None, "key": "k"}, expected(b"k", None)),
        ({"value": {"a": [1, "ü"]}}, expected(None, '{"a":[1,"ü"]}'.encode())),
        ({"value": 7, "key": True}, expected(b"true", b"7")),
        ({"value": "", "headers": {"a": "1", "b": None}}, expected(None, b"", (("a", b"1"), ("b", None)))),
        (
            {"value": "", "headers": [{"key": "a", "value": "1"}, {"key": "a"}]},
            expected(None, b"", (("a", b"1"), ("a", None))),
        ),
        ({"value": "v", "partition": 3, "timestamp": 5}, expected(None, b"v", (), 3, 5)),
        ({"value": "v", "topic": "other", "offset": 9}, expected(None, b"v")),
    ],
)
def test_reads_json(said: object, record: Flat) -> None:
    assert from_json(said) == record


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([], "not a JSON object"),
        ({}, 'no "value"'),
        ({"value": "v", "partition": "x"}, '"partition" is not a whole number'),
        ({"value": "v", "partition": -1}, '"partition" is not a whole number'),
        ({"value": "v", "timestamp": True}, '"timestamp" is not a whole number'),
        ({"value": "v", "headers": "x"}, '"headers" is neither'),
        ({"value": "v", "headers": [{"value": "x"}]}, "a header is not of the form"),
        ({"value": "\ud800"}, "value:"),
    ],
)
def test_says_what_is_wrong_with_json(said: object, why: str) -> None:
    with pytest.raises(InvalidLine, match=why):
        from_json(said)


def test_says_what_is_wrong_with_what_is_not_json() -> None:
    with pytest.raises(InvalidLine, match="not JSON"):
        JsonLines(UTF8, UTF8).parse(b"{oops")
    with pytest.raises(InvalidLine, match="value: 'zz' is not hex"):
        from_json({"value": "zz"}, "hex")


@given(
    key=st.none() | st.binary(),
    value=st.none() | st.binary(),
    headers=st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=3).map(tuple),
    timestamp_ms=st.integers(0, 2**62),
)
@pytest.mark.parametrize("name", ["hex", "base64"])
def test_what_consume_prints_produce_reads(
    name: str,
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...],
    timestamp_ms: int,
) -> None:
    record = Consumed("t", 2, 7, timestamp_ms, key, value, headers)
    printed = JsonPrinter(ENCODINGS[name], ENCODINGS[name]).render(record)

    assert printed.endswith(b"\n")
    read = JsonLines(ENCODINGS[name], ENCODINGS[name]).parse(printed.rstrip(b"\n"))
    assert flat(read) == expected(key, value, headers, 2, timestamp_ms)


@given(st.text(), st.text())
def test_text_that_consume_prints_produce_reads(key: str, value: str) -> None:
    printed = JsonPrinter(UTF8, UTF8).render(Consumed("t", 0, 0, 0, key.encode(), value.encode()))

    read = JsonLines(UTF8, UTF8).parse(printed)
    assert (read.record.key, read.record.value) == (key.encode(), value.encode())
