"""JSON as the standard library knows it, only faster."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.gateways.http.json import is_json, json_bytes, loads

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
surrogates = st.text(st.characters(categories=["Cs", "L", "N"]))


@given(values)
def test_what_is_written_is_read_again(value: Any) -> None:
    data = json_bytes(value)
    assert loads(data) == value == json.loads(data)
    assert is_json(data)


@given(surrogates | st.integers(min_value=10**17, max_value=10**40))
def test_what_is_beyond_orjson_is_kept_exactly(value: Any) -> None:
    data = json.dumps([value]).encode()
    assert loads(data) == [value]
    assert json.loads(json_bytes([value])) == [value]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"[1e999, 1234567890123456789]",
        b"{",
        b"\xff",
        b"1 2",
        b"[" * 10**5,
    ],
)
def test_what_is_no_json(data: bytes) -> None:
    assert not is_json(data)
    with pytest.raises((ValueError, RecursionError)):
        loads(data)
