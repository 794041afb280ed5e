"""What a log must put on the disk before more of it counts."""

import contextlib
from typing import final

from millstream.env.disk import Disk, DiskFailed, File
from millstream.storage import checkpoint, epochs
from millstream.storage.segment import INDEX, TIME_INDEX, Segment


@final
class Closing:
    """A segment that was closed and what lies beside it: its indexes, and who wrote up to its end.

    Those files are there to save work, so a full disk may do without them. But
    a part of one would be taken for the whole: then it has to go. Not so the
    index of aborted transactions, which is there already, and only synced.
    """

    __slots__ = ("_aborted", "_beside", "_file", "_stale", "done", "segment")

    def __init__(self, segment: Segment) -> None:
        offsets, times = segment.index_bytes(closing=True)
        self.segment = segment
        self.done = False
        self._file = segment.file
        self._aborted = segment.written_aborted
        self._beside = [(segment.path(INDEX), offsets), (segment.path(TIME_INDEX), times)]
        self._stale: list[str] = []

    def write_also(self, path: str, data: bytes, stale: list[str]) -> None:
        """Let *data* lie at *path* too, and then nothing at the paths in *stale*."""
        self._beside.append((path, data))
        self._stale = stale

    def run(self, disk: Disk) -> None:
        if not self.done:
            if self._aborted is not None:
                self._aborted.sync()
            self._file.sync()
            self.write_beside(disk)
            for path in self._stale:
                disk.remove(path)
            self.done = True

    def write_beside(self, disk: Disk) -> None:
        for path, data in self._beside:
            _write_or_remove(disk, path, data)


class Sync:
    """All that was appended up to *end_offset*; `run` may be called in any thread, one at a time for a log.

    Of the newest segment alone, as nearly all are: all else is safe. `run` raises
    DiskFailed if the disk cannot be trusted any more.
    """

    __slots__ = ("_active", "end_offset", "generation")

    def __init__(self, end_offset: int, generation: int, active: File | None) -> None:
        self.end_offset = end_offset
        self.generation = generation
        self._active = active

    def run(self) -> None:
        if self._active is not None:
            self._active.sync()

    def was_run(self) -> None:
        """Native code has done it."""
        if self._active is not None:
            self._active.native_synced()

    def failed(self, error: OSError) -> OSError:
        """Native code met *error* when it did it: what `run` would have raised."""
        return error if self._active is None else self._active.native_sync_failed(error)


@final
class WideSync(Sync):
    """A sync of more than the newest segment: of what was closed, or made, or is told beside it."""

    __slots__ = (
        "_aborted",
        "_directories",
        "_disk",
        "_epochs",
        "_epochs_path",
        "_metadata",
        "closing",
        "epochs_saved",
        "names",
    )

    def __init__(
        self,
        end_offset: int,
        generation: int,
        active: File | None,
        *,
        disk: Disk,
        names: int,
        metadata: File | None,
        closing: list[Closing],
        aborted: File | None,
        directories: list[str],
        epochs: list[str] | None,
        epochs_path: str,
    ) -> None:
        super().__init__(end_offset, generation, active)
        self.names = names
        self.closing = closing
        self.epochs_saved: list[str] | None = None
        self._disk = disk
        self._metadata = metadata
        self._aborted = aborted
        self._directories = directories
        self._epochs = epochs
        self._epochs_path = epochs_path

    def run(self) -> None:
        if self._metadata is not None:
            self._metadata.sync()
            self._metadata.close()
        # In order: a segment must not be on the disk before the end of the one before it is.
        for closing in self.closing:
            closing.run(self._disk)
        if self._epochs is not None and _try_checkpoint(self._disk, self._epochs_path, self._epochs):
            self.epochs_saved = self._epochs
        if self._aborted is not None:
            self._aborted.sync()  # before the markers it tells of
        super().run()
        for directory in self._directories:
            self._disk.sync_dir(directory)


def epochs_path(directory: str) -> str:
    return f"{directory}/{epochs.FILE}"


def _write_or_remove(disk: Disk, path: str, data: bytes) -> None:
    try:
        file = checkpoint.write_loosely(disk, path, data)
    except DiskFailed:
        raise
    except OSError:
        return
    try:
        file.sync()
    finally:
        file.close()


def _try_checkpoint(disk: Disk, path: str, lines: list[str]) -> bool:
    try:
        checkpoint.write(disk, path, lines)
    except DiskFailed:
        raise
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(path + checkpoint.TEMPORARY)
        return False
    return True
