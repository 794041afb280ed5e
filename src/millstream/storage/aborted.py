"""Aborted transactions of a log, segment by segment."""

from collections.abc import Sequence

from millstream.records.batch import CONTROL
from millstream.records.control import Marker
from millstream.storage.cursor import Cursor
from millstream.storage.producers import Producers
from millstream.storage.segment import Segment
from millstream.storage.snapshots import note
from millstream.storage.txn_index import AbortedTransaction


def find(segments: Sequence[Segment], start_offset: int, end_offset: int) -> list[AbortedTransaction]:
    """Those with anything from *start_offset*, which is in the first segment, to before *end_offset*."""
    found: list[AbortedTransaction] = []
    for segment in segments:
        index = segment.aborted
        if index is not None:
            some, is_last = index.find(start_offset, end_offset)
            found += some
            if is_last:
                break
    return found


def walk(segment: Segment, producers: Producers) -> list[AbortedTransaction]:
    """Those whose marker is in *segment*, by its batches; *producers* are as they were at its start."""
    found: list[AbortedTransaction] = []
    cursor = segment.cursor()
    while cursor.step():
        ended = aborted_by(producers, cursor)
        if ended is not None:
            found.append(ended)
        note(producers, cursor, 0)
    return found


def aborted_by(producers: Producers, cursor: Cursor) -> AbortedTransaction | None:
    """The transaction that the batch under *cursor*, next for *producers*, aborts; None if it does not."""
    if not cursor.attributes & CONTROL:
        return None
    ended = producers.ending(cursor.batch())
    if ended is None or ended.marker is not Marker.ABORT:
        return None
    return AbortedTransaction(*ended[1:])
