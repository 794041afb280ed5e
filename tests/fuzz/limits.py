"""What one run of a target may cost."""

import contextlib
import os
import re
import time
from collections.abc import Callable
from typing import Final, final

from millstream.errors import Refused

MAX_SECONDS: Final = 0.050
MAX_KIB: Final = 32 << 10
_TRIES: Final = 4  # the processor is shared, and code is slow when it first runs: the best try counts
_HIGH: Final = re.compile(rb"VmHWM:\s+(\d+) kB")
_RESIDENT: Final = re.compile(rb"VmRSS:\s+(\d+) kB")


class TooCostly(AssertionError):
    """An input that takes more time or memory than any should."""


@final
class Limits:
    """Runs a target; lets `Refused` pass, and raises `TooCostly` for what goes beyond the limits."""

    def __init__(self, target: Callable[[bytes], None]) -> None:
        self._target = target
        self._status = os.open("/proc/self/status", os.O_RDONLY)
        self._control = os.open("/proc/self/clear_refs", os.O_WRONLY)

    def run(self, data: bytes) -> None:
        before = self._kib(_RESIDENT)
        os.write(self._control, b"5")  # the high of resident memory is now what is resident
        seconds = self._timed(data)
        grown = self._kib(_HIGH) - before
        if grown > MAX_KIB:
            raise TooCostly(f"{grown} KiB for {len(data)} bytes")

        tries = 1
        while seconds > MAX_SECONDS:
            if tries == _TRIES:
                raise TooCostly(f"{seconds * 1000:.0f} ms for {len(data)} bytes")
            seconds = min(seconds, self._timed(data))
            tries += 1

    def _timed(self, data: bytes) -> float:
        started = time.process_time()
        with contextlib.suppress(Refused):
            self._target(data)
        return time.process_time() - started

    def _kib(self, line: re.Pattern[bytes]) -> int:
        found = line.search(os.pread(self._status, 4096, 0))
        assert found
        return int(found[1])
