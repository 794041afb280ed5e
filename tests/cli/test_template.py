"""Print formats."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.encoding import ENCODINGS
from millstream.cli.template import InvalidTemplate, Template, date
from millstream.client.consumed import Consumed

MESSAGE = Consumed("orders", 3, 42, 1_777_636_800_123, b"k1", b"\xffv", (("a", b"1"), ("b", None)))
NULLS = Consumed("orders", 0, 0, -1, None, None)


def render(text: str, message: Consumed = MESSAGE, value: str = "utf-8") -> bytes:
    return Template(text, ENCODINGS["utf-8"], ENCODINGS[value]).render(message)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("%k %v %o %p %t %h %T\\n", b"k1 \xffv 42 3 orders a=1,b= 1777636800123\n"),
        ("%s %S %V %K", b"\xffv 2 2 2"),
        ("%D", b"2026-05-01T12:00:00.123Z"),
        ("100%%", b"100%"),
        ("\\t\\r\\0\\\\\\x41", b"\t\r\0\\A"),
        ("größe: %o", "größe: 42".encode()),
        ("", b""),
    ],
)
def test_fills_in_a_record(text: str, rendered: bytes) -> None:
    assert render(text) == rendered


def test_null_is_empty_and_has_size_minus_one() -> None:
    assert render("[%k][%v] %K %V %D", NULLS) == b"[][] -1 -1 -"


def test_values_are_shown_in_their_encoding() -> None:
    assert render("%v", value="hex") == b"ff76"
    assert render("%v", value="base64") == b"/3Y="


@pytest.mark.parametrize("text", ["%", "%z", "x%", "\\", "\\q", "\\x4", "\\xgg", "\\x+1", "\\x"])
def test_names_what_is_wrong(text: str) -> None:
    with pytest.raises(InvalidTemplate, match="at character"):
        render(text)


@given(st.text())
def test_text_without_marks_is_printed_as_it_is(text: str) -> None:
    quoted = text.replace("%", "%%").replace("\\", "\\\\")

    assert render(quoted) == text.encode()


@given(st.text(alphabet="%\\kvothTxn41 "))
def test_any_template_renders_or_is_refused(text: str) -> None:
    with suppress(InvalidTemplate):
        render(text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_timestamp_has_a_date_or_a_dash(timestamp_ms: int) -> None:
    assert date(timestamp_ms) == "-" or date(timestamp_ms).endswith("Z")
