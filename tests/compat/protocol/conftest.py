from collections.abc import Iterator

import pytest
from tests.compat.node import Node
from tests.compat.protocol.line import Line, line


@pytest.fixture
def wire(node: Node) -> Iterator[Line]:
    """A connection to the shared node."""
    with line(node) as made:
        yield made
