"""What is scanned is what the plain way makes of the same bytes; whatever else there is goes that way."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.gateways.http import queue
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.values import parse_object
from millstream.gateways.http.wrong import Wrong

_SCAN = queue._SCAN
pytestmark = pytest.mark.skipif(_SCAN is None, reason="the native part was not built: no C compiler?")

Scanned = tuple[bytes, bytes, bytes]

GOOD = b'{"brokerId":"broker_1","message":{"messageId":"m-1","content":{"n":1,"of":[true,null,"x y",-12]}}}'

ORDINARY: list[object] = [True, False, None, 0, -1, 7, 10**18 - 1, 1 - 10**18, "", "x", "a b", "{[,:]}", "'"]
UNUSUAL: list[object] = [
    0.5,
    -0.0,
    1e300,
    10**18,
    -(10**30),
    "ä",
    "\n",
    '"',
    "\\",
    "\x7f",
    "\ud800",
    "\U0001f600",
]
SEPARATORS = [(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n ")]


def made(random: Random, leaves: list[object], depth: int = 3) -> object:
    """A JSON value of *leaves*."""
    kind = random.randrange(4) if depth else 3
    if kind == 0:
        return [made(random, leaves, depth - 1) for _ in range(random.randrange(5))]
    if kind == 1:
        names = [text for text in leaves if isinstance(text, str)]
        return {random.choice(names): made(random, leaves, depth - 1) for _ in range(random.randrange(5))}
    return random.choice(leaves)


def scan(body: bytes) -> Scanned | None:
    assert _SCAN is not None
    found: Scanned | None = _SCAN(b"head" + body, 4)
    assert found == _SCAN(body, 0)
    return found


def plain(body: bytes) -> Scanned | None:
    """What the plain way makes of *body*; None if it refuses it."""
    try:
        asked = parse_object(body)
        if not isinstance(asked.get("brokerId", ""), str):
            return None
        message_id, record = queue._record(asked.get("message"), "message")
    except Wrong:
        return None
    assert record.key is not None
    assert record.value is not None
    return None if record.headers else (json_bytes(message_id), record.key, record.value)


def check(body: bytes) -> None:
    found = scan(body)
    assert found is None or found == plain(body)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_ordinary_is_taken(random: Random) -> None:
    content = made(random, ORDINARY)
    message = {
        "messageId": random.choice(["m", "message 1", "1"]),
        "content": 0 if content is None else content,
    }
    for asked in (
        {"brokerId": random.choice(["", "broker_1"]), "message": message},
        {"message": dict(reversed(message.items()))},
    ):
        body = json.dumps(asked, separators=random.choice(SEPARATORS)).encode()
        assert scan(body) == plain(body) is not None


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_taken_is_what_the_plain_way_makes_of_it(random: Random) -> None:
    leaves = ORDINARY + UNUSUAL
    message = {"messageId": made(random, leaves, 1), "content": made(random, leaves)}
    asked = {"brokerId": made(random, leaves, 1), "message": message}
    text = json.dumps(asked, separators=random.choice(SEPARATORS), ensure_ascii=random.random() < 0.5)
    check(text.encode(errors="surrogatepass"))


PIECES = [
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b" ", b"\n", b"\x00", b"\x7f", b"\x80", b"\xc3\xa4"),
    *(b"0", b"-0", b"00", b"-", b"1.5", b"1e3", b"123456789012345678", b"9999999999999999999", b"+1"),
    *(b"true", b"tru", b"null", b"NaN", b'"content":1,', b'"messageId":"b",', b'"brokerId":1,', b'"x":{},'),
]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_nothing_that_is_wrong_is_taken_for_right(random: Random, changes: int) -> None:
    body = GOOD
    for _ in range(changes):
        at = random.randrange(len(body) + 1)
        body = body[:at] + random.choice(PIECES) + body[at + random.choice((0, 0, 1, 3)) :]
    check(body)


def test_what_is_cut_short_is_not_taken() -> None:
    assert scan(GOOD) == plain(GOOD)
    assert all(scan(GOOD[:end]) is None for end in range(len(GOOD)))


@pytest.mark.parametrize(
    "content",
    [
        '{"a":1,"a":2}',
        '{"a":{"b":1,"c":2,"b":3}}',
        json.dumps({str(number): number for number in range(17)}),
        "[" * 17 + "]" * 17,
        "1.0",
        "-0",
        "1234567890123456789",
        '"\\n"',
        '"ä"',
        "null",
    ],
)
def test_what_is_unusual_goes_the_plain_way(content: str) -> None:
    assert scan(b'{"message":{"messageId":"m","content":%b}}' % content.encode()) is None


@pytest.mark.parametrize("start", [-1, -(2**40), len(GOOD) + 1, 2**40])
def test_where_there_is_nothing_nothing_is_read(start: int) -> None:
    assert _SCAN is not None
    assert _SCAN(GOOD, start) is None
    assert _SCAN(GOOD, len(GOOD)) is None
