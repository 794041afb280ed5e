"""When a segment has had enough."""

from typing import Final

from millstream.records.batch import Batch
from millstream.records.crc import crc32c
from millstream.storage.config import LogConfig
from millstream.storage.segment import LOG, MAX_RELATIVE, Segment

_RUN_INDEX_BYTES: Final = 64 << 10  # a run has at most some thousand batches


def must_roll(active: Segment, batch: Batch, config: LogConfig, now_ms: int) -> bool:
    """Whether *batch* is to go to a new segment rather than to this one."""
    return active.size_bytes > 0 and (
        active.size_bytes + batch.size > config.segment_bytes
        or batch.last_offset - active.base_offset > MAX_RELATIVE
        or active.index_size_bytes >= config.segment_index_bytes
        or is_due(active, config, now_ms)
    )


def has_room_for_run(active: Segment, config: LogConfig) -> bool:
    """Whether the index takes all that a run of batches may note in it."""
    return active.index_size_bytes + _RUN_INDEX_BYTES < config.segment_index_bytes


def is_due(active: Segment, config: LogConfig, now_ms: int) -> bool:
    """Whether the segment has reached its age; an empty one has none."""
    return active.size_bytes > 0 and now_ms >= due_ms(active, config)


def due_ms(active: Segment, config: LogConfig) -> int:
    """When the segment has reached its age, if there is anything in it by then."""
    limit_ms = config.segment_ms
    if config.max_compaction_lag_ms < limit_ms and config.compacts:
        limit_ms = config.max_compaction_lag_ms  # only what is closed can be compacted
    if config.segment_jitter_ms:
        # Logs made together should not all roll together; chance would do, but this needs none.
        limit_ms -= crc32c(active.path(LOG).encode()) % (config.segment_jitter_ms + 1)
    return active.created_ms + limit_ms
