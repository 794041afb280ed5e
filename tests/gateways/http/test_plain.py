"""What is known at a glance is what the parser makes of it."""

from random import Random

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.gateways.http.plain import Heads

GOOD = (
    b"POST /ingress/my-topic HTTP/1.1\r\nHost: localhost:3000\r\nUser-Agent: x/1\r\nAccept: */*\r\n"
    b"Content-Type: application/json\r\nContent-Length: 12\r\n\r\n"
    b'{"message":1'
)
START = GOOD.index(b"{")
PIECES = [
    *(b"\r\n", b"\r", b"\n", b":", b" ", b"\t", b"\x00", b"0", b"1", b",", b"/", b"%2f", b"?a=b", b"\xff"),
    *(b"POST ", b"post ", b"HTTP/1.0", b"http", b" folded\r\n", b"X-Y: z\r\n", b"x_y:z\r\n"),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n"),
    *(b"Connection: keep-alive\r\n", b"Connection: keep-alive, close\r\n"),
    *(
        b"Expect: 100-continue\r\n",
        b"Origin: x\r\n",
        b"Authorization: Basic x\r\n",
        b"Upgrade: websocket\r\n",
    ),
]


class Parsed:
    def __init__(self, data: bytes) -> None:
        self.url = b""
        self.body = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.whole = 0
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method = parser.get_method()
        self.keep_alive = parser.should_keep_alive()
        self.version = parser.get_http_version()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.whole += 1


def check(data: bytes) -> bool:
    """Whether *data* is known at a glance, the first time and the second; if it is, the parser agrees."""
    heads = Heads(1000)
    found = heads.find(data)
    assert heads.find(data) == found
    if found is None:
        return False
    topic, start = found
    body = data[start:]
    parsed = Parsed(data)
    assert (parsed.method, parsed.url, parsed.body) == (b"POST", f"/ingress/{topic}".encode(), body)
    assert parsed.whole == 1
    assert parsed.keep_alive
    assert parsed.version == "1.1"
    assert not {b"origin", b"authorization", b"expect", b"upgrade"} & {name for name, _ in parsed.headers}
    return True


def test_the_commonest_request_is_known() -> None:
    assert check(GOOD)
    assert check(GOOD.replace(b"Content-Length", b"content-length"))
    assert check(GOOD.replace(b"Accept: */*", b"Connection: keep-alive"))


@pytest.mark.parametrize(
    "data",
    [
        GOOD + b"x",
        GOOD[:-1],
        GOOD.replace(b"ingress", b"commit"),
        GOOD.replace(b"POST", b"PUT"),
        GOOD.replace(b"POST", b"post"),
        GOOD.replace(b"HTTP", b"http"),
        GOOD.replace(b"1.1", b"1.0"),
        GOOD.replace(b"my-topic", b"my%20topic"),
        GOOD.replace(b"12", b"012"),
        GOOD.replace(b"Accept", b"Origin"),
        GOOD.replace(b"Accept: */*", b"Connection: close"),
        GOOD.replace(b"Accept: */*", b"Connection: keep-alive, upgrade"),
        GOOD.replace(b"Accept: */*", b"Content-Length: 12"),
        GOOD.replace(b"Accept: */*", b"Transfer-Encoding: chunked"),
        b"",
    ],
)
def test_whatever_is_otherwise_is_left_to_the_parser(data: bytes) -> None:
    assert Heads(1000).find(data) is None


def test_a_body_that_is_too_large_is_left_to_the_parser() -> None:
    assert Heads(11).find(GOOD) is None


def test_a_known_head_with_another_body_is_left_to_the_parser() -> None:
    heads = Heads(1000)
    assert heads.find(GOOD) == ("my-topic", START)
    assert heads.find(GOOD[:-1] + b"2") == ("my-topic", START)
    for other in (GOOD[:-1], GOOD + b"x", GOOD + GOOD, GOOD[:START]):
        assert heads.find(other) is None


def test_what_is_remembered_of_heads_is_bounded() -> None:
    heads = Heads(1000)
    for number in range(3_000):
        data = GOOD.replace(b"x/1", b"x/%d" % number)
        assert heads.find(data) is not None
        assert len(heads._known) <= 1_000
    before = len(heads._known)
    assert heads.find(GOOD.replace(b"x/1", bytes(2_000).replace(b"\0", b"x"))) is not None
    assert len(heads._known) == before


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_nothing_is_taken_that_the_parser_would_read_otherwise(random: Random, changes: int) -> None:
    data = GOOD
    for _ in range(changes):
        at = random.randrange(len(data))
        data = data[:at] + random.choice(PIECES) + data[at + random.choice((0, 0, 1, 5)) :]
    check(data)
