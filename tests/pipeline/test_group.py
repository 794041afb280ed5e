"""The group that shows how far a pipeline is, without Spark and without a cluster."""

import json
from pathlib import Path
from typing import Any, final

import pytest

from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from millstream.pipeline import Pipeline, table, topic
from millstream.pipeline.group import Group
from millstream.pipeline.home import Begun, Home, Offsets

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 0)


@final
class Query:
    """As much of Spark's as is asked of it."""

    lastProgress: Any = None  # noqa: N815  Spark's name

    def has_read(self, **offsets: int) -> None:
        sources = [{"endOffset": json.dumps({name: {"0": at}})} for name, at in offsets.items()]
        self.lastProgress = {"sources": sources}


@final
class Story:
    """A group, what it has published, and the works of its pipeline."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(str(folder))
        self.published: list[Offsets] = []
        self.unreachable = False
        self.group = Group(self.home, self._publish)

    def start(self, work: str, *topics: str, at: int = 0) -> Query:
        query = Query()
        self.group.begin(work, topics, Begun("id", {TopicPartition(name, 0): at for name in topics}))
        self.group.started(work, query)
        return query

    def batch_of(self, work: str) -> list[Offsets]:
        """What has been published when the next batch of *work* is done."""
        seen: list[Offsets] = []
        self.group.before_each(work, lambda batch, number: seen.extend(self.published))(None, 0)
        return seen

    def left(self, work: str, **offsets: int) -> None:
        """That *work* has read so far, as Spark writes it."""
        lines = ["v1", "{}", *(json.dumps({name: {"0": at}}) for name, at in offsets.items())]
        for name, text in (("offsets", "\n".join(lines)), ("commits", "v1\n{}")):
            folder = Path(self.home.url) / work / "checkpoint" / name
            folder.mkdir(parents=True)
            (folder / "0").write_text(text)

    def _publish(self, news: Offsets) -> None:
        if self.unreachable:
            raise Unreachable("nobody there")
        self.published.append(dict(news))


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def flows(**sources: str) -> Pipeline:
    pipeline = Pipeline("shop")
    for name, source in sources.items():
        pipeline.add(name, topic(source, plain="string"), table(f"lake.{name}"), lambda frame: frame)
    return pipeline


def test_a_batch_begins_when_the_one_before_is_published(story: Story) -> None:
    query = story.start("clean", "orders", at=3)

    assert story.batch_of("clean") == [{ORDERS: 3}]
    query.has_read(orders=9)
    assert story.batch_of("clean") == [{ORDERS: 3}, {ORDERS: 9}]


def test_what_one_has_not_read_is_not_read(story: Story) -> None:
    fast, slow = story.start("fast", "orders"), story.start("slow", "orders", "clicks")
    fast.has_read(orders=50)
    slow.has_read(orders=20, clicks=7)
    story.group.look()
    fast.has_read(orders=70)
    story.group.look()

    assert story.published == [{ORDERS: 20, CLICKS: 7}]


def test_what_a_query_for_bad_records_has_not_read_is_not_read(story: Story) -> None:
    bad, main = story.start("sums/bad-orders", "orders"), story.start("sums", "orders")
    main.has_read(orders=50)
    bad.has_read(orders=40)
    story.group.look()

    assert story.published == [{ORDERS: 40}]


def test_a_flow_that_does_not_run_is_heeded_and_not_told_of(story: Story) -> None:
    story.home.begin("rests", {ORDERS: 5, CLICKS: 5})
    story.left("rests", orders=30)
    story.group.rest(flows(rests="orders", never="orders").flows.values())
    story.start("clean", "orders").has_read(orders=50)
    story.group.look()

    assert story.published == [{ORDERS: 30}]


def test_a_query_that_a_flow_no_longer_has_is_heeded_no_more(story: Story) -> None:
    story.home.begin("sums", {ORDERS: 5})
    story.left("sums", orders=30)
    story.left("sums/bad-orders", orders=20)
    pipeline = flows(sums="orders")
    story.group.rest(pipeline.flows.values())
    story.start("other", "orders").has_read(orders=50)
    story.group.look()
    story.start("sums", "orders")
    story.group.look()

    assert story.published == [{ORDERS: 20}, {ORDERS: 30}]


def test_it_goes_on_from_where_it_was_and_ends_with_what_is_done(story: Story) -> None:
    story.left("clean", orders=30)
    query = story.start("clean", "orders", at=5)
    story.group.look()
    query.has_read(orders=25)  # Spark tells late
    story.group.settle()

    assert story.published == [{ORDERS: 30}]
    assert story.group.position("clean") == {ORDERS: 30}


def test_batches_do_not_wait_for_a_cluster_that_does_not_answer(story: Story) -> None:
    query = story.start("clean", "orders")
    story.unreachable = True
    story.batch_of("clean")
    story.unreachable = False
    query.has_read(orders=9)

    assert story.batch_of("clean") == [], "it is not even tried"
    story.group.look()
    query.has_read(orders=12)
    assert story.batch_of("clean") == [{ORDERS: 9}, {ORDERS: 12}]


def test_nothing_is_told_when_it_is_closed(story: Story) -> None:
    query = story.start("clean", "orders")
    query.has_read(orders=9)
    story.group.close()

    assert story.batch_of("clean") == []
