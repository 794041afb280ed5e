from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.node import Node
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.member import Member, members


@pytest.fixture
def wire(node: Node) -> Iterator[Line]:
    """A connection to the shared node."""
    with line(node) as made:
        yield made


@pytest.fixture
def member(node: Node) -> Iterator[Callable[..., Member]]:
    """Makes members of groups on the shared node."""
    with members(node) as make:
        yield make


@pytest.fixture
def mortal_in_haste(tmp_path: Path) -> Iterator[Node]:
    """A node that looks for transactions whose time is over ten times a second."""
    node = Node(tmp_path / "data", {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100})
    try:
        yield node
    finally:
        node.close()
