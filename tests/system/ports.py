"""Ports to come back to."""

import socket
from random import Random


def free_port() -> int:
    """A port for a server that will be restarted on it.

    Not one of those the system hands out to clients: one of them might take it meanwhile.
    """
    for port in Random().sample(range(20_000, 30_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")
