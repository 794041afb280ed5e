"""What happened in a simulated run, in two sizes.

A digest over every step, to tell whether two runs were the same run; and the
last few hundred events in words, to tell a reader what led to a failure.
"""

import hashlib
import struct
import zlib
from collections import deque
from typing import Final, final

_STEP: Final = struct.Struct("<dII")
_FLUSH_BYTES: Final = 1 << 16


@final
class Trace:
    """Steps are hashed, notes are hashed and remembered."""

    def __init__(self, *, keep: int = 200) -> None:
        self.steps = 0
        self.last: deque[tuple[float, str]] = deque(maxlen=keep)
        self._hash = hashlib.blake2b(digest_size=16)
        self._pending = bytearray()

    def step(self, now: float, node: int, choice: int) -> None:
        """One callback of the node numbered *node* runs, the *choice*-th of those that were ready."""
        self.steps += 1
        self._pending += _STEP.pack(now, node, choice)
        if len(self._pending) >= _FLUSH_BYTES:
            self._flush()

    def data(self, now: float, node: int, data: bytes) -> None:
        """*data* reaches a node; its content counts, so that an order that shows is caught at once."""
        self._pending += _STEP.pack(now, node, zlib.crc32(data))

    def note(self, now: float, *words: object) -> None:
        """Something a reader of a failure would want to know."""
        text = " ".join(map(str, words))
        self.last.append((now, text))
        self._pending += f"{now!r} {text}\n".encode()

    def digest(self) -> str:
        """The whole run so far in 32 hex digits."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        self._hash.update(self._pending)
        self._pending.clear()
