"""The table and the chart of what was measured."""

from xml.etree import ElementTree

import pytest
from bench.chart import chart, x_of
from bench.figures import Measured, Results, Row
from bench.goals import Goal, judged, to_json
from bench.report import goals_table
from bench.table import table, verdicts
from rich.console import Console


def results() -> Results:
    made = Results()
    rate = Row("rate", "single & pipelined", "messages/s")
    wait = Row("wait", "wait", "µs", lower_is_better=True)
    made.add(rate, "millstream", Measured(300_000, server_us=2.0))
    made.add(rate, "Kafka", Measured(10_000, server_us=60.0, client_share=0.99))
    made.add(wait, "millstream", Measured(50))
    made.add(wait, "Kafka", Measured(200))
    return made


def shown() -> str:
    console = Console(width=160, no_color=True, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(table(results(), "millstream", "here"))
    return captured.get()


def test_the_table_has_figures_and_ratios() -> None:
    text = shown()

    assert "300 k" in text
    assert "30.00x (30.00–30.00)" in text
    assert "0.25x" in text


def test_the_table_tells_when_the_client_was_the_limit() -> None:
    assert shown().count("client busy") == 1


def test_the_chart_is_well_formed_and_points_to_the_right_where_we_are_ahead() -> None:
    drawn = chart(results(), "millstream", "a < b")
    root = ElementTree.fromstring(drawn)
    dots = [
        float(each.get("cx", "0"))
        for each in root.iter("{http://www.w3.org/2000/svg}circle")
        if each.find("{http://www.w3.org/2000/svg}title") is not None
    ]

    # A quarter of the time is four times as good.
    assert dots == [pytest.approx(x_of(30), abs=0.1), pytest.approx(x_of(4), abs=0.1)]
    assert all(dot > x_of(1) for dot in dots)


def test_the_chart_leaves_out_whom_it_is_told_to() -> None:
    assert "Kafka" in chart(results(), "millstream", "here")
    assert "Kafka" not in chart(results(), "millstream", "here", leave_out=["Kafka"])


def test_the_goals_are_shown_with_what_was_asked_and_seen() -> None:
    asked = Goal(about="keep ahead", rows="rate", plain=10, compiled=40, beside="Kafka")
    console = Console(width=160, no_color=True)
    with console.capture() as captured:
        console.print(verdicts(judged(results(), [asked])))

    assert "≥ 40x  30 (30–30)x  missed" in captured.get()


def test_the_goals_are_written_down_and_what_falls_short_is_bold() -> None:
    asked = [
        Goal(about="keep ahead", rows="rate", plain=10, compiled=40, beside="Kafka"),
        Goal(about="be quick", rows="wait", plain=1, compiled=0.5, at_most=True, beside="Kafka"),
    ]

    assert goals_table(to_json(judged(results(), asked))).splitlines()[2:] == [
        "| Kafka | keep ahead | – | ≥ 40: **30** (30–30) |",
        "| Kafka | be quick | – | ≤ 0.5: 0.25 (0.25–0.25) |",
    ]


def test_what_is_off_the_scale_lies_at_its_end() -> None:
    assert x_of(1e9) == x_of(1000)
    assert x_of(0) == x_of(0.01)
