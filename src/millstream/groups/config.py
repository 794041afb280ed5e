"""How consumer groups are kept."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class GroupConfig:
    """Limits and times of every group this broker coordinates."""

    min_session_timeout_ms: int = setting(
        6_000,
        "The shortest session timeout a member may ask for.",
        kafka="group.min.session.timeout.ms",
        min=1,
    )
    max_session_timeout_ms: int = setting(
        1_800_000,
        "The longest session timeout a member may ask for.",
        kafka="group.max.session.timeout.ms",
        min=1,
    )
    initial_rebalance_delay_ms: int = setting(
        3_000,
        "How long an empty group waits for more members before its first rebalance.",
        kafka="group.initial.rebalance.delay.ms",
        min=0,
    )
    max_size: int = setting(
        2**31 - 1, "The most members a group may have.", kafka="group.max.size", min=1, max=2**31 - 1
    )
    max_pending_members: int = setting(
        1_000,
        "The most member ids of a group given out and not yet used; the oldest is forgotten first.",
        kafka="group.max.pending.members",
        min=1,
    )
    max_count: int = setting(
        100_000, "The most groups one broker coordinates.", kafka="group.max.count", min=1
    )
    member_max_bytes: int = setting(
        1 << 20,
        "The most bytes of protocol metadata, and of assignment, that one member may have.",
        kafka="group.member.max.bytes",
        min=1_024,
    )
    max_bytes: int = setting(
        16 << 20,
        "The most bytes of protocol metadata, and of assignments, that a group's members may have in all.",
        kafka="group.max.bytes",
        min=1 << 20,
    )
    consumer_session_timeout_ms: int = setting(
        45_000,
        "How long a member of the newer protocol may be silent.",
        kafka="group.consumer.session.timeout.ms",
        min=1,
    )
    consumer_min_session_timeout_ms: int = setting(
        45_000,
        "The shortest such time; a shorter group.consumer.session.timeout.ms counts as this.",
        kafka="group.consumer.min.session.timeout.ms",
        min=1,
    )
    consumer_max_session_timeout_ms: int = setting(
        60_000,
        "The longest such time; a longer group.consumer.session.timeout.ms counts as this.",
        kafka="group.consumer.max.session.timeout.ms",
        min=1,
    )
    consumer_heartbeat_interval_ms: int = setting(
        5_000,
        "How often members of the newer protocol are asked to be heard.",
        kafka="group.consumer.heartbeat.interval.ms",
        min=1,
    )
    consumer_min_heartbeat_interval_ms: int = setting(
        5_000,
        "The shortest such interval; a shorter group.consumer.heartbeat.interval.ms counts as this.",
        kafka="group.consumer.min.heartbeat.interval.ms",
        min=1,
    )
    consumer_max_heartbeat_interval_ms: int = setting(
        15_000,
        "The longest such interval; a longer group.consumer.heartbeat.interval.ms counts as this.",
        kafka="group.consumer.max.heartbeat.interval.ms",
        min=1,
    )
    consumer_max_size: int = setting(
        2**31 - 1,
        "The most members a group of the newer protocol may have.",
        kafka="group.consumer.max.size",
        min=1,
        max=2**31 - 1,
    )
    consumer_assignors: tuple[str, ...] = setting(
        ("uniform", "range"),
        "How partitions may be shared out in groups of the newer protocol; the first is the default.",
        kafka="group.consumer.assignors",
        choices=("uniform", "range"),
    )
    consumer_migration_policy: str = setting(
        "bidirectional",
        "Whether a group with members may change from the classic protocol to the newer (upgrade), back "
        "(downgrade), both or neither (disabled).",
        kafka="group.consumer.migration.policy",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    offset_metadata_max_bytes: int = setting(
        4_096,
        "The longest note a client may leave beside a committed offset.",
        kafka="offset.metadata.max.bytes",
        min=0,
        max=2**15 - 1,
    )
    offsets_retention_minutes: int = setting(
        10_080,
        "How long offsets are kept after their group has lost its last member; if it never had one, after "
        "the commit.",
        kafka="offsets.retention.minutes",
        min=1,
    )
    offsets_retention_check_interval_ms: int = setting(
        600_000, "How often to look for expired offsets.", kafka="offsets.retention.check.interval.ms", min=1
    )
    offsets_topic_num_partitions: int = setting(
        50,
        "Partitions of __consumer_offsets; must not change once groups exist.",
        kafka="offsets.topic.num.partitions",
        min=1,
        changeable=False,
    )
    offsets_topic_replication_factor: int = setting(
        3,
        "Replicas of __consumer_offsets, or as many as there are brokers. Of no effect on a node that stands "
        "alone.",
        kafka="offsets.topic.replication.factor",
        min=1,
        changeable=False,
        listed=False,
    )
    offsets_topic_segment_bytes: int = setting(
        100 << 20,
        "Segment size of __consumer_offsets; small, so that compaction and loading are quick.",
        kafka="offsets.topic.segment.bytes",
        min=1,
        changeable=False,
    )

    @property
    def consumer_session_ms(self) -> int:
        """How long a member of the newer protocol may be silent, within its bounds."""
        least, most = self.consumer_min_session_timeout_ms, self.consumer_max_session_timeout_ms
        return max(least, min(self.consumer_session_timeout_ms, most))

    @property
    def consumer_heartbeat_ms(self) -> int:
        """How often members of the newer protocol are to be heard, within its bounds."""
        least, most = self.consumer_min_heartbeat_interval_ms, self.consumer_max_heartbeat_interval_ms
        return max(least, min(self.consumer_heartbeat_interval_ms, most))

    @property
    def may_upgrade(self) -> bool:
        return self.consumer_migration_policy in ("bidirectional", "upgrade")

    @property
    def may_downgrade(self) -> bool:
        return self.consumer_migration_policy in ("bidirectional", "downgrade")


@final
@dataclass(frozen=True, kw_only=True)
class GroupOverrides:
    """What a group may have of its own, in place of what GroupConfig says for all."""

    consumer_session_timeout_ms: int = setting(
        45_000,
        "How long a member of this group, in the newer protocol, may be silent.",
        kafka="consumer.session.timeout.ms",
        min=1,
        max=2**31 - 1,
    )
    consumer_heartbeat_interval_ms: int = setting(
        5_000,
        "How often members of this group, in the newer protocol, are asked to be heard.",
        kafka="consumer.heartbeat.interval.ms",
        min=1,
        max=2**31 - 1,
    )
