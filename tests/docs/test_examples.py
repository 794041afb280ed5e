"""The examples of the manual, copied and pasted."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.embedded import Broker

pytest_plugins = ["pytester"]
DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (test_\w+\.py)\n")


def blocks(page: str) -> list[str]:
    found = _BLOCK.findall((DOCS / page).read_text())
    assert found, page
    return found


@pytest.fixture(scope="module")
def queue() -> Iterator[Broker]:
    with Broker(doors=["http.queue"]) as broker:
        yield broker


@pytest.mark.parametrize("number", range(len(blocks("embedded.md"))))
def test_embedded(number: int) -> None:
    exec(compile(blocks("embedded.md")[number], f"embedded.md, example {number}", "exec"), {})


def test_sdk(queue: Broker) -> None:
    queue.create_topic("orders")
    for number, block in enumerate(blocks("sdk.md")):
        example = block.replace("http://localhost:3000", queue.http_url)
        exec(compile(example, f"sdk.md, example {number}", "exec"), {})


@pytest.mark.slow
@pytest.mark.compat
def test_testing(pytester: pytest.Pytester) -> None:
    for block in blocks("testing.md"):
        name = _FILE.match(block)
        assert name, block
        (pytester.path / name[1]).write_text(block)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=9)
