"""One partition's segments: append, read, roll, truncate.

Nothing is on the disk until the first append: a partition that was never
written to is a few hundred bytes of memory. From then on the directory holds

    partition.metadata             whose log this is
    00000000000000000000.log       batches, byte for byte as on the wire
    00000000000000000000.index     where in it offsets are    } of closed segments,
    00000000000000000000.timeindex where in it times are      } and after a clean stop
    00000000000000000000.txnindex  its aborted transactions, if it has any
    00000000000000001200.snapshot  who had written what at that offset
    leader-epoch-checkpoint        which leader wrote what, once there were two
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final
from uuid import UUID

from millstream.env.disk import Disk, File
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.records.control import Marker
from millstream.records.runs import Frames, Joiner, Limits, Place, Run, Sender
from millstream.storage import aborted, checkpoint, retention
from millstream.storage.appending import take_back, write, write_abort, write_run
from millstream.storage.careful import Careful
from millstream.storage.chain import Chain
from millstream.storage.cleaned import Cleaned
from millstream.storage.compaction import (
    KEYS_BUDGET_BYTES,
    Compaction,
    first_uncleanable,
    is_worthwhile,
)
from millstream.storage.config import LogConfig
from millstream.storage.cursor import Corrupt
from millstream.storage.epochs import Epochs
from millstream.storage.ground import FIRST_BYTES, Ground
from millstream.storage.headroom import Headroom
from millstream.storage.metadata import metadata_lines, metadata_path
from millstream.storage.producers import Producers
from millstream.storage.rolling import due_ms, has_room_for_run, is_due, must_roll
from millstream.storage.segment import INDEX, MAX_RELATIVE, TIME_INDEX, Segment, Slice
from millstream.storage.snapshots import snapshot_path
from millstream.storage.sync import Closing, Sync, WideSync, epochs_path
from millstream.storage.trash import Trash
from millstream.storage.txn_index import AbortedTransaction, BadTxnIndex
from millstream.storage.writers import Writers

__all__ = ["Log", "Slice", "Sync", "WideSync"]


class _Standing(NamedTuple):
    """A place that was given, and for how long it is right."""

    place: Place
    active: Segment
    config: LogConfig
    until_ms: int


@final
class Log:
    """One partition on this disk.

    The caller settles offsets and asks for syncs; this class keeps what it was
    given and says how much of it is safe. One writer, no threads but for the
    `run` of what `unsynced` returns.

    Once *offline* it refuses everything: its file does not hold what was once
    safe in it, and only an operator can say what to do. Nothing is cut or lost
    further meanwhile.
    """

    __slots__ = (
        "_chain",
        "_compaction",
        "_disk",
        "_epochs",
        "_generation",
        "_ground",
        "_headroom",
        "_metadata",
        "_names_synced",
        "_new_directory",
        "_opened_ms",
        "_standing",
        "_writers",
        "appended_bytes",
        "cleaned",
        "config",
        "end_offset",
        "failure",
        "held_bytes",
        "name",
        "partition",
        "start_offset",
        "synced_is_known",
        "synced_offset",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        disk: Disk,
        trash: Trash,
        topic: str,
        topic_id: UUID,
        partition: int,
        config: LogConfig,
        now_ms: int,
        *,
        segments: list[Segment] | None = None,
        start_offset: int = 0,
        snapshots: Sequence[int] = (),
        producers: Producers | None = None,
        none_open: bool = True,
        epochs: Epochs | None = None,
        cleaned: Cleaned | None = None,
    ) -> None:
        """A log of *segments*, all of them safe on the disk; none if it was never written to.

        *producers* may be left for the *snapshots* to tell when somebody asks;
        then *none_open* tells that none of them is in a transaction.
        """
        self.name = f"{topic}-{partition}"
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.config = config
        self.start_offset = start_offset
        self.end_offset = segments[-1].next_offset if segments else 0
        self.synced_offset = self.end_offset
        self.synced_is_known = True
        self.appended_bytes = 0
        self.cleaned = cleaned
        self.failure: str | None = None
        self.held_bytes = 0  # past retention, kept for somebody who has not read it
        self._disk = disk
        self._chain = Chain(disk, trash, self.name, segments or [])
        self._opened_ms = now_ms
        self._writers = Writers(disk, self.name, now_ms, snapshots, producers, none_open=none_open)
        self._epochs = epochs
        self._metadata: File | None = None
        self._new_directory = False
        self._compaction: Compaction | None = None
        self._names_synced = 0
        self._generation = 0
        self._standing: _Standing | None = None
        self._headroom: Headroom | None = None  # of the newest segment, once that was synced
        self._ground: Ground | None = None  # of the newest segment, once that has grown

    @property
    def offline(self) -> bool:
        return self.failure is not None

    @property
    def safe_offset(self) -> int:
        """Everything below counts: it is synced, or written where the topic leaves syncing to the system."""
        return self.end_offset if self.config.leaves_syncing_to_the_system else self.synced_offset

    @property
    def recovery_point(self) -> int | None:
        """From here on the log has to be looked through if we stop without a goodbye; None: nobody knows."""
        if not self.synced_is_known:
            return None
        unsaved = None if self._epochs is None else self._epochs.unsaved_from
        return self.synced_offset if unsaved is None else min(self.synced_offset, unsaved)

    @property
    def cleaned_offset(self) -> int:
        """Below this compaction has nothing left to do."""
        return 0 if self.cleaned is None else self.cleaned.offset

    @property
    def segments(self) -> Sequence[Segment]:
        return self._chain.segments

    @property
    def size_bytes(self) -> int:
        return self._chain.size_bytes

    @property
    def snapshots(self) -> tuple[int, ...]:
        """Offsets at which snapshots of the producers were written."""
        return self._writers.snapshots

    @property
    def has_producers(self) -> bool:
        """Whether any is remembered, in memory or in a snapshot."""
        return self._writers.has_any

    @property
    def producers(self) -> Producers:
        """Who wrote which sequence last."""
        known = self._writers.producers
        return self._load_producers() if known is None else known

    @property
    def first_open_offset(self) -> int | None:
        """Where the first of all open transactions begins; None if none is open."""
        known = self._writers.producers
        if known is not None:
            return known.first_open
        return None if self._writers.none_open else self._load_producers().first_open

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first of all transactions begins that are open, or whose marker is not committed yet.

        Never below the start of the log: what was deleted needs no decision.
        """
        if self._writers.are_settled:  # as most are
            return None
        first = self._writers.first_unstable(self.first_open_offset)
        return None if first is None else max(first, self.start_offset)

    @property
    def epochs(self) -> Epochs:
        """Where each leader's reign began."""
        if self._epochs is None:
            self._epochs = Epochs()
        return self._epochs

    # Writing

    def append(self, batch: Batch, now_ms: int) -> None:
        """Write *batch*, whose offsets come next, at the end.

        After an OSError nothing of it is there, and the next may be tried;
        after DiskFailed nothing may.
        """
        if self.failure is not None:
            raise self._refusal()
        assert batch.base_offset == self.end_offset, (batch.base_offset, self.end_offset)

        # Known from the first batch on, whoever wrote it: later only a walk over all of the log could tell.
        producers = self.producers
        ended = producers.ending(batch) if batch.producer_id >= 0 and batch.is_control else None
        segment = self._writable(batch, now_ms)
        try:
            if ended is not None and ended.marker is Marker.ABORT:
                self._mend_aborted(segment)
                self._chain.names += write_abort(segment, batch, AbortedTransaction(*ended[1:]))
            else:
                write(segment, batch)
        except Corrupt as corrupt:
            raise self.take_offline(corrupt) from corrupt
        if ended is not None:
            self._writers.ended(ended)
        if batch.leader_epoch > self.epochs.latest:
            self.epochs.assign(batch.leader_epoch, batch.base_offset)
        producers.apply(batch, now_ms)
        self.end_offset = segment.next_offset
        self.appended_bytes += batch.size

    def place(self, leader_epoch: int, now_ms: int, latest_ms: int) -> Place | None:
        """Where a run of batches may go now; None if what comes next needs more care than a run gets.

        It stays the same, and moves on with the runs that are appended there, until
        something else happens to the log.
        """
        standing = self._standing
        if standing is not None:
            place, active, config, until_ms = standing
            if (
                place.base_offset == self.end_offset
                and config is self.config
                and now_ms < until_ms
                and active is self._chain.segments[-1]
                and place.limits[0] == leader_epoch
                and self.failure is None
            ):
                place.now_ms = now_ms
                place.latest_ms = latest_ms
                return place
        return self._new_place(leader_epoch, now_ms, latest_ms)

    def _new_place(self, leader_epoch: int, now_ms: int, latest_ms: int) -> Place | None:
        self._standing = None
        if self.failure is not None or not self._chain.segments:
            return None
        _ = self.producers  # known from the first batch on, as in `append`
        active, config = self._chain.active, self.config
        active.prepare()
        if not active.size_bytes or not has_room_for_run(active, config) or is_due(active, config, now_ms):
            return None
        if leader_epoch > self.epochs.latest:
            return None  # its first batch is to be noted
        indexed_at, interval = active.indexed
        limits = Limits(
            leader_epoch,
            end_offset=active.base_offset + MAX_RELATIVE,
            end_position=config.segment_bytes,
            max_batch_bytes=min(config.max_message_bytes, config.segment_bytes),
            interval=interval,
        )
        place = Place(
            limits,
            base_offset=self.end_offset,
            position=active.size_bytes,
            indexed_at=indexed_at,
            newest_ms=active.newest[0],
            now_ms=now_ms,
            latest_ms=latest_ms,
        )
        self._standing = _Standing(place, active, config, due_ms(active, config))
        return place

    def append_run(self, joiner: Joiner, frames: Frames, place: Place, sender: Sender) -> Run | None:
        """Write what *joiner* finds in *frames* at *place*, which this log has just given; None if nothing.

        Its batches are of no transaction. If the *sender* counts, it is as the producers tell of it now.
        Errors are as those of `append`.
        """
        standing = self._standing
        assert standing is not None
        assert standing[0] is place
        assert place.base_offset == self.end_offset, (place.base_offset, self.end_offset)

        active = standing[1]
        try:
            run = write_run(active, joiner, frames, self.partition, self.start_offset, place, sender)
        except Corrupt as corrupt:
            raise self.take_offline(corrupt) from corrupt
        if run is not None:
            self._moved_on(standing, run)
        return run

    def note_run(self, run: Run) -> None:
        """*run* was written by somebody who was lent the place that this log gave, and nothing else since."""
        standing = self._standing
        assert standing is not None
        assert run.base_offset == self.end_offset, (run.base_offset, self.end_offset)

        standing.active.append_run(run)
        self._moved_on(standing, run)

    def take_back(self, error: OSError) -> None:
        """Who was lent the place met *error* when writing, perhaps half way: make that not have been.

        After DiskFailed nothing may follow.
        """
        active = self._chain.active
        take_back(active, error, active.file)

    def _moved_on(self, standing: _Standing, run: Run) -> None:
        """*run* is in the newest segment: all that comes is behind it."""
        place, active = standing.place, standing.active
        if run.lasts:
            self.producers.note_run(run, place.now_ms)
        self.end_offset = place.base_offset = run.end_offset
        self.appended_bytes += run.size
        place.position = active.size_bytes
        place.newest_ms = run.newest[0]
        if run.notes:
            place.indexed_at = active.indexed[0]
            if not has_room_for_run(active, self.config):
                self._standing = standing._replace(until_ms=0)  # given to nobody any more

    @property
    def syncs_data_alone(self) -> bool:
        """Whether a sync is of the newest segment's batches and of nothing besides."""
        chain = self._chain
        return not (
            chain.names != self._names_synced
            or self.epochs.unsaved_from is not None
            or chain.closing
            or chain.active.written_aborted
            or self._metadata
            or self._new_directory
        )

    def unsynced(self, *, all: bool = False) -> Sync | None:
        """What must be synced for more to be safe; None if nothing must.

        Where a topic leaves syncing to the system, only closed segments are
        synced, unless *all* is asked for.
        """
        chain = self._chain
        if self.failure is not None or not chain.segments:
            return None
        active = chain.segments[-1]
        lazy = self.config.leaves_syncing_to_the_system and not all
        end_offset = active.base_offset if lazy else self.end_offset
        # A segment may be there and have nothing in it: the next life will take its name for safe.
        renamed = chain.names != self._names_synced
        if end_offset <= self.synced_offset and not chain.closing and not (all and renamed):
            return None
        active.bookmark()  # consumers will ask for everything up to here
        file = None if lazy else active.file
        aborted = None if lazy else active.written_aborted
        unsaved = self.epochs.unsaved_from is not None
        if not (renamed or unsaved or chain.closing or aborted or self._metadata or self._new_directory):
            return Sync(end_offset, self._generation, file)
        directories = [self.name] if renamed else []
        if self._new_directory:
            directories.append("")
        return WideSync(
            end_offset,
            self._generation,
            file,
            disk=self._disk,
            names=chain.names,
            metadata=self._metadata,
            closing=list(chain.closing or ()),
            aborted=aborted,
            directories=directories,
            epochs=self.epochs.lines() if unsaved else None,
            epochs_path=epochs_path(self.name),
        )

    def synced(self, sync: Sync) -> None:
        """*sync* has run: what it covered is safe, unless the log was cut meanwhile."""
        if sync.generation != self._generation:
            return
        self.synced_offset = max(self.synced_offset, sync.end_offset)
        if not isinstance(sync, WideSync):
            return
        self._names_synced = max(self._names_synced, sync.names)
        self._chain.settle()
        if sync.epochs_saved is not None and sync.epochs_saved == self.epochs.lines():
            self.epochs.saved()
        self._metadata = None
        self._new_directory = False
        self._chain.drop_below(self.start_offset, self.config.file_delete_delay_ms)

    def lay_headroom(self, may_take: Callable[[int], bool], times: int = 1) -> bool:
        """After a sync, or so many *times*: see that the next is quick, if the disk *may_take* that.

        Whether there is headroom now, of which `tick_room` is to be told the time.
        """
        if self.failure is not None or not self._chain.segments:
            return False
        active = self._chain.active
        if self._headroom is None or self._headroom.file is not active.file:
            self._headroom = Headroom(active.file, active.size_bytes)
        else:
            self._headroom.synced(active.size_bytes, self.config.segment_bytes, may_take, times=times)
        return self._headroom.is_laid

    @property
    def needs_ground(self) -> bool:
        """Whether the newest segment has outgrown what was laid for it: see `lay_ground`."""
        due_bytes = FIRST_BYTES if self._ground is None else self._ground.due_bytes
        return self._chain.segments[-1].size_bytes > due_bytes

    def lay_ground(self, may_take: Callable[[int], bool]) -> bool:
        """See that the next appends are quick, if the disk *may_take* that.

        Whether there is ground now, of which `tick_room` is to be told the time.
        """
        if self.failure is not None:
            return False
        active = self._chain.active
        if self._ground is None:
            self._ground = Ground(active.file)
        return self._ground.lay(active.size_bytes, self.config.segment_bytes, may_take)

    def tick_room(self) -> bool:
        """Once a second or so: give back headroom and ground that nobody uses; whether there still is any."""
        if self.failure is not None:
            return False
        has_ground = self._ground is not None and self._ground.tick(self._chain.active.size_bytes)
        if self._headroom is None:
            return has_ground
        self._headroom.tick()
        return has_ground or self._headroom.is_laid

    def settle(self, high_watermark: int) -> None:
        """All below *high_watermark* is committed: so are the ends of transactions there."""
        self._writers.settle(high_watermark)

    def roll_if_due(self, now_ms: int) -> bool:
        """Start a new segment if this one has reached its age; whether it had."""
        if self.failure is not None or not self._chain.segments:
            return False
        if not is_due(self._chain.active, self.config, now_ms):
            return False
        self._roll(now_ms)
        return True

    # Reading

    def read(self, offset: int, max_bytes: int, end_offset: int) -> Slice | None:
        """Whole batches of one segment, beginning with the one that holds *offset*.

        At least one, even if larger than *max_bytes*; none that reaches
        *end_offset*; None if there is none. Where compaction has left a gap,
        the next batch is what is read.
        """
        if self.failure is not None:
            raise self._refusal()
        end_offset = min(end_offset, self.end_offset)
        if offset < self.start_offset or offset > self.end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.name} is not within {self.start_offset} to {self.end_offset}",
            )
        if end_offset == self.end_offset and self._chain.segments:  # as for who was waiting there
            tail = self._chain.segments[-1].read_tail(offset, max_bytes)
            if tail is not None:
                return tail
        try:
            return self._chain.read(offset, max_bytes, end_offset)
        except Corrupt as corrupt:
            raise self.take_offline(corrupt) from corrupt

    def batch_start(self, offset: int) -> int:
        """Where the batch that holds *offset*, or follows it, begins; the end of the log if there is none."""
        with Careful(self):
            return self._chain.batch_start(offset)

    def find_time(self, timestamp_ms: int, end_offset: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record before *end_offset* that is not older; None if all are."""
        with Careful(self):
            found = self._chain.find_time(timestamp_ms, self.start_offset, end_offset)
            return None if found is None else (found.offset, found.timestamp_ms)

    def find_max_time(self, end_offset: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record before *end_offset* with the highest timestamp."""
        with Careful(self):
            found = self._chain.find_max_time(self.start_offset, end_offset)
            return None if found is None else (found.offset, found.timestamp_ms)

    def aborted(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with anything from *start_offset* to before *end_offset*."""
        segments = self._chain.since(start_offset)
        with Careful(self):
            try:
                return aborted.find(segments, start_offset, end_offset)
            except BadTxnIndex:
                for segment in segments:
                    self._mend_aborted(segment)
                return aborted.find(segments, start_offset, end_offset)

    # Shrinking

    def delete_before(self, offset: int) -> None:
        """Give up every record below *offset*; synced segments that hold no other go."""
        if self.failure is not None:
            raise self._refusal()
        assert offset <= self.end_offset, (offset, self.end_offset)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_start(offset)
            self._chain.drop_below(offset, self.config.file_delete_delay_ms)

    def expire(self, now_ms: int, limit: int, *, by_time: bool = True, held_from: int | None = None) -> int:
        """Delete segments that retention has no room or time for, below *limit*; return how many.

        What somebody has not read yet, *held_from* on, stays as long as the config lets it be held.
        """
        segments = self._chain.segments
        if self.failure is not None or not segments:
            return 0
        with Careful(self):
            due = count = retention.expired(segments, self.config, now_ms, by_time=by_time)
            if due and held_from is not None:
                count = retention.held(segments, self.config, now_ms, due, held_from, by_time=by_time)
        self.held_bytes = sum(segment.size_bytes for segment in segments[count:due])
        while count and segments[count - 1].next_offset > limit:
            count -= 1
        if count == len(segments):
            self._roll(now_ms)  # an empty log must still know where it ends
        if count:
            self.delete_before(max(self.start_offset, segments[count].base_offset))
        return count

    def truncate(self, offset: int) -> None:
        """Give up the batch that holds *offset* and all after it; durable when this returns.

        `Store.truncate` is how to call this: no recovery point may lie beyond.
        """
        if offset >= self.end_offset:
            return
        self._generation += 1
        self._standing = self._headroom = self._ground = None
        with Careful(self):
            self._mend_aborted(self._chain.since(offset)[0])
            self._chain.cut(offset, self.config.file_delete_delay_ms)
        self.end_offset = self._chain.active.next_offset
        self.start_offset = min(self.start_offset, self.end_offset)
        self.synced_offset = min(self.synced_offset, self.end_offset)
        self.epochs.truncate_end(self.end_offset)
        self._writers.cut(self.end_offset)
        self._disk.sync_dir(self.name)
        self._load_producers()

    def compaction(
        self, now_ms: int, limit: int, keys_budget_bytes: int = KEYS_BUDGET_BYTES, *, by_time: bool = True
    ) -> Compaction | None:
        """A pass of compaction over all below *limit*, if it is time for one and none is under way.

        Unless *by_time*, it takes out only what others have replaced: the clock is not to be relied on.
        When its `run` has ended, well or not, or is no longer waited for, it is handed to `compacted`.
        """
        if self.failure is not None or not self.config.compacts or self._compaction is not None:
            return None
        closed = self._chain.settled
        limit = min(limit, self.synced_offset)
        with Careful(self):
            count = first_uncleanable(closed, self.config, limit, now_ms)
            cleaned = self.cleaned or Cleaned()
            if not is_worthwhile(closed[:count], cleaned, self.config, now_ms, by_time=by_time):
                return None
            for segment in closed[:count]:
                self._mend_aborted(segment)
            end_offset = closed[count - 1].next_offset
        self._compaction = Compaction(
            self._disk,
            self.name,
            closed[:count],
            cleaned,
            [each for each in self.snapshots if each <= limit],
            self.aborted(end_offset, end_offset),
            self.config,
            now_ms if by_time else None,
            keys_budget_bytes,
        )
        return self._compaction

    def compacted(self, compaction: Compaction) -> None:
        """Let the new segments of *compaction* take the place of the old ones."""
        self._compaction = None
        if compaction.corrupt is not None:
            self.take_offline(compaction.corrupt)
        if self.failure is not None or not compaction.done:
            compaction.abandon()
            return
        self._chain.swap_all(compaction, self.config)
        self.cleaned = compaction.cleaned

    def take_offline(self, why: Exception | str) -> Refused:
        """Refuse everything from now on; the refusal for whoever asked first."""
        if self.failure is None:
            self.failure = str(why)
        return self._refusal()

    # Stopping

    def expire_producers(self, now_ms: int, idle_ms: int) -> int:
        """Forget producers that were idle so long; those not even loaded yet can wait."""
        known = self._writers.producers
        return 0 if known is None else known.expire(now_ms, idle_ms)

    def save_for_quick_start(self) -> None:
        """Write what a next life would else have to work out. All of it can be lost without harm."""
        if self._compaction is not None:
            self._compaction.abandon()
            self._compaction.discard()
            self._compaction = None
        # One that is there already was synced, and what is written here is not: it must stay.
        known = self._writers.producers
        if self.has_producers and known is not None and self.end_offset not in self.snapshots:
            path = snapshot_path(self.name, self.end_offset)
            checkpoint.write_loosely(self._disk, path, known.to_bytes()).close()
            for stale in self._writers.count_snapshot(self.end_offset):
                self._disk.remove(stale)
        if self._chain.segments and self._chain.active.index_changed:
            active = self._chain.active
            offsets, times = active.index_bytes(closing=False)
            checkpoint.write_loosely(self._disk, active.path(INDEX), offsets).close()
            checkpoint.write_loosely(self._disk, active.path(TIME_INDEX), times).close()

    def trim(self) -> None:
        """Leave nothing behind the end of the newest segment; no zeros come back after this returns."""
        if self.failure is None and self._headroom is not None and self._headroom.was_laid:
            self._headroom.give_back()
            self._headroom.file.sync()
        if self.failure is None and self._ground is not None:
            self._ground.file.give_back_blocks()
        self._headroom = self._ground = None

    # Helpers

    def _writable(self, batch: Batch, now_ms: int) -> Segment:
        """The segment *batch* goes to."""
        if not self._chain.segments:
            self._create(now_ms)
        active = self._chain.active
        if active.size_bytes == 0:
            active.created_ms = now_ms
        return self._roll(now_ms) if must_roll(active, batch, self.config, now_ms) else active

    def _create(self, now_ms: int) -> None:
        """Make the directory and the first segment."""
        self._disk.make_dir(self.name)
        path, lines = metadata_path(self.name), metadata_lines(self.topic_id)
        metadata = checkpoint.write_loosely(self._disk, path, checkpoint.encode(lines))
        metadata.close()  # many logs may be made at once, before any is synced
        self._chain.begin(self.end_offset, self.config.index_interval_bytes, now_ms)
        self._metadata = metadata
        self._new_directory = True

    def _roll(self, now_ms: int) -> Segment:
        """Close the newest segment and begin another; nothing changes if there is no room for one."""
        with Careful(self):
            # At once: a life that ends before the next sync must find it whole, whatever comes behind it.
            self._chain.active.file.trim()
            self._chain.active.file.give_back_blocks()
            self._ground = None
            closing = Closing(self._chain.active)
        snapshot = self.producers.to_bytes()
        segment = self._chain.begin(self.end_offset, self.config.index_interval_bytes, now_ms)
        stale = self._writers.count_snapshot(self.end_offset)
        closing.write_also(snapshot_path(self.name, self.end_offset), snapshot, stale)
        self._chain.close(closing)
        return segment

    def _load_producers(self) -> Producers:
        """The producers as the snapshots and the batches tell of them."""
        with Careful(self):
            return self._writers.load(self.segments, self.end_offset)

    def _mend_aborted(self, segment: Segment) -> None:
        """See that the index of aborted transactions is right, by the batches if need be."""
        try:
            _ = segment.aborted
        except BadTxnIndex:
            before = self.segments[: self.segments.index(segment)]
            segment.set_aborted(aborted.walk(segment, self._writers.at_start(segment, before)))
            self._disk.sync_dir(self.name)

    def _refusal(self) -> Refused:
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name} is offline: {self.failure}")
