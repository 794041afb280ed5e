"""Records as they are printed."""

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.printing import printer
from millstream.client.consumed import Consumed

RECORD = Consumed("orders", 3, 42, 1_777_636_800_123, b"k", b'{"a":1}', (("h", b"x"), ("h", None)))


def test_a_pipe_gets_the_value_and_nothing_else() -> None:
    assert printer("plain", None, "utf-8", "utf-8").render(RECORD) == b'{"a":1}\n'
    assert (
        printer("plain", None, "utf-8", "utf-8").render(RECORD._replace(value=b"\xff\x00")) == b"\xff\x00\n"
    )


def test_json_says_all() -> None:
    assert json.loads(printer("json", None, "utf-8", "json").render(RECORD)) == {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_777_636_800_123,
        "key": "k",
        "value": {"a": 1},
        "headers": [{"key": "h", "value": "x"}, {"key": "h", "value": None}],
    }


def test_a_person_sees_where_when_and_what() -> None:
    line = printer("table", None, "utf-8", "utf-8").render(RECORD).decode()

    assert line == '3:42      2026-05-01T12:00:00.123Z  k  {"a":1}  h=x  h=\n'


def test_a_null_is_told_from_the_word() -> None:
    shown = printer("table", None, "utf-8", "utf-8", colour=True).render(RECORD._replace(value=None)).decode()

    assert click.style("null", dim=True, italic=True) in shown


@given(st.binary(), st.binary(), st.text())
def test_no_record_can_command_a_terminal(key: bytes, value: bytes, header: str) -> None:
    """Colours are ours; whatever else comes out can be printed, and takes one line."""
    record = Consumed("t", 0, 0, 0, key, value, ((header, value),))
    line = printer("table", None, "utf-8", "utf-8", colour=True).render(record).decode()

    assert line.endswith("\n")
    for code in ("\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"):
        line = line.replace(code, "")
    assert line[:-1].isprintable()


@pytest.mark.parametrize("format", ["table", "plain", "json"])
def test_a_template_goes_before_any_format(format: str) -> None:
    assert printer(format, "%o|", "utf-8", "utf-8").render(RECORD) == b"42|"
