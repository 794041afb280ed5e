from hypothesis import given
from hypothesis import strategies as st

from millstream.storage.epochs import Epochs

REIGNS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 10)), min_size=1, max_size=6)


def test_answers_as_kafka_does() -> None:
    epochs = Epochs()
    for epoch, start in ((2, 10), (4, 25), (5, 40)):
        epochs.assign(epoch, start)

    assert epochs.end_of(5, 60) == (5, 60)  # the present one: the end of the log
    assert epochs.end_of(6, 60) == (-1, -1)  # never heard of
    assert epochs.end_of(1, 60) == (1, 10)  # older than anything known
    assert epochs.end_of(2, 60) == (2, 25)
    assert epochs.end_of(3, 60) == (2, 25)  # wrote nothing: the one before it
    assert Epochs().end_of(0, 0) == (-1, -1)


@given(REIGNS, st.integers(0, 70))
def test_knows_who_wrote_each_offset(reigns: list[tuple[int, int]], offset: int) -> None:
    epochs = Epochs()
    written: list[int] = []
    epoch = 0
    for step, count in reigns:
        epoch += step
        epochs.assign(epoch, len(written))
        written += [epoch] * count

    assert epochs.epoch_of(offset) == (written[offset] if offset < len(written) else epoch)
    assert epochs.latest == epoch
    for each in set(written):
        following = [at for at, other in enumerate(written) if other > each]
        assert epochs.end_of(each, len(written)) == (each, following[0] if following else len(written))


@given(REIGNS, st.integers(0, 60), st.integers(0, 60))
def test_shrinks_with_its_log(reigns: list[tuple[int, int]], start: int, end: int) -> None:
    epochs = Epochs()
    written: list[int] = []
    for number, (_, count) in enumerate(reigns):
        epochs.assign(number, len(written))
        written += [number] * count
    start, end = sorted((min(start, len(written)), min(end, len(written))))
    epochs.truncate_end(end)
    epochs.truncate_start(start)

    for offset in range(start, end):
        assert epochs.epoch_of(offset) == written[offset]
    assert [begin for _, begin in epochs][:1] in ([], [start])
    assert Epochs.from_lines(epochs.lines()).lines() == epochs.lines()


def test_one_reign_needs_no_file() -> None:
    epochs = Epochs()
    epochs.assign(3, 0)
    alone = epochs.unsaved_from
    epochs.assign(4, 17)
    with_another = epochs.unsaved_from
    epochs.saved()
    saved = epochs.unsaved_from
    epochs.truncate_end(10)  # and the file says more than is true

    assert (alone, with_another, saved, epochs.unsaved_from) == (None, 0, None, 17)
