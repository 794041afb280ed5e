"""A program on a terminal of its own, as a person would have started it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

_COLUMNS: Final = 120
_CTRL_C: Final = b"\x03"
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@final
class Terminal:
    """Started when made. *text* is what it has shown so far, without colours and moves of the cursor."""

    def __init__(
        self, command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, **(env or {}), "TERM": "xterm", "COLUMNS": str(_COLUMNS)},
            start_new_session=True,
            # The terminal becomes theirs, so that Ctrl-C goes to them and to whatever they have started.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._raw = bytearray()

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self._raw.decode(errors="replace"))

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """Read until it has shown *pattern*."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self.text)) is None:
            assert self._read(deadline), f"no {pattern!r} in what it showed:\n{self.text}"
        return found

    def press_ctrl_c(self) -> None:
        os.write(self._screen, _CTRL_C)

    def wait(self, seconds: float) -> int:
        """Read until it ends; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        assert time.monotonic() < deadline, f"it has not ended; it showed:\n{self.text}"
        return self.process.wait(timeout=60)

    def _read(self, deadline: float) -> bool:
        """Read some more; False at the end, or when it is too late."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._screen, 1 << 16)
        except OSError:  # so Linux says that nobody has the other end open any more
            return False
        self._raw += data
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._screen)
