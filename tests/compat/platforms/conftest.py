"""One JVM for all tests of a file."""

from collections.abc import Iterator

import pytest
from tests.compat.platforms.jvm import Jvm


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    jvm = Jvm(tmp_path_factory.mktemp("jvm") / "stderr")
    try:
        yield jvm
    finally:
        jvm.close()
