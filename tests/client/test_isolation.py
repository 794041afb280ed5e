"""What a reader sees of transactions."""

from hypothesis import given
from hypothesis import strategies as st

from millstream.client.isolation import visible
from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction

Step = tuple[str, int]  # what happens, and to which producer


def batch(offset: int, step: Step) -> Batch:
    kind, producer = step
    records = [NewRecord(b"\x00\x00\x00\x00" if kind in ("commit", "abort") else None, b"")]
    data = build(
        records,
        now_ms=0,
        base_offset=offset,
        producer_id=-1 if kind == "plain" else producer,
        producer_epoch=-1 if kind == "plain" else 0,
        base_sequence=-1,
        transactional=kind != "plain",
        control=kind in ("commit", "abort"),
    )
    return Batch(data)


steps = st.lists(
    st.tuples(st.sampled_from(["plain", "write", "write", "commit", "abort"]), st.integers(1, 3)), max_size=20
)


@given(steps)
def test_exactly_the_aborted_are_left_out(story: list[Step]) -> None:
    first: dict[int, int] = {}
    aborted: list[FetchResponseAbortedTransaction] = []
    fate: dict[int, list[int]] = {}
    hidden: set[int] = set()
    for offset, (kind, producer) in enumerate(story):
        if kind == "write":
            first.setdefault(producer, offset)
            fate.setdefault(producer, []).append(offset)
        elif kind in ("commit", "abort"):
            written = fate.pop(producer, [])
            began = first.pop(producer, None)
            if kind == "abort" and began is not None:
                aborted.append(FetchResponseAbortedTransaction(producer, began))
                hidden.update(written)
    batches = [batch(offset, step) for offset, step in enumerate(story)]

    for each, shown in visible(batches, aborted):
        kind = story[each.base_offset][0]
        assert shown == (kind in ("plain", "write") and each.base_offset not in hidden)


def test_markers_are_never_shown() -> None:
    batches = [batch(0, ("write", 1)), batch(1, ("commit", 1))]

    assert [shown for _, shown in visible(batches, [])] == [True, False]
