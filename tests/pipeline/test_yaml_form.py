"""Pipelines in YAML."""

import pytest

from millstream.pipeline import InvalidPipeline, Topic
from millstream.pipeline.yaml_form import read_yaml

pytest.importorskip("yaml", reason='PyYAML is not installed: pip install "millstream[spark]"')

WHOLE = """
pipeline: orders
brokers: localhost:9092
batch: 5000
options: {kafka.request.timeout.ms: 1000}
flows:
  clean:
    from: {topic: orders, json: "id string, amount double", dedupe: id, watermark: ts 5 minutes}
    expect:
      - id is not null
      - {check: amount > 0, else: warn}
    into: {table: lake.orders}
    every: 1 minute
  joined:
    from:
      orders: {topic: orders, plain: string}
      customers: {table: lake.customers}
    sql: SELECT * FROM orders JOIN customers USING (id)
    into: {topic: joined, key: id}
"""


def test_everything_that_can_be_said() -> None:
    pipeline = read_yaml(WHOLE, "orders.yaml")

    clean, joined = pipeline.flows.values()
    assert (pipeline.name, pipeline.brokers, pipeline.batch) == ("orders", "localhost:9092", 5000)
    assert pipeline.options == {"kafka.request.timeout.ms": "1000"}
    source = clean.sources["orders"]
    assert isinstance(source, Topic)
    assert (source.dedupe, source.watermark) == (("id",), ("ts", "5 minutes"))
    assert [(each.check, each.otherwise) for each in clean.expect] == [
        ("id is not null", "drop"),
        ("amount > 0", "warn"),
    ]
    assert clean.every == "1 minute"
    assert list(joined.sources) == ["orders", "customers"]
    assert clean.make(orders="as it is") == "as it is"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("brokers:", "borkers:", "orders.yaml: no key 'borkers'; did you mean 'brokers'?"),
        ("    expect:", "    expct:", "flow 'clean': no key 'expct'; did you mean 'expect'?"),
        ("dedupe: id", "dedup: id", "flow 'clean': from: no key 'dedup'; did you mean 'dedupe'?"),
        ("key: id", "kye: id", "flow 'joined': into: no key 'kye'; did you mean 'key'?"),
        ("else: warn", "otherwise: warn", "flow 'clean': expect: no key 'otherwise'"),
        ("else: warn", "else: wran", "else is 'wran'; it may be drop, warn, fail"),
        ("{table: lake.orders}", "lake.orders", "say which, 'topic: orders' or 'table: lake.orders'"),
        ("{table: lake.orders}", "{table: 7}", "table is 7; it is a name"),
        (
            "{table: lake.orders}",
            "{table: lake.orders, key: id, sequence_by: 7}",
            "sequence_by is 7; it is text",
        ),
        ("batch: 5000", "batch: many", "batch is 'many'; it is a whole number"),
        ("pipeline: orders", "batch: 5", "it has no name"),
        ("plain: string", "plain: 3", "plain is 3; it is text"),
        ("flows:", "flows: [", "this is no YAML"),
    ],
)
def test_a_mistake_is_named_with_what_may_have_been_meant(before: str, after: str, words: str) -> None:
    assert before in WHOLE
    with pytest.raises(InvalidPipeline) as refused:
        read_yaml(WHOLE.replace(before, after, 1), "orders.yaml")

    assert words in str(refused.value)


@pytest.mark.parametrize("text", ["", "3", "[]", "pipeline: a", "pipeline: a\nflows: {}"])
def test_what_is_no_pipeline_at_all(text: str) -> None:
    with pytest.raises(InvalidPipeline):
        read_yaml(text, "x.yaml")
