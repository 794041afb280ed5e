"""One file of batches, and how to find something in it.

The file is what producers sent and consumers get, batch after batch, byte for
byte. Beside it lie two small indexes, which are kept in memory once needed,
written when the segment is closed, and made again whenever they are missing or
turn out to be wrong.
"""

from collections.abc import Sequence
from typing import Final, final

from millstream.env.disk import Disk, File
from millstream.errors import Refused
from millstream.records.batch import CONTROL, Batch
from millstream.records.read import Record, read
from millstream.records.runs import Run
from millstream.storage.cursor import FAR_AHEAD, Corrupt, Cursor
from millstream.storage.indexes import Indexes
from millstream.storage.offset_index import ENTRY_SIZE, OffsetIndex
from millstream.storage.spans import Spans
from millstream.storage.time_index import TimeIndex
from millstream.storage.txn_index import TXN_INDEX, AbortedTransaction, BadTxnIndex, TxnIndex

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
BESIDE: Final = (INDEX, TIME_INDEX, TXN_INDEX)
FILES: Final = (INDEX, TIME_INDEX, LOG, TXN_INDEX)  # as they go: a log must not lose its aborted
MAX_RELATIVE: Final = (1 << 31) - 1  # an index entry has 31 bits for an offset or a position

_BOOKMARKS: Final = 16
_NONE: Final = (-1, -1)
_EMPTY: Final = (0, 0)
_DECOMPRESSED_MAX: Final = 256 << 20  # what was taken must be readable, whatever the limits are by now


def file_name(base_offset: int, suffix: str) -> str:
    """Kafka's name for a file of the segment that begins at *base_offset*."""
    return f"{base_offset:020d}{suffix}"


@final
class Slice:
    """A range of a file: whole batches, all below *end_offset*, to be sent as they are."""

    __slots__ = ("end_offset", "file", "position", "size")

    def __init__(self, file: File, position: int, size: int, end_offset: int) -> None:
        self.file = file
        self.position = position
        self.size = size
        self.end_offset = end_offset

    def read(self) -> bytes:
        return self.file.read(self.position, self.size)


@final
class Segment:
    """The batches from *base_offset* up to *next_offset*.

    One writer at a time. Offsets are settled before a batch comes here; this
    class only puts it where it can be found again. Corrupt is raised wherever
    the file turns out not to hold what it should.
    """

    __slots__ = (
        "_aborted",
        "_aborted_unseen",
        "_bookmarks",
        "_checked",
        "_directory",
        "_disk",
        "_entries",
        "_file",
        "_indexed_at",
        "_indexes",
        "_interval",
        "_newest",
        "_unchecked",
        "base_offset",
        "created_ms",
        "expires_ms",
        "next_offset",
        "size_bytes",
    )

    def __init__(self, disk: Disk, directory: str, base_offset: int, interval: int, created_ms: int) -> None:
        """An empty segment; its file is made by `create`, or is there already."""
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size_bytes = 0
        self.created_ms = created_ms
        self.expires_ms: int | None = None  # when the last record in it expires, once somebody has looked
        self._disk = disk
        self._directory = directory
        self._interval = interval
        self._file: File | None = None
        self._newest: tuple[int, int] | None = _NONE
        self._indexes: Indexes | None = None
        self._indexed_at = 0
        self._entries: tuple[int, int] | None = _EMPTY  # in the index files, if that is known
        self._unchecked = 0  # bytes from the start that this process neither wrote nor checked
        self._checked: Spans | None = None
        self._bookmarks: dict[int, int] | None = None
        self._aborted: TxnIndex | None = None
        self._aborted_unseen = False  # an earlier life may have left an index of them

    def create(self) -> None:
        """Make the file, empty; what a failed attempt may have left in it goes."""
        file = self._disk.open(self.path(LOG), create=True)
        if file.size():
            file.truncate(0)
        self._file = file

    def trust(
        self,
        next_offset: int,
        size_bytes: int,
        newest: tuple[int, int] | None,
        entries: tuple[int, int] | None,
    ) -> None:
        """Be what an earlier life has left, unseen.

        *newest* is as of `newest`, *entries* how many the two index files have;
        None leaves it to be found out when somebody asks.
        """
        self.next_offset = next_offset
        self.size_bytes = self._unchecked = size_bytes
        self._newest = newest
        self._entries = entries
        self._aborted_unseen = True

    def open_as_found(self) -> File:
        """The file, whatever its size, for a look at what is in it."""
        self._file = self._disk.open(self.path(LOG))
        return self._file

    def path(self, suffix: str) -> str:
        return f"{self._directory}/{file_name(self.base_offset, suffix)}"

    @property
    def file(self) -> File:
        if self._file is None:
            try:
                file = self._disk.open(self.path(LOG))
            except FileNotFoundError:
                raise Corrupt(0, "no file") from None
            size = file.size()
            if size != self.size_bytes:
                raise Corrupt(min(size, self.size_bytes), f"{size} bytes where {self.size_bytes} should be")
            self._file = file
        return self._file

    @property
    def opened_files(self) -> list[File]:
        """The files that were ever needed."""
        files = [self._file, self.written_aborted]
        return [file for file in files if file is not None]

    @property
    def aborted(self) -> TxnIndex | None:
        """The aborted transactions whose marker is here; None if there are none.

        BadTxnIndex if what lies beside the segment tells of others than are in it.
        """
        if self._aborted_unseen:
            if self._disk.exists(self.path(TXN_INDEX)):
                self._aborted = self._believed_aborted()
            self._aborted_unseen = False
        return self._aborted

    @property
    def written_aborted(self) -> File | None:
        """The index of aborted transactions, if this life has had a look at it or written to it."""
        return None if self._aborted is None else self._aborted.file

    @property
    def index_size_bytes(self) -> int:
        """How large the index file would be, as far as that is known."""
        return len(self._indexes.offsets) * ENTRY_SIZE if self._indexes is not None else 0

    @property
    def newest(self) -> tuple[int, int]:
        """(highest timestamp, last offset of the first batch that has it); (-1, -1) if none has one."""
        if self._newest is None:
            self._load_indexes()
            assert self._newest is not None
        return self._newest

    @property
    def oldest_ms(self) -> int:
        """The time of the first batch; when the file was made, if it has none."""
        cursor = Cursor(self.file, 0, self.size_bytes, self.base_offset)
        if cursor.step() and cursor.max_timestamp_ms >= 0:
            return cursor.max_timestamp_ms
        return self.created_ms

    @property
    def known(self) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """*newest* and *entries* for `trust`, as far as they are known."""
        return self._newest, self._entries if self._indexes is None else self._indexes.entries

    @property
    def index_changed(self) -> bool:
        """Whether the index files lack entries that are in memory."""
        return self._indexes is not None and self._indexes.entries != self._entries

    # Writing

    def append(self, batch: Batch) -> None:
        """Write *batch* at the end."""
        assert batch.base_offset >= self.next_offset, (batch.base_offset, self.next_offset)

        self.prepare()
        self.file.append(batch.data)  # raises before anything below changes
        self.accept(batch.last_offset, batch.size, batch.max_timestamp_ms)

    def prepare(self) -> None:
        """Have at hand what an append notes, before it writes: what could not be noted must not be there."""
        if self._indexes is None and self._entries != _EMPTY:
            self._load_indexes()

    def accept(self, last_offset: int, size: int, max_timestamp_ms: int) -> None:
        """Count the batch that lies after all others, and note it in the indexes when it is time."""
        position = self.size_bytes
        if max_timestamp_ms > self.newest[0]:
            self._newest = (max_timestamp_ms, last_offset)
        if position - self._indexed_at > self._interval:
            indexes = self._loaded
            indexes.note(last_offset, position, self.newest, self._interval)
            self._indexed_at = indexes.offsets.last_position
        self.size_bytes = position + size
        self.next_offset = last_offset + 1

    def append_run(self, run: Run) -> None:
        """Write the batches of *run* at the end, with one call; its place must have been asked for here."""
        assert run.base_offset >= self.next_offset, (run.base_offset, self.next_offset)

        if run.parts:  # else they are there already
            self.file.append(*run.parts)  # raises before anything below changes
        if run.notes:
            self._note_run(run)
        if run.newest[1] >= 0:
            self._newest = run.newest
        self.size_bytes += run.size
        self.next_offset = run.end_offset

    def _note_run(self, run: Run) -> None:
        indexes = self._loaded
        indexes.note_run(run.notes, self.newest)
        self._indexed_at = indexes.offsets.last_position

    @property
    def indexed(self) -> tuple[int, int]:
        """The position that was last noted in the indexes, and after how many bytes the next is."""
        return self._indexed_at, self._interval

    def note_aborted(self, aborted: AbortedTransaction) -> bool:
        """Note a transaction whose marker is about to be appended; whether that made a file."""
        index = self.aborted
        is_new = index is None
        if index is None:
            index = self._aborted = TxnIndex.create(self._disk, self.path(TXN_INDEX))
        index.append(aborted)
        return is_new

    def forget_aborted(self, offset: int) -> None:
        """Those whose marker was to be at *offset* or beyond did not come to be."""
        if self._aborted is not None:
            self._aborted.truncate(offset)

    def set_aborted(self, entries: Sequence[AbortedTransaction]) -> None:
        """These are all the aborted transactions: see that the file, if there must be one, says so."""
        self._aborted_unseen = False
        path = self.path(TXN_INDEX)
        if entries:
            self._aborted = TxnIndex(self._disk.open(path, create=True))
            self._aborted.replace(entries)
        else:
            self._aborted = None
            self._disk.remove(path)

    def undo(self) -> None:
        """Take back what a failed append may have left at the end."""
        file = self.file
        file.truncate(self.size_bytes)
        file.sync()

    def truncate(self, offset: int) -> None:
        """Cut off the batch that holds *offset*, and all after it; durable when this returns."""
        position = self.locate(offset)
        if position == self.size_bytes:
            return
        aborted = self.aborted
        file = self.file
        file.truncate(position)
        file.sync()
        self.size_bytes = position
        self._unchecked = min(self._unchecked, position)
        self._bookmarks = None
        if self._checked is not None:
            self._checked.truncate(position)
        self.next_offset = self._rebuild()
        if aborted is not None:
            aborted.truncate(self.next_offset)
            aborted.file.sync()

    def bookmark(self) -> None:
        """The end as it is now will be asked for: remember where it is."""
        self._mark(self.next_offset, self.size_bytes)

    def index_bytes(self, *, closing: bool) -> tuple[bytes, bytes]:
        """Both indexes for their files; if *closing*, the highest timestamp comes last in its own."""
        indexes = self._loaded
        if closing:
            indexes.times.add(*self.newest)
        self._entries = indexes.entries
        return indexes.offsets.to_bytes(), indexes.times.to_bytes()

    # Reading

    def read(self, offset: int, max_bytes: int, end_offset: int) -> Slice | None:
        """Whole batches from the one that holds *offset* or follows it, up to *end_offset*.

        At least one, however large; None if there is none.
        """
        position = self.locate(offset)
        end = self.locate(end_offset)
        if position >= end:
            return None
        end_offset = min(end_offset, self.next_offset)
        if end - position > max_bytes:
            end, end_offset = self._last_end(position, position + max_bytes)
        if end == self.size_bytes:
            self.bookmark()
        if position < self._unchecked:
            self._check(position, end)
        return Slice(self.file, position, end - position, end_offset)

    def read_tail(self, offset: int, max_bytes: int) -> Slice | None:
        """All from *offset* to the end, if that begins where somebody has read up to and fits *max_bytes*.

        None if it takes more than that to tell: see `read`.
        """
        position = None if self._bookmarks is None else self._bookmarks.get(offset)
        if position is None or position < self._unchecked or self._file is None:
            return None
        size = self.size_bytes - position
        if not 0 < size <= max_bytes:
            return None
        self._mark(self.next_offset, self.size_bytes)
        return Slice(self._file, position, size, self.next_offset)

    def locate(self, offset: int) -> int:
        """Position of the batch that holds *offset*, or of the next one; the end if there is none."""
        if offset >= self.next_offset or self.size_bytes == 0:
            return self.size_bytes
        if self._bookmarks is not None:
            position = self._bookmarks.get(offset)
            if position is not None:
                return position
        cursor = self._at_entry(self._loaded.offsets.before(offset))
        if cursor is None:
            self._rebuild()
            return self.locate(offset)
        while cursor.last_offset < offset:
            if not cursor.step():
                return self.size_bytes
        return cursor.position

    def cursor(self, position: int = 0) -> Cursor:
        """A walk over the batches from *position* on."""
        return Cursor(self.file, position, self.size_bytes, self.base_offset, FAR_AHEAD)

    def find_time(self, timestamp_ms: int, offset: int, end_offset: int) -> Record | None:
        """The first record from *offset* to before *end_offset* with this timestamp or a higher one."""
        if self.newest[0] < timestamp_ms:
            return None
        cursor = self.cursor(self.locate(max(self._loaded.times.before(timestamp_ms), offset)))
        while cursor.step() and cursor.base_offset < end_offset:
            if cursor.max_timestamp_ms >= timestamp_ms:
                for record in self._records(cursor):
                    if offset <= record.offset < end_offset and record.timestamp_ms >= timestamp_ms:
                        return record
        return None

    def find_max_time(self, offset: int, end_offset: int) -> Record | None:
        """The first of the records from *offset* to before *end_offset* with the highest timestamp."""
        timestamp_ms, _ = self.newest
        if timestamp_ms < 0:
            return None
        record = self.find_time(timestamp_ms, offset, end_offset)
        if record is not None:
            return record
        timestamp_ms = self._highest_between(offset, end_offset)
        return self.find_time(timestamp_ms, offset, end_offset) if timestamp_ms >= 0 else None

    # Helpers

    @property
    def _loaded(self) -> Indexes:
        if self._indexes is None:
            self._load_indexes()
            assert self._indexes is not None
        return self._indexes

    def _at_entry(self, entry: tuple[int, int]) -> Cursor | None:
        """A cursor on the batch that an index entry points at; None if that is not the batch it noted."""
        last_offset, position = entry
        cursor = Cursor(self.file, position, self.size_bytes, self.base_offset)
        try:
            cursor.step()
        except Corrupt:
            if last_offset < 0:
                raise
            return None
        return cursor if last_offset in (-1, cursor.last_offset) else None

    def _last_end(self, position: int, limit: int) -> tuple[int, int]:
        """Where the last batch ends that begins at *position* or later and ends by *limit*; one at least.

        Its end in the file, and the offset after it.
        """
        entry = self._loaded.offsets.before_position(limit)
        cursor = self._at_entry(entry if entry[1] > position else (-1, position))
        if cursor is None:
            self._rebuild()
            return self._last_end(position, limit)
        end, offset = cursor.position, cursor.base_offset
        while cursor.next_position <= limit or end == position:
            end, offset = cursor.next_position, cursor.next_offset
            if not cursor.step():
                break
        self._mark(offset, end)
        return end, offset

    def _mark(self, offset: int, position: int) -> None:
        if self._bookmarks is None:
            self._bookmarks = {}
        elif len(self._bookmarks) >= _BOOKMARKS and offset not in self._bookmarks:
            del self._bookmarks[next(iter(self._bookmarks))]
        self._bookmarks[offset] = position

    def _check(self, position: int, end: int) -> None:
        """Corrupt unless every batch in the range is as it was written; each is looked at once."""
        if self._checked is None:
            self._checked = Spans()
        for first, last in self._checked.missing(position, min(end, self._unchecked)):
            cursor = Cursor(self.file, first, last, self.base_offset, FAR_AHEAD)
            while cursor.step():
                cursor.check()
            self._checked.add(first, last)

    def _records(self, cursor: Cursor) -> list[Record]:
        if cursor.position < self._unchecked:
            cursor.check()
        try:
            return read(cursor.batch(), max_bytes=_DECOMPRESSED_MAX)
        except Refused:
            return []  # a producer's own fault, passed on as it was sent: it has no records to find

    def _highest_between(self, offset: int, end_offset: int) -> int:
        """The highest timestamp of any record from *offset* to before *end_offset*; -1 if none has one."""
        # Nothing before the batch that the index names is newer than that batch.
        _, at = self._loaded.times.before_offset(end_offset) if offset <= self.base_offset else _NONE
        cursor = self.cursor(self.locate(max(at, offset)))
        highest = -1
        while cursor.step() and cursor.base_offset < end_offset:
            if cursor.max_timestamp_ms > highest:
                for record in self._records(cursor):
                    if offset <= record.offset < end_offset:
                        highest = max(highest, record.timestamp_ms)
        return highest

    def _believed_aborted(self) -> TxnIndex:
        """What the index file of an earlier life says, if it can be true."""
        index = TxnIndex.open(self._disk, self.path(TXN_INDEX), self.base_offset, self.next_offset)
        if index is None:
            raise BadTxnIndex
        for aborted in (index.first, index.last):
            if aborted is not None:
                cursor = self.cursor(self.locate(aborted.last_offset))
                if not (
                    cursor.step()
                    and cursor.attributes & CONTROL
                    and (cursor.producer_id, cursor.last_offset) == (aborted.producer_id, aborted.last_offset)
                ):
                    raise BadTxnIndex
        return index

    def _load_indexes(self) -> None:
        if self._entries == _EMPTY:
            self._indexes = Indexes.empty(self.base_offset)
            return
        offsets = OffsetIndex.from_bytes(self.base_offset, self._read_index(INDEX), self.size_bytes)
        times = TimeIndex.from_bytes(self.base_offset, self._read_index(TIME_INDEX), self.next_offset)
        if offsets is None or times is None or self._entries not in (None, (len(offsets), len(times))):
            self._rebuild()
            return
        if self._newest is None:
            if not times:
                self._rebuild()
                return
            self._newest = times.last
        self._indexes = Indexes(offsets, times)
        self._entries = self._indexes.entries

    def _read_index(self, suffix: str) -> bytes:
        try:
            file = self._disk.open(self.path(suffix))
        except FileNotFoundError:
            return b"?"  # no index has one byte
        data = file.read(0, file.size())
        file.close()
        return data

    def _rebuild(self) -> int:
        """Make both indexes again from the batches; return the offset after the last."""
        indexes = Indexes.empty(self.base_offset)
        newest = _NONE
        cursor = self.cursor()
        while cursor.step():
            if cursor.max_timestamp_ms > newest[0]:
                newest = (cursor.max_timestamp_ms, cursor.last_offset)
            indexes.note(cursor.last_offset, cursor.position, newest, self._interval)
        self._indexes = indexes
        self._indexed_at = indexes.offsets.last_position
        self._entries = None
        self._newest = newest
        return cursor.next_offset
