"""A real `millstream serve` in a process of its own."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_READY: Final = re.compile(r"serving Kafka on (?P<host>\S+):(?P<port>\d+),")
_START_SECONDS: Final = 60


class Server:
    """Started when made; *bootstrap* is where it serves. What it logged is in *log*, line by line."""

    def __init__(
        self,
        data: Path,
        settings: Mapping[str, object] | None = None,
        *,
        port: int = 0,
        command: tuple[str, ...] = (sys.executable, "-m", "millstream"),
        env: Mapping[str, str] | None = None,
    ) -> None:
        arguments = [*command, "serve", "--data", str(data), "--listen", f"127.0.0.1:{port}"]
        for name, value in (settings or {}).items():
            arguments += ["--set", f"{name}={value}"]
        self.log: list[str] = []
        self.port = 0
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=None if env is None else dict(env),
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
        self._reader.join(timeout=10)
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
            found = _READY.search(line)
            if found:
                self.port = int(found["port"])
                self._ready.set()
        self._ready.set()
