"""Keys and values as text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.encoding import ENCODINGS, Unreadable, compact


@pytest.mark.parametrize("name", ["hex", "base64"])
@given(data=st.binary())
def test_bytes_come_back_as_they_went(name: str, data: bytes) -> None:
    shown = ENCODINGS[name].to_json(data)

    assert isinstance(shown, str)
    assert ENCODINGS[name].from_text(shown) == data
    assert ENCODINGS[name].show(data) == shown.encode()


@given(st.text())
def test_text_comes_back_as_it_went(text: str) -> None:
    utf8 = ENCODINGS["utf-8"]

    assert utf8.from_text(text) == utf8.show(text.encode()) == text.encode()
    assert utf8.to_json(text.encode()) == text


@pytest.mark.parametrize("name", list(ENCODINGS))
@given(data=st.binary())
def test_any_bytes_can_be_shown_in_json(name: str, data: bytes) -> None:
    json.loads(compact(ENCODINGS[name].to_json(data)))


def test_json_is_shown_as_a_value_and_the_rest_as_text() -> None:
    assert ENCODINGS["json"].to_json(b'{"a": [1, null]}') == {"a": [1, None]}
    assert ENCODINGS["json"].show(b'{"a": [1, null]}') == b'{"a":[1,null]}'
    assert ENCODINGS["json"].to_json(b"{oops") == "{oops"


@pytest.mark.parametrize(("name", "text"), [("hex", "f"), ("hex", "zz"), ("base64", "a"), ("base64", "a b=")])
def test_says_what_cannot_be_read(name: str, text: str) -> None:
    with pytest.raises(Unreadable, match="is not"):
        ENCODINGS[name].from_text(text)
