from collections.abc import Iterator

import pytest
from tests.support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "connections.frame.timeout.ms": 1500,
        "connections.write.timeout.ms": 2000,
        "max.connections.per.ip": 300,
        "queued.max.request.bytes": 64 << 20,
        "socket.request.max.bytes": 32 << 20,
        "log.dir.ballast.bytes": 0,
        "flush.policy": "os",
    }
    with Server(tmp_path_factory.mktemp("data"), settings) as running:
        yield running
        assert running.process.poll() is None, "the server died:\n" + "\n".join(running.log[-20:])
        assert not [line for line in running.log if "Traceback" in line]
