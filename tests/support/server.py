"""A real `millstream serve` in a process of its own."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from millstream.node.config import OTHER_LISTENERS

_READY: Final = re.compile(r"serving Kafka on (?P<host>\S+):(?P<port>\d+),")
_DOOR: Final = re.compile(r"serving (?P<name>.+) on \S+:(?P<port>\d+)$")
_START_SECONDS: Final = 60


class Server:
    """Started when made; *bootstrap* is where it serves Kafka. What it logged is in *log*, line by line."""

    def __init__(
        self,
        data: Path,
        settings: Mapping[str, object] | None = None,
        *,
        port: int = 0,
        command: tuple[str, ...] = (sys.executable, "-m", "millstream"),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        arguments = [*command, "serve", "--data", str(data), "--listen", f"127.0.0.1:{port}"]
        doors = dict.fromkeys(OTHER_LISTENERS, "127.0.0.1:0")
        for name, value in (doors | dict(settings or {})).items():
            arguments += ["--set", f"{name}={value}"]
        self.log: list[str] = []
        self.port = 0
        self.ports: dict[str, int] = {}  # of the other doors, by name
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=None if env is None else dict(env),
            cwd=cwd,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(_START_SECONDS) or not self.port:
            self.kill()
            raise AssertionError("the server did not start:\n" + "\n".join(self.log))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ask it to stop, as an operator would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> int:
        self.process.kill()
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=60)
        return code

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))
            door = _DOOR.search(line)
            if door:
                self.ports[door["name"]] = int(door["port"])
            found = _READY.search(line)
            if found:
                self.port = int(found["port"])
                self._ready.set()
        self._ready.set()
