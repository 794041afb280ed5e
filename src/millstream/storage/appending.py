"""A batch at the end of a segment: there, or not at all."""

import errno
from typing import Final

from millstream.env.disk import DiskFailed, File
from millstream.records.batch import Batch
from millstream.records.runs import Frames, Joiner, Place, Run, Sender
from millstream.storage.segment import Segment
from millstream.storage.txn_index import AbortedTransaction

_NOTHING_WRITTEN: Final = (errno.EMFILE, errno.ENFILE)  # no descriptor was to be had


def write(segment: Segment, batch: Batch) -> None:
    """Write *batch*; after an OSError nothing of it is there, after DiskFailed nothing may follow."""
    try:
        segment.append(batch)
    except OSError as error:
        take_back(segment, error)
        raise


def write_run(
    segment: Segment,
    joiner: Joiner,
    frames: Frames,
    index: int,
    log_start_offset: int,
    place: Place,
    sender: Sender,
) -> Run | None:
    """As `write`, of the batches that *joiner* finds in *frames*: all of them are there, or none."""
    native = segment.file.native
    try:
        run = joiner.join(frames, index, log_start_offset, place, sender, native)
        if run is not None:
            segment.append_run(run)
        return run
    except OSError as error:
        take_back(segment, error, native)
        raise


def write_abort(segment: Segment, marker: Batch, aborted: AbortedTransaction) -> bool:
    """Write the *marker* that aborts a transaction, but first of all note which; whether that made a file.

    Were it the other way round, a marker might count of which readers are not told.
    """
    try:
        made_file = segment.note_aborted(aborted)
    except OSError as error:
        _give_up_if_lost(error)
        raise
    try:
        write(segment, marker)
    except DiskFailed:
        raise
    except OSError:
        segment.forget_aborted(marker.base_offset)
        raise
    return made_file


def _give_up_if_lost(error: OSError) -> None:
    if error.errno == errno.EIO and not isinstance(error, DiskFailed):
        raise DiskFailed(error.errno, error.strerror) from error


def take_back(segment: Segment, error: OSError, native: File | None = None) -> None:
    """A write, by *native* code perhaps, has failed with *error*, perhaps half way: make it not have been.

    DiskFailed if that cannot be done, or if *error* is the disk's last.
    """
    if native is not None:
        native.native_failed(error)
    _give_up_if_lost(error)
    if error.errno in _NOTHING_WRITTEN:
        return
    try:
        segment.undo()
    except OSError as second:
        raise DiskFailed(second.errno, second.strerror) from second
