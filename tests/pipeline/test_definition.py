"""What a definition says, and what is refused before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest

from millstream.pipeline import InvalidPipeline, Pipeline, table, topic
from millstream.pipeline.order import chosen, in_order, in_turn


def same(frame: Any) -> Any:
    return frame


def declared(**given: Any) -> Pipeline:
    pipeline = Pipeline("orders")
    wanted = {"source": topic("orders", json="id string"), "into": table("lake.orders"), **given}
    pipeline.flow(**wanted)(same)
    return pipeline


def test_a_flow_is_named_for_its_function_and_has_sensible_defaults() -> None:
    flow = declared(expect={"a > 0": "warn", "b": "drop"}).flows["same"]

    assert (flow.mode, flow.every, flow.bad_records) == ("append", "10 seconds", "lake.orders_bad")
    assert [(each.check, each.otherwise) for each in flow.expect] == [("a > 0", "warn"), ("b", "drop")]
    assert flow.make(orders="a frame") == "a frame"


def test_sources_by_name_are_arguments_by_name() -> None:
    pipeline = Pipeline("orders")

    @pipeline.flow(source={"left": topic("a"), "right": table("lake.b")}, into=topic("c"))
    def joined(right: Any, left: Any) -> Any:
        return left, right

    flow = pipeline.flows["joined"]
    assert flow.make(left=1, right=2) == (1, 2)
    assert set(flow.streams) == {"left"}, "a table beside a topic is looked up, not followed"
    assert flow.every == "0 seconds"


def test_a_table_alone_is_followed_as_it_grows() -> None:
    assert set(declared(source=table("lake.raw")).flows["same"].streams) == {"raw"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pipeline("a b"), "a name is of letters"),
        (lambda: Pipeline("a", batch=0), "at least one record"),
        (lambda: Pipeline("a", options={"failOnDataLoss": "false"}), "set it at a topic"),
        (lambda: table("orders"), "write namespace.name"),
        (lambda: table("lake.orders", kind="hudi"), "it may be iceberg, delta"),
        (lambda: declared(source=table("lake.a", kind="delta")), "only iceberg can be read"),
        (lambda: declared(mode="complete"), "it may be append, update"),
        (lambda: declared(mode="update"), "takes mode append only"),
        (lambda: declared(expect={"a": "ignore"}), "it may be drop, warn, fail"),
        (
            lambda: declared(source=topic("o", json="a int", plain="string")),
            "json and plain; it is one of them",
        ),
        (lambda: declared(source=topic("o", plain="text")), "plain is 'text'"),
        (lambda: declared(source=topic("o", key="id")), "key is for sinks"),
        (lambda: declared(into=topic("o", start="end")), "start is for sources"),
        (lambda: declared(source=table("l.a", sequence_by="ts")), "sequence_by is for sinks"),
        (lambda: declared(into=table("l.a", sequence_by="ts")), "sequence_by and no key"),
        (lambda: declared(source=topic("o", watermark="ts")), "ts 10 minutes"),
        (lambda: declared(source={"a": table("l.a"), "b": table("l.b")}), "takes frame"),
        (lambda: declared(source={"frame": table("l.a", stream=False)}), "none of its sources is a stream"),
    ],
)
def test_what_cannot_run_is_refused_at_once(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidPipeline, match=words):
        make()


def test_two_flows_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidPipeline, match="one of that name already"):
        declared().flow(source=topic("a"), into=topic("b"))(same)


def chain(*ends: tuple[str, str]) -> Pipeline:
    pipeline = Pipeline("chain")
    for source, into in ends:
        pipeline.add(f"{source}-{into}", topic(source), topic(into), same)
    return pipeline


def test_flows_that_feed_others_come_first() -> None:
    flows = chain(("c", "d"), ("a", "b"), ("b", "c"), ("x", "y")).flows.values()

    assert [[flow.name for flow in stage] for stage in in_order(flows)] == [["a-b", "x-y"], ["b-c"], ["c-d"]]


def test_flows_in_a_circle_run_for_ever_but_not_once() -> None:
    flows = chain(("a", "b"), ("b", "a")).flows.values()

    with pytest.raises(InvalidPipeline, match="in a circle"):
        in_order(flows)
    assert in_turn(flows) == list(flows)


def test_a_flow_that_is_not_there_is_asked_for() -> None:
    pipeline = chain(("a", "b"), ("c", "d"))

    assert [flow.name for flow in chosen(pipeline, ["c-d"])] == ["c-d"]
    with pytest.raises(InvalidPipeline, match="it has a-b, c-d"):
        chosen(pipeline, ["nope"])
