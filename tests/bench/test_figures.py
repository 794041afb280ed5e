import pytest
from bench.figures import Measured, Results, Row, Spread, ratios, short, spread

ROW = Row("produce", "produce", "messages/s")


def test_the_median_stands_between_lowest_and_highest() -> None:
    assert spread([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)


def test_ratios_are_taken_round_by_round() -> None:
    """A slow minute slows both of a pair: the ratio of medians would not know."""
    assert ratios([10.0, 1.0, 20.0], [5.0, 0.5, 10.0]) == Spread(2.0, 2.0, 2.0)


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratios([1.0], []) is None
    assert ratios([1.0], [0.0]) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (12.34, "12.3"), (1234, "1,234"), (12345, "12.3 k"), (2.5e6, "2.5 M"), (3e9, "3 G")],
)
def test_figures_are_short(value: float, text: str) -> None:
    assert short(value) == text


def test_results_keep_every_round() -> None:
    results = Results()
    for ours, theirs in ((30.0, 10.0), (20.0, 10.0), (50.0, 10.0)):
        results.add(ROW, "millstream", Measured(ours, server_us=1.0))
        results.add(ROW, "Kafka", Measured(theirs, server_us=4.0))

    assert results.ratio("produce", "millstream", "Kafka") == Spread(3.0, 2.0, 5.0)
    assert results.server_ratio("produce", "millstream", "Kafka") == Spread(0.25, 0.25, 0.25)
    assert results.ratio("produce", "millstream", "Redis") is None


def test_what_is_written_tells_all_rounds() -> None:
    results = Results()
    results.add(ROW, "millstream", Measured(30.0))
    results.add(ROW, "millstream", Measured(20.0))

    written = results.to_json()["produce"]

    assert isinstance(written, dict)
    assert [run["value"] for run in written["peers"]["millstream"]] == [30.0, 20.0]
