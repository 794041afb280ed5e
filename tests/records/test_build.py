"""Records are encoded alike by whichever way, and read back as they were given."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, PLENTY, record_lists

from millstream.records import build as building
from millstream.records.batch import Batch
from millstream.records.build import Encoded, NewRecord, build, plain_encode
from millstream.records.read import read

_NATIVE = building._NATIVE
needs_native = pytest.mark.skipif(_NATIVE is None, reason="the native part was not built: no C compiler?")

ordinary = st.lists(
    st.builds(
        NewRecord,
        st.none() | st.binary(max_size=300),
        st.none() | st.binary(max_size=20_000),
        st.just(()),
        st.none() | st.integers(0, 2**63 - 1),
    ),
    min_size=1,
    max_size=80,
)


def native(records: object, now_ms: int) -> Encoded | None:
    assert _NATIVE is not None
    encoded: Encoded | None = _NATIVE(records, now_ms)
    return encoded


@needs_native
@given(ordinary, st.integers(0, 2**50))
@example([NewRecord(None, None)] * 9_000, NOW_MS)
@example([NewRecord(b"k" * 63, b"v" * 64), NewRecord(b"", b""), NewRecord(b"k", b"v", (), 1)], NOW_MS)
def test_the_native_way_takes_what_is_ordinary_and_does_as_the_plain_one(
    records: list[NewRecord], now_ms: int
) -> None:
    assert native(records, now_ms) == plain_encode(records, now_ms)


@needs_native
@given(record_lists)
def test_what_the_native_way_takes_it_encodes_as_the_plain_one(records: list[NewRecord]) -> None:
    assert native(records, NOW_MS) in (None, plain_encode(records, NOW_MS))


@needs_native
@pytest.mark.parametrize(
    "records",
    [
        [],
        (NewRecord(b"", b""),),
        [NewRecord(b"", b"", (("name", b"value"),))],
        [NewRecord(b"", b"", (), -1)],
        [NewRecord(b"", b"", (), 1 << 63)],
        [NewRecord(b"", b""), NewRecord(bytearray(b"k"), b"")],  # type: ignore[arg-type]
        [NewRecord(b"", memoryview(b"v"))],  # type: ignore[arg-type]
        [NewRecord(b"", b"", (), 1.5)],  # type: ignore[arg-type]
    ],
)
def test_what_is_out_of_the_ordinary_is_left_to_the_plain_way(records: object) -> None:
    assert native(records, NOW_MS) is None


@needs_native
def test_what_is_no_record_is_an_error() -> None:
    with pytest.raises(AttributeError):
        native([NewRecord(b"", b""), object()], NOW_MS)


@given(record_lists)
def test_what_was_built_is_read(records: list[NewRecord]) -> None:
    found = read(Batch(build(records, now_ms=NOW_MS)), max_bytes=PLENTY)
    assert [(each.key, each.value, each.headers, each.timestamp_ms) for each in found] == [
        (each.key, each.value, each.headers, NOW_MS if each.timestamp_ms is None else each.timestamp_ms)
        for each in records
    ]
