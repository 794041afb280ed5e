"""K-Queue's commands and replies, a line each.

    PUB topic text…                      OK
    SUB topic [group=NAME] [option=…]…   SUBSCRIBED topic, then MSG topic id text for each message
    ACK id                               ACKED id, or ERR unknown-id
    NACK id [delay-ms]                   NACKED id, or ERR unknown-id
    PING                                 PONG
    AUTH user password                   ERR, as long as there is no authentication
    anything else                        ERR unknown command

Text is whatever follows the topic and one space. A message that cannot be
written as it is, since it is not UTF-8 or has a line break in it, is written
as `base64:` and its bytes in base64; so is one that begins with `base64:`
itself, lest it be taken for such.
"""

from base64 import b64encode
from typing import Final, NamedTuple, final

from millstream.broker.queues import GROUP_MAX
from millstream.broker.subscription import Wish
from millstream.errors import ErrorCode, Refused

OK: Final = b"OK\n"
PONG: Final = b"PONG\n"
UNKNOWN_ID: Final = b"ERR unknown-id\n"
MAX_DELAY_MS: Final = 7 * 86_400_000
_NUMBER_MAX: Final = 1 << 31
_BASE64: Final = b"base64:"


@final
class Pub:
    __slots__ = ("text", "topic")

    def __init__(self, topic: str, text: bytes) -> None:
        self.topic = topic
        self.text = text


class Sub(NamedTuple):
    """*tells* whether the subscriber wants to know how often a message was delivered, and its time."""

    wish: Wish
    tells: bool


class Ack(NamedTuple):
    id: str


class Nack(NamedTuple):
    id: str
    delay_ms: int


class Ping(NamedTuple):
    pass


class Auth(NamedTuple):
    pass


Command = Pub | Sub | Ack | Nack | Ping | Auth


def read_command(line: bytes) -> Command:
    """The command on *line*; Refused says what is wrong with it, as it is to be told."""
    if line.endswith(b"\r"):
        line = line[:-1]
    words = line.split(b" ", 2)
    verb = words[0]
    if verb == b"PUB" and len(words) > 1 and words[1]:
        return Pub(_text(words[1]), words[2] if len(words) > 2 else b"")
    if verb == b"ACK":
        return Ack(_text(line[4:].strip()))
    if verb == b"SUB" and len(words) > 1 and words[1]:
        return _sub(_text(words[1]), words[2].split() if len(words) > 2 else [])
    if verb == b"NACK":
        return _nack(line[5:].split())
    if verb == b"PING":
        return Ping()
    if verb == b"AUTH":
        return Auth()
    raise _bad("unknown command")


def error(text: str) -> bytes:
    return b"ERR " + text.encode(errors="replace") + b"\n"


def subscribed(topic: str) -> bytes:
    return f"SUBSCRIBED {topic}\n".encode()


def message(head: bytes, id: str, value: bytes | None) -> bytes:
    """A message; *head* is `MSG topic ` of its topic."""
    return b"%b%b %b\n" % (head, id.encode(), shown(value))


def shown(value: bytes | None) -> bytes:
    """*value* as it stands on a line."""
    if value is None:
        return b""
    is_plain = b"\n" not in value and b"\r" not in value and not value.startswith(_BASE64)
    if is_plain and (value.isascii() or _is_text(value)):
        return value
    return _BASE64 + b64encode(value)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sub(topic: str, options: list[bytes]) -> Sub:
    group: str | None = None
    window: int | None = None
    timeout_ms: int | None = None
    from_latest = tells = False
    for option in options:
        name, _, value = option.partition(b"=")
        if name == b"group":
            group = _group(value)
        elif name == b"window":
            window = _number(value, "window", 1)
        elif name == b"timeout":
            timeout_ms = _number(value, "timeout", 0)
        elif name == b"from" and value in (b"latest", b"earliest"):
            from_latest = value == b"latest"
        elif name == b"info" and value in (b"true", b"false"):
            tells = value == b"true"
        else:
            raise _bad(
                f"no such option: {_text(option)[:100]}; there are "
                "group=NAME, window=N, timeout=MS, from=earliest|latest, info=true"
            )
    return Sub(Wish(topic, group, window, timeout_ms, from_latest), tells)


def _group(value: bytes) -> str:
    name = _text(value)
    if not 0 < len(name) <= GROUP_MAX:
        raise _bad(f"a group's name has 1 to {GROUP_MAX} characters")
    return name


def _nack(words: list[bytes]) -> Nack:
    if len(words) > 2:
        raise _bad("unknown command")
    delay_ms = _number(words[1], "delay", 0, MAX_DELAY_MS) if len(words) > 1 else 0
    return Nack(_text(words[0]) if words else "", delay_ms)


def _number(value: bytes, name: str, least: int, most: int = _NUMBER_MAX) -> int:
    if not value.isdigit() or len(value) > len(str(most)) or not least <= int(value) <= most:
        raise _bad(f"{name} must be a number from {least} to {most}")
    return int(value)


def _text(word: bytes) -> str:
    return word.decode(errors="replace")


def _bad(text: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, text)
