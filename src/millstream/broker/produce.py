"""Produce: one batch into one partition."""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from millstream.broker.commit import Commit
from millstream.broker.disk_errors import Failed, refusal_of
from millstream.broker.traffic import Traffic
from millstream.broker.waiting import Hosted
from millstream.env.clock import Clock
from millstream.env.disk import DiskFailed, File
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Appended
from millstream.records.control import Marker
from millstream.records.runs import Frames, Joiner, Place, Run
from millstream.storage.space import Space

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1
_LEGAL_ACKS: Final = frozenset({ACKS_NONE, ACKS_LEADER, ACKS_ALL})


class Lent(NamedTuple):
    """Where somebody else may write for a moment."""

    file: File
    place: Place
    log_start_offset: int
    syncs: bool  # before anybody may be told


class Synced(NamedTuple):
    """What somebody else has synced to its end, so many *times* in all; or could not, after an *error*."""

    hosted: Hosted
    times: int
    took_us: int
    error: OSError | None


@final
class Produce:
    """Appends batches, refuses them on a full disk, and hands them to the group commit."""

    def __init__(self, clock: Clock, commit: Commit, space: Space, failed: Failed) -> None:
        self.batches = 0
        self.traffic = Traffic()
        self._clock = clock
        self._commit = commit
        self._space = space
        self._failed = failed

    def append(self, hosted: Hosted, records: memoryview) -> Appended:
        """Append the client's batch; it is committed some time after the call."""
        now_ms = self._clock.now_ms()
        if not self._space.has_room(len(records)):
            hosted.partition.turned_away(records, now_ms)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is almost full: writes are refused")
        try:
            appended = hosted.partition.append(records, now_ms)
        except OSError as error:
            hosted.partition.turned_away(records, now_ms)
            raise refusal_of(error, self._failed) from error
        self.batches += 1
        count = appended.end_offset - appended.base_offset
        if hosted.traffic is None:
            hosted.traffic = Traffic()
        hosted.traffic.add(count, len(records), now_ms)
        self.traffic.add(count, len(records), now_ms)
        self._commit.appended(hosted)
        return appended

    def append_run(
        self, hosted: Hosted, joiner: Joiner, frames: Frames, producer: tuple[int, int] | None
    ) -> Run | None:
        """Append all that *frames* begin with and that may be appended as one; see `Partition.append_run`.

        If it is nothing, nothing has changed, and each batch is to be tried by itself.
        """
        if not self._space.has_room():
            return None
        now_ms = self._clock.now_ms()
        try:
            run = hosted.partition.append_run(joiner, frames, producer, now_ms)
        except (OSError, Refused):
            return None
        if run is None:
            return None
        self._count(hosted, run, now_ms)
        self._commit.appended(hosted)
        return run

    def lend(self, hosted: Hosted) -> Lent | None:
        """Where ordinary batches may be written to *hosted* by somebody else, for a moment; None if nowhere.

        Who has it tells by `note_runs` what came of it, before anybody else touches the log.
        """
        partition = hosted.partition
        place = partition.place(self._clock.now_ms()) if self._space.has_room() else None
        if place is None or not self._commit.is_at_once(hosted):
            return None
        log = partition.log
        file = log.segments[-1].file.native
        if file is None:
            return None
        return Lent(file, place, log.start_offset, syncs=self._commit.syncs_first(hosted))

    def note_runs(
        self,
        runs: Sequence[tuple[Hosted, Run]],
        failed: tuple[Hosted, OSError] | None = None,
        synced: Synced | None = None,
    ) -> None:
        """*runs* were written at the places that were lent; they are committed now, unless the disk fails.

        Of a write that *failed* behind them a part may be there: make that nothing. One log may be *synced*.
        """
        now_ms = self._clock.now_ms()
        for hosted, run in runs:
            hosted.partition.log.note_run(run)
            self._count(hosted, run, now_ms)
        if synced is not None and synced.error is not None:
            self._commit.synced(*synced)  # and nothing is done to that disk any more
            return
        if failed is not None:  # before anybody is told of anything, and may append more
            self._take_back(*failed)
        for hosted in dict.fromkeys(hosted for hosted, _ in runs):
            if synced is not None and hosted is synced.hosted:
                self._commit.synced(*synced)
            else:
                self._commit.at_once(hosted)

    def _take_back(self, hosted: Hosted, error: OSError) -> None:
        try:
            hosted.partition.log.take_back(error)
        except DiskFailed as failure:
            self._failed(failure)

    def _count(self, hosted: Hosted, run: Run, now_ms: int) -> None:
        size = run.size
        self._space.take(size)
        self.batches += run.batches
        count = run.end_offset - run.base_offset
        traffic = hosted.traffic
        if traffic is None:
            traffic = hosted.traffic = Traffic()
        traffic.add(count, size, now_ms)
        self.traffic.add(count, size, now_ms)

    def append_own(self, hosted: Hosted, records: bytearray) -> Appended:
        """Append a batch of our own making, on a full disk too: what it says frees space, or is small."""
        try:
            appended = hosted.partition.append_own(records, self._clock.now_ms())
        except OSError as error:
            raise refusal_of(error, self._failed) from error
        self._commit.appended(hosted)
        return appended

    def append_marker(
        self,
        hosted: Hosted,
        marker: Marker,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
    ) -> Appended:
        """End a producer's transaction in *hosted*, on a full disk too: readers wait for it."""
        try:
            appended = hosted.partition.append_marker(
                marker, producer_id, producer_epoch, coordinator_epoch, self._clock.now_ms()
            )
        except OSError as error:
            raise refusal_of(error, self._failed) from error
        self._commit.appended(hosted)
        return appended


def check_acks(acks: int) -> None:
    if acks not in _LEGAL_ACKS:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks must be 0, 1 or -1 (all), not {acks}")
