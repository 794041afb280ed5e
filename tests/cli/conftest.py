"""A real node for the few tests that need real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data: Path = tmp_path_factory.mktemp("data")
    with Server(data, {"group.initial.rebalance.delay.ms": 0}) as running:
        yield running
        running.stop()
