"""Which batches a reader may see: no markers and, if it reads only what is committed, no aborted ones."""

from collections.abc import Iterable, Iterator

from millstream.records.batch import Batch
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction


def visible(
    batches: Iterable[Batch], aborted: Iterable[FetchResponseAbortedTransaction]
) -> Iterator[tuple[Batch, bool]]:
    """Each of *batches* and whether its records count.

    *aborted* are the transactions that end in an abort among these batches:
    each holds from its first offset until its producer's next marker.
    """
    coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    aborting: set[int] = set()
    for batch in batches:
        while coming and coming[-1].first_offset <= batch.last_offset:
            aborting.add(coming.pop().producer_id)
        if batch.is_control:
            aborting.discard(batch.producer_id)
            yield batch, False
        else:
            yield batch, not (batch.is_transactional and batch.producer_id in aborting)
