"""A broker that comes back, on the same port and data, after each of its ends."""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Final

from tests.support.server import Server

MILLSTREAM: Final = (sys.executable, "-m", "millstream")


class Mortal(contextlib.AbstractContextManager["Mortal"]):
    """Use as `with Mortal(...) as broker`; *server* is its life of the moment."""

    def __init__(
        self, data: Path, settings: Mapping[str, object], command: tuple[str, ...] = MILLSTREAM
    ) -> None:
        self._data = data
        self._settings = settings
        self._command = command
        self._is_over = False
        self.server = self._start(free_port())

    @property
    def bootstrap(self) -> str:
        return self.server.bootstrap

    def freeze(self) -> None:
        """Let it do nothing any more; returns when it does nothing."""
        pid = self.server.process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)

    def end(self, how: signal.Signals, meanwhile: Callable[[], None] | None = None) -> None:
        """Let it end, do something *meanwhile*, and let it live again."""
        self.server.process.send_signal(how)
        self.server.wait()
        if meanwhile is not None:
            meanwhile()
        self.server = self._start(self.server.port)
        if self._is_over:  # the test has failed while we were in another thread
            self.server.kill()

    def stop(self) -> int:
        return self.server.stop()

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self.server.__exit__()

    def _start(self, port: int) -> Server:
        return Server(self._data, self._settings, port=port, command=self._command)


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
