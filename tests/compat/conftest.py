"""One node for all tests of a session; each takes topics and groups of its own."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.compat import rows
from tests.compat.node import Node, unique

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.compat)
            if not any(mark.name == "timeout" for mark in item.iter_markers()):
                item.add_marker(pytest.mark.timeout(240))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    told = yield
    rows.note(item, told)
    return told


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(tmp_path_factory.mktemp("node") / "data")
    try:
        yield node
    finally:
        node.close()


@pytest.fixture
def bootstrap(node: Node) -> str:
    return node.bootstrap


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Node]:
    """A node of the test's own, to stop and start as it likes."""
    node = Node(tmp_path / "data")
    try:
        yield node
    finally:
        node.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name of the test's own, for a topic or a group."""
    return unique(request.node.originalname.removeprefix("test_")[:60])
