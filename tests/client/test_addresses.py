"""Addresses as people write them."""

import pytest

from millstream.client.addresses import InvalidAddress, parse_addresses


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("[::1]", [("::1", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
    ],
)
def test_reads_hosts_and_ports(text: str, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize(
    "text", ["", ",", ":9092", "a:b", "a:0", "a:65536", "::1", "[::1", "[::1]x", "http://a:1", "a:²"]
)
def test_says_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidAddress):
        parse_addresses(text)
