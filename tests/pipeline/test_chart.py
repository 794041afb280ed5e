"""Charts, and the orders that the demo draws."""

import json
from random import Random
from xml.etree import ElementTree

import pytest

from millstream.pipeline.chart import nice_top, svg_chart, text_chart
from millstream.pipeline.orders import orders

BARS = [("10:00", 50.0), ("10:01", 100.0), ("10:02", 0.0)]


def test_the_longest_bar_fills_the_room() -> None:
    assert text_chart(BARS, 20) == ["10:00 ████▌ 50", "10:01 █████████ 100", "10:02  0"]
    assert text_chart([], 20) == []


def test_the_picture_has_a_bar_each_and_is_xml_whatever_the_names_are() -> None:
    found = ElementTree.fromstring(svg_chart([*BARS, ("<&>", 7.0)], "a & b", ""))

    bars = [each for each in found.iter("{http://www.w3.org/2000/svg}rect") if each.get("rx")]
    assert [float(each.get("height", "")) for each in bars] == [152.0, 304.0, 0.0, 21.3]


@pytest.mark.parametrize(("most", "top"), [(0, 1), (0.3, 0.4), (7, 8), (100, 100), (101, 200), (3499, 4000)])
def test_scales_end_at_round_numbers(most: float, top: float) -> None:
    assert nice_top(most) == pytest.approx(top)


def test_orders_come_in_order_with_a_few_broken_among_them() -> None:
    found = list(orders(1000, 1_800_000_000_000, 30, Random(1)))

    times, broken = [], 0
    for each in found:
        try:
            times.append(json.loads(each.value)["ts"])
        except ValueError:
            broken += 1
    assert (len(found), broken) == (1003, 2), "and one whose amount is no number"
    whole = [each for each in times if each != "2026-11-01T10:00:00Z"]
    assert len(whole) == 1000
    assert whole == sorted(whole)
