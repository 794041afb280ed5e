"""What `_native.c` offers where it was built: see `rounds.py`."""

from collections.abc import Callable, Sequence
from typing import final

from millstream.broker.waiting import Hosted
from millstream.env.disk import File
from millstream.gateways.kafka.rounds import Guest

# file, limits; where the log starts, offset, position, position that was indexed, newest and latest time;
# whether it must be synced before anybody is told, and whether somebody waits for what is written
Place = tuple[File, tuple[int, int, int, int, int], int, int, int, int, int, int, bool, bool]
# whose log was synced, how often, how many microseconds that took, and what went wrong
Synced = tuple[Hosted, int, int, OSError | None]
# whose log, sender, base and end offset, size, batches, newest time and its offset, notes,
# base offsets of the last
Taken = tuple[
    Hosted,
    tuple[int, int, int],
    int,
    int,
    int,
    int,
    tuple[int, int],
    Sequence[tuple[int, int, int, int]],
    Sequence[int],
]
FRAME_BYTES: int
Back = tuple[Guest, bytes | None, bytes | None]

@final
class Rounds:
    @property
    def guests(self) -> int: ...
    def admit(
        self,
        fd: int,
        who: Guest,
        hosted: Hosted,
        index: int,
        alike: tuple[bytes, bytes, bool, int, bytes, int, int, int],
        producer_id: int,
        producer_epoch: int,
        begun: bytes,
        /,
    ) -> bool: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...
    def dismiss(self, fd: int, /) -> bytes: ...
    def look(self, fd: int, /) -> tuple[int, int]: ...
    def go(
        self,
        loop: int,
        limit_us: int,
        idle_us: int,
        lend: Callable[[Hosted], Place | None],
        sequence: Callable[[Hosted, int, int], int],
        /,
    ) -> tuple[list[Taken], OSError | None, Hosted | None, int, Synced | None]: ...
    def answer(self) -> list[Back]: ...
    def forget(self) -> list[Back]: ...
    def release(self) -> list[Back]: ...
