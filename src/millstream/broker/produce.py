"""Produce: one batch into one partition."""

from typing import Final, final

from millstream.broker.commit import Commit
from millstream.broker.disk_errors import Failed, refusal_of
from millstream.broker.traffic import Traffic
from millstream.broker.waiting import Hosted
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Appended
from millstream.records.control import Marker
from millstream.records.runs import Frames, Joiner, Run
from millstream.storage.space import Space

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1
_LEGAL_ACKS: Final = frozenset({ACKS_NONE, ACKS_LEADER, ACKS_ALL})


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
        size = run.size
        self._space.take(size)
        self.batches += run.batches
        count = run.end_offset - run.base_offset
        traffic = hosted.traffic
        if traffic is None:
            traffic = hosted.traffic = Traffic()
        traffic.add(count, size, now_ms)
        self.traffic.add(count, size, now_ms)
        self._commit.appended(hosted)
        return run

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
