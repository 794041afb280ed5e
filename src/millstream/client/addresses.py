"""Broker addresses as people write them."""

from typing import Final

DEFAULT_PORT: Final = 9092
_PORTS: Final = range(1, 65536)


class InvalidAddress(ValueError):
    """Text that names no host and port; the message says which part is wrong."""


def parse_addresses(text: str) -> list[tuple[str, int]]:
    """The hosts and ports in *text*: `host`, `host:port` or `[::1]:port`, with commas between."""
    addresses = [_address(part.strip()) for part in text.split(",") if part.strip()]
    if not addresses:
        raise InvalidAddress("no broker is named: write host:port")
    return addresses


def _address(text: str) -> tuple[str, int]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise InvalidAddress(f"{text!r} is not an address: write [host]:port")
        return host, _port(text, rest[1:])
    if text.count(":") > 1:
        raise InvalidAddress(f"{text!r} is not an address: put an IPv6 host in brackets, [::1]:9092")
    host, _, port = text.partition(":")
    if not host or "/" in host:
        raise InvalidAddress(f"{text!r} is not an address: write host:port")
    return host, _port(text, port)


def _port(address: str, text: str) -> int:
    if not text:
        return DEFAULT_PORT
    if not (text.isascii() and text.isdecimal()) or int(text) not in _PORTS:
        raise InvalidAddress(f"{address!r} has no valid port: it is a number from 1 to 65535")
    return int(text)
