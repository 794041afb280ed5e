"""How a topic's logs are kept. Kafka's names and defaults, so that its tools can read and set them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

from millstream.settings import setting

FOREVER: Final = (1 << 63) - 1
_INT32_MAX: Final = (1 << 31) - 1


@final
@dataclass(frozen=True, kw_only=True)
class LogConfig:
    """Broker-wide defaults; a topic may override any."""

    cleanup_policy: tuple[str, ...] = setting(
        ("delete",),
        "What becomes of old records: delete whole segments, or compact to the last record of each key.",
        kafka="cleanup.policy",
        choices=("delete", "compact"),
    )
    compression_type: str = setting(
        "producer",
        "How batches are compressed on disk: as the producer sent them, or by one codec.",
        kafka="compression.type",
        choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    )
    delete_retention_ms: int = setting(
        86_400_000,
        "How long compaction keeps the tombstone of a deleted key, so that slow readers learn of it.",
        kafka="delete.retention.ms",
        min=0,
    )
    file_delete_delay_ms: int = setting(
        60_000,
        "How long a deleted segment stays on disk for readers that are still in it.",
        kafka="file.delete.delay.ms",
        min=0,
    )
    flush_messages: int = setting(
        FOREVER,
        "Sync at the latest after so many records: every write is synced, then, whatever flush.policy says.",
        kafka="flush.messages",
        min=1,
    )
    flush_ms: int = setting(
        FOREVER,
        "Sync at the latest after this long: every write is synced, then, whatever flush.policy says.",
        kafka="flush.ms",
        min=0,
    )
    flush_policy: str = setting(
        "fsync",
        "When a write counts: once it is synced, or once the operating system has it.",
        kafka="flush.policy",
        choices=("fsync", "os"),
    )
    index_interval_bytes: int = setting(
        4096, "Bytes of log between two entries of its index.", kafka="index.interval.bytes", min=0
    )
    max_compaction_lag_ms: int = setting(
        FOREVER, "A record is compacted at the latest after this long.", kafka="max.compaction.lag.ms", min=1
    )
    max_message_bytes: int = setting(
        1_048_588, "The largest batch that is taken, compressed as sent.", kafka="max.message.bytes", min=0
    )
    message_timestamp_type: str = setting(
        "CreateTime",
        "Whether records keep the producer's timestamp or get the broker's.",
        kafka="message.timestamp.type",
        choices=("CreateTime", "LogAppendTime"),
    )
    message_timestamp_before_max_ms: int = setting(
        FOREVER,
        "How far a record's timestamp may lie behind the broker's clock.",
        kafka="message.timestamp.before.max.ms",
        min=0,
    )
    message_timestamp_after_max_ms: int = setting(
        3_600_000,
        "How far a record's timestamp may lie ahead of the broker's clock.",
        kafka="message.timestamp.after.max.ms",
        min=0,
    )
    min_cleanable_dirty_ratio: float = setting(
        0.5,
        "Compact once this part of the log is not compacted yet.",
        kafka="min.cleanable.dirty.ratio",
        min=0,
        max=1,
    )
    min_compaction_lag_ms: int = setting(
        0, "A record is left as it is at least this long.", kafka="min.compaction.lag.ms", min=0
    )
    min_insync_replicas: int = setting(
        1, "Replicas that must have a write before acks=all is given.", kafka="min.insync.replicas", min=1
    )
    retention_bytes: int = setting(
        -1, "Delete the oldest segments beyond this size; -1 sets no limit.", kafka="retention.bytes", min=-1
    )
    retention_hold_groups: tuple[str, ...] = setting(
        (),
        "Consumer groups for which records are kept past retention until the group has read them.",
        kafka="retention.hold.groups",
    )
    retention_hold_max_bytes: int = setting(
        10 << 30,
        "No partition is kept larger than this for a group's sake; -1 sets no limit.",
        kafka="retention.hold.max.bytes",
        min=-1,
    )
    retention_hold_max_ms: int = setting(
        1_209_600_000,
        "No record is kept longer than this for a group's sake; -1 sets no limit.",
        kafka="retention.hold.max.ms",
        min=-1,
    )
    retention_ms: int = setting(
        604_800_000,
        "Delete segments whose newest record is older; -1 sets no limit.",
        kafka="retention.ms",
        min=-1,
    )
    segment_bytes: int = setting(
        1 << 30, "Start a new segment at this size.", kafka="segment.bytes", min=1 << 10, max=_INT32_MAX
    )
    segment_index_bytes: int = setting(
        10 << 20,
        "Start a new segment when the index of this one is so large.",
        kafka="segment.index.bytes",
        min=64,
    )
    segment_jitter_ms: int = setting(
        0,
        "Roll up to this much before segment.ms, so that not all logs roll at once.",
        kafka="segment.jitter.ms",
        min=0,
    )
    segment_ms: int = setting(
        604_800_000, "Start a new segment at this age.", kafka="segment.ms", min=1, max=FOREVER
    )
    unclean_leader_election: bool = setting(
        False,
        "Let a replica lead that may lack committed records. Of no effect on a node that stands alone.",
        kafka="unclean.leader.election.enable",
        listed=False,
    )

    @cached_property  # asked for each batch
    def leaves_syncing_to_the_system(self) -> bool:
        return self.flush_policy == "os" and self.flush_messages == self.flush_ms == FOREVER

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy
