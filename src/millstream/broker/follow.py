"""Follow: an endless read, for doors that push records to whoever listens.

Nothing is read before the listener has taken what it was given last, so a
slow one costs no memory beyond one helping.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

from millstream.broker.read import Read, Records
from millstream.broker.session import Session
from millstream.broker.topics import Topics
from millstream.errors import ErrorCode, Refused

HELPING_BYTES: Final = 256 << 10  # there may be a thousand listeners who do not take theirs
HELPING_RECORDS: Final = 1_000

_LOOK_MS: Final = 5_000  # how often, where nothing comes, partitions that are new are looked for
_PAUSE_SECONDS: Final = 0.02


async def follow(
    read: Read,
    topics: Topics,
    session: Session,
    topic: str,
    offsets: Mapping[int, int],
    *,
    new_partitions: bool,
    max_records: int = HELPING_RECORDS,
    max_bytes: int = HELPING_BYTES,
) -> AsyncIterator[Records]:
    """Helpings of records from *offsets* on, one partition each, for ever.

    What retention has taken is stepped over. With *new_partitions*, those that
    the topic gets later are followed from their beginning. Ends with Refused
    when the topic is gone or an offset lies beyond its partition's end.
    """
    offsets = dict(offsets)
    while True:
        _step_over(topics, topic, offsets, new_partitions)
        try:
            helpings = await read.read(
                session, topic, offsets, max_records=max_records, max_bytes=max_bytes, max_wait_ms=_LOOK_MS
            )
        except Refused as refusal:
            if refusal.code is not ErrorCode.OFFSET_OUT_OF_RANGE or not _step_over(
                topics, topic, offsets, new_partitions
            ):
                raise
            continue  # retention was quicker than the listener
        for found in helpings:
            # Whoever gave something goes to the end of the queue: none may live at another's cost.
            if found.next_offset != offsets[found.partition]:
                del offsets[found.partition]
                offsets[found.partition] = found.next_offset
            if found.records:
                yield found
        if not any(found.records for found in helpings):
            await asyncio.sleep(_PAUSE_SECONDS)  # where fetches do not wait, as in a broker that stops


def _step_over(topics: Topics, topic: str, offsets: dict[int, int], new_partitions: bool) -> bool:
    """Let *offsets* lie where there are records, and be for all partitions there are; whether they moved."""
    moved = False
    for index, offset in list(offsets.items()):
        start_offset = topics.hosted(topic, index).partition.log.start_offset
        if offset < start_offset:
            offsets[index] = start_offset
            moved = True
    if new_partitions:
        for index in range(topics.topic(topic).partitions):
            offsets.setdefault(index, topics.hosted(topic, index).partition.log.start_offset)
    return moved
