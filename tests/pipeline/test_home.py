"""What a pipeline remembers."""

from pathlib import Path

import pytest

from millstream.client.topics import TopicPartition

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from millstream.pipeline.home import Home, offsets_of

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def batch(home: Home, number: int, *sources: str, done: bool = True) -> None:
    """As Spark writes it."""
    folder = Path(home.url) / "clean/checkpoint"
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(number)).write_text("\n".join(["v1", "{}", *sources]))
    if done:
        (folder / "commits" / str(number)).write_text("v1\n{}")


def test_where_a_flow_began_is_found_again(home: Home) -> None:
    assert home.begun("clean") is None
    begun = home.begin("clean", {ZERO: 5, ONE: 7}, {ZERO: 9, ONE: 9})

    assert home.begun("clean") == begun
    assert home.works("clean", "begun") == ["clean/begun.json"]


def test_the_last_batch_that_is_done_counts(home: Home) -> None:
    assert home.committed("clean", ["orders"]) is None
    batch(home, 9, '{"orders": {"0": 5, "1": 6}}')
    batch(home, 10, '{"orders": {"0": 8, "1": 6}}', '{"sequence": 4}')
    batch(home, 11, '{"orders": {"0": 9, "1": 9}}', "-", done=False)

    assert home.committed("clean", ["orders"]) == (10, {ZERO: 8, ONE: 6})
    assert home.sequence("clean") == 4


def test_a_document_is_replaced_whole(home: Home) -> None:
    home.write("run.json", {"a": 1})
    home.write("run.json", {"b": 2})

    assert home.read("run.json") == {"b": 2}
    assert home.read("other.json") is None


def test_offsets_of_other_sources_are_passed_over() -> None:
    said = ['{"orders": {"0": 3}}', '{"sequence": 9}', None, '{"others": {"0": 1}}']

    assert offsets_of(said, ["orders"]) == {ZERO: 3}
