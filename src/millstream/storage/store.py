"""All logs in one data directory.

.lock                   held while a process uses the directory
life                    how often it was opened
clean-shutdown          what the last life left, if it had the time
*-checkpoint            see `known`
orders-0/ orders-1/     a log each, see `log`
<id>.0-delete/          a log of a deleted topic, to be removed
<id>.0-stray/           a log that belongs to no topic we know: kept, for an operator to decide
"""

import re
from collections.abc import Mapping
from typing import Final, final
from uuid import UUID

from millstream.env.disk import Disk, Lock
from millstream.records.crc import crc32c
from millstream.storage import checkpoint, known, manifest
from millstream.storage.config import LogConfig
from millstream.storage.known import Checkpoints
from millstream.storage.log import Log
from millstream.storage.metadata import metadata_lines, metadata_path
from millstream.storage.recovery import ANY_EPOCH, Recovery
from millstream.storage.space import Space, is_want_of_space
from millstream.storage.trash import Sweep, Trash

LOCK: Final = ".lock"
LIFE: Final = "life"
CLEAN: Final = "clean-shutdown"
DELETE: Final = "-delete"
STRAY: Final = "-stray"
_LOG_NAME: Final = re.compile(r"(.+)-(\d+)\Z")


@final
class Checkpointing:
    """Notes how far each log is synced and where it begins.

    `run` may be called in any thread, one at a time.
    """

    __slots__ = ("_disk", "_files", "_space", "_written")

    def __init__(
        self, disk: Disk, space: Space, files: dict[str, list[str]], written: dict[str, list[str]]
    ) -> None:
        self._disk = disk
        self._space = space
        self._files = files
        self._written = written

    def run(self) -> None:
        # A full disk must still learn what was deleted from it.
        self._space.with_reserve(self._write)

    def _write(self) -> None:
        for file, lines in self._files.items():
            checkpoint.write(self._disk, file, lines)
            self._written[file] = lines


@final
class Store:
    """The logs of one node."""

    def __init__(self, disk: Disk, *, ballast_bytes: int = 64 << 20, min_free_percent: float = 5.0) -> None:
        self.space = Space(disk, ballast_bytes=ballast_bytes, min_free_percent=min_free_percent)
        self.logs: dict[str, Log] = {}
        self.recoveries: dict[str, Recovery] = {}  # by log, where something was wrong
        self.strays: list[str] = []
        self.was_clean = False
        self._disk = disk
        self._trash = Trash(disk)
        self._lock: Lock | None = None
        self._life = 0
        self._directories: set[str] = set()  # of logs that were found and not opened yet
        self._clean: dict[str, str] = {}
        self._found = Checkpoints({}, {})
        self._written: dict[str, list[str]] = {}

    @property
    def size_bytes(self) -> int:
        return sum([log.size_bytes for log in self.logs.values()])

    def open(self) -> None:
        """Take the directory and see what the last life left; DirectoryInUse if another process has it."""
        self._lock = self._disk.lock(LOCK)
        names = self._disk.list("")
        self._directories = {name for name in names if _LOG_NAME.match(name)}
        self.strays = [name for name in names if name.endswith(STRAY)]
        for name in names:
            if name.endswith(DELETE):
                self._trash.add(name, 0, is_dir=True)
            elif name.endswith(checkpoint.TEMPORARY):
                self._trash.add(name, 0, is_dir=False)
        self._begin_life(is_first=LIFE not in names and not self._directories)

    def open_log(
        self,
        topic: str,
        topic_id: UUID,
        partition: int,
        config: LogConfig,
        now_ms: int,
        *,
        latest_epoch: int = ANY_EPOCH,
    ) -> Log:
        """The log of a partition, as it was left or mended; an empty one if there was none.

        No leader of a later epoch than *latest_epoch* can have written to it.
        """
        name = f"{topic}-{partition}"
        assert name not in self.logs, name
        clean = self._clean.pop(name, None)
        if name not in self._directories:
            log = Log(self._disk, self._trash, topic, topic_id, partition, config, now_ms)
            point = self._found.of(name, topic_id).recovery_point
            if point != 0 and self._found.names(name, topic_id):
                log.take_offline(f"no directory, though offsets up to {point} were synced")
                log.synced_offset = log.end_offset = point or 0
        elif clean is not None and manifest.is_of(clean, topic_id):
            log = manifest.open_log(
                clean, self._disk, self._trash, topic, topic_id, partition, config, now_ms
            )
        elif self._is_ours(name, topic_id):
            log = self._recover(topic, topic_id, partition, config, now_ms, latest_epoch)
        else:
            self._set_aside(name)
            log = Log(self._disk, self._trash, topic, topic_id, partition, config, now_ms)
        self._directories.discard(name)
        self.logs[name] = log
        return log

    def delete_log(self, log: Log) -> None:
        """Give up *log* and its files; they are removed by `sweep`."""
        del self.logs[log.name]
        log.take_offline("deleted")
        if self._disk.exists(log.name):
            gone = self._rename(log.name, f"{log.topic_id.hex}.{log.partition}", DELETE)
            opened = [file for segment in log.segments for file in segment.opened_files]
            self._trash.add(gone, 0, is_dir=True, files=opened)

    def discard_strangers(self, topics: Mapping[str, UUID]) -> list[str]:
        """Set aside logs that nobody has opened and that belong to none of *topics*; return their names.

        They are not deleted: that a topic is unknown may be the fault of whoever knows the topics.
        """
        ids = set(topics.values())
        strangers = [name for name in sorted(self._directories) if self._topic_id(name) not in ids]
        for name in strangers:
            self._set_aside(name)
        self._directories.difference_update(strangers)
        self._clean = {}
        self._found = Checkpoints({}, {})  # logs opened from now on are new
        return strangers

    def truncate(self, log: Log, offset: int) -> None:
        """Cut *log* at *offset*. First of all, no recovery point may claim more."""
        start_offset = log.batch_start(offset)
        synced_offset = min(log.synced_offset, start_offset)
        if start_offset <= log.synced_offset:
            # Even less: if we are killed on the way, the next life has to see that the cut is safe.
            log.synced_offset = max(start_offset - 1, 0)
            self.checkpoint()
        log.truncate(start_offset)
        log.synced_offset = synced_offset

    def checkpointing(self) -> Checkpointing | None:
        """What there is to note of all logs; None if nothing has changed."""
        logs = [log for log in self.logs.values() if log.segments or log.offline]
        files = {
            known.RECOVERY_POINTS: known.lines((log.name, log.topic_id, log.recovery_point) for log in logs),
            known.LOG_STARTS: known.lines((log.name, log.topic_id, log.start_offset) for log in logs),
        }
        changed = {file: lines for file, lines in files.items() if lines != self._written.get(file)}
        if not changed:
            return None
        return Checkpointing(self._disk, self.space, changed, self._written)

    def checkpoint(self) -> None:
        """Note it here and now."""
        noting = self.checkpointing()
        if noting is not None:
            noting.run()

    def sweep(self, now_ms: int) -> Sweep | None:
        """What is to be removed from the disk by now; its `run` may be called in any thread."""
        return self._trash.sweep(now_ms)

    def close(self) -> None:
        """Stop, leaving everything safe and ready for a quick start. Takes its time: not for the loop."""
        try:
            for log in self.logs.values():
                sync = log.unsynced(all=True)
                if sync is not None:
                    sync.run()
                    log.synced(sync)
                log.trim()
            self._goodbye()
        finally:
            self.release()

    def release(self) -> None:
        """Let go of the directory without a goodbye, as a crash would."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # Helpers

    def _begin_life(self, *, is_first: bool) -> None:
        """Believe the last life's goodbye if it is the last life's, and see that no later one does."""
        if is_first:
            for file in known.FILES:
                checkpoint.write(self._disk, file, [])
        self._found = Checkpoints.read(self._disk)
        life = _life_in(checkpoint.read(self._disk, LIFE))
        clean = checkpoint.read(self._disk, CLEAN)
        self.was_clean = is_first or (life is not None and life == _life_in(clean))
        if clean is not None and self.was_clean:
            self._clean = {line.split(" ", 1)[0]: line for line in clean[1:]}
        self._life = max(life or 0, _life_in(clean) or 0) + 1
        try:
            self.space.with_reserve(lambda: checkpoint.write(self._disk, LIFE, [str(self._life)]))
        except OSError as error:
            # Without a number this life's goodbye will not be believed. But somebody must free the disk.
            if is_first or not is_want_of_space(error):
                raise
        self._disk.remove(CLEAN)
        self._disk.sync_dir("")

    def _recover(
        self, topic: str, topic_id: UUID, partition: int, config: LogConfig, now_ms: int, latest_epoch: int
    ) -> Log:
        name = f"{topic}-{partition}"
        found = self._found.of(name, topic_id)
        if self._topic_id(name) is None:
            checkpoint.write(self._disk, metadata_path(name), metadata_lines(topic_id))
        recovery = Recovery(self._disk, self._trash, name, config, now_ms, found, latest_epoch)
        recovery.run()
        if recovery.failure is not None or recovery.truncated_bytes or recovery.set_aside:
            self.recoveries[name] = recovery
        log = Log(
            self._disk,
            self._trash,
            topic,
            topic_id,
            partition,
            config,
            now_ms,
            segments=recovery.segments,
            start_offset=recovery.start_offset,
            snapshots=recovery.snapshots,
            producers=recovery.producers,
            epochs=recovery.epochs,
            cleaned=recovery.cleaned,
        )
        if recovery.failure is not None:
            log.take_offline(recovery.failure)
            log.synced_offset = log.end_offset = max(found.recovery_point or 0, recovery.start_offset)
            log.synced_is_known = found.recovery_point is not None
        return log

    def _goodbye(self) -> None:
        logs = [log for log in self.logs.values() if log.segments and not log.offline]
        self.space.with_reserve(lambda: self._leave_all(logs))

    def _leave_all(self, logs: list[Log]) -> None:
        for log in logs:
            log.save_for_quick_start()
        sweep = self._trash.sweep(0, all=True)
        if sweep is not None:
            sweep.run()
        self.checkpoint()
        checkpoint.write(self._disk, CLEAN, [str(self._life), *[manifest.line(log) for log in logs]])

    def _is_ours(self, name: str, topic_id: UUID) -> bool:
        """Whether the directory is of this topic, and not of an older one of the same name."""
        found = self._topic_id(name)
        if found is None:
            return self._found.names(name, topic_id) or not self._has_data(name)
        return found == topic_id

    def _topic_id(self, name: str) -> UUID | None:
        lines = checkpoint.read(self._disk, metadata_path(name), doubt_cache=not self.was_clean)
        if not lines:
            return None
        return UUID(hex=lines[0].split()[1])

    def _has_data(self, name: str) -> bool:
        return any(self._disk.open(f"{name}/{each}").size() for each in self._disk.list(name))

    def _set_aside(self, name: str) -> None:
        id = self._topic_id(name)
        short = f"{crc32c(name.encode()):08x}" if id is None else id.hex
        self.strays.append(self._rename(name, f"{short}.{name.rpartition('-')[2]}", STRAY))

    def _rename(self, name: str, short: str, suffix: str) -> str:
        """Rename a log's directory to something short: with a suffix its own name might be too long."""
        new, tries = short + suffix, 1
        while self._disk.exists(new):
            new, tries = f"{short}.{tries}{suffix}", tries + 1
        self._disk.rename(name, new)
        return new


def _life_in(lines: list[str] | None) -> int | None:
    return int(lines[0]) if lines else None
