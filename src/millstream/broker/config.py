"""Settings of a broker, whichever doors it has."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class BrokerConfig:
    node_id: int = setting(
        1, "This node's number, unique in its cluster.", kafka="node.id", min=0, changeable=False
    )
    rack: str = setting(
        "", "Where this node stands; shown to clients.", kafka="broker.rack", changeable=False
    )
    num_partitions: int = setting(
        1, "Partitions of a topic that is created without saying how many.", kafka="num.partitions", min=1
    )
    default_replication_factor: int = setting(
        1,
        "Replicas of a topic that is created without saying how many; more than brokers are refused.",
        kafka="default.replication.factor",
        min=1,
    )
    auto_create_topics: bool = setting(
        True, "Create a topic when it is first named by a client.", kafka="auto.create.topics.enable"
    )
    delete_topics: bool = setting(True, "Let clients delete topics.", kafka="delete.topic.enable")
    max_partitions: int = setting(
        100_000, "Refuse topics that would make more partitions than this.", kafka="max.partitions", min=1
    )
    fetch_max_bytes: int = setting(
        57_671_680, "The most one fetch returns, whatever it asks for.", kafka="fetch.max.bytes", min=1024
    )
    fetch_max_wait_ms: int = setting(
        60_000, "The longest one fetch is parked, whatever it asks for.", kafka="fetch.max.wait.ms", min=0
    )
    producer_expiry_ms: int = setting(
        86_400_000,
        "Forget an idempotent producer that wrote nothing for so long.",
        kafka="producer.id.expiration.ms",
        min=1,
    )
    retention_check_ms: int = setting(
        300_000,
        "How often old segments are looked for.",
        kafka="log.retention.check.interval.ms",
        min=1,
        changeable=False,
    )
    compacts: bool = setting(True, "Compact topics whose cleanup.policy says so.", kafka="log.cleaner.enable")
    compaction_check_ms: int = setting(
        15_000,
        "How often logs to compact are looked for.",
        kafka="log.cleaner.backoff.ms",
        min=1,
    )
    compaction_keys_bytes: int = setting(
        134_217_728,
        "The most memory for the keys of one pass of compaction; what does not fit waits for the next.",
        kafka="log.cleaner.dedupe.buffer.size",
        min=1 << 20,
    )
    sync_on_loop_us: int = setting(
        500,
        "Sync on the loop, not in a thread, while the disk takes fewer microseconds; all else waits then.",
        kafka="sync.on.loop.us",
        min=0,
        max=10_000,
    )
    checkpoint_ms: int = setting(
        60_000,
        "How often it is noted how far each log is synced, which shortens recovery.",
        kafka="log.flush.offset.checkpoint.interval.ms",
        min=1,
        changeable=False,
    )
    min_free_percent: float = setting(
        5.0,
        "Refuse to write when less of the disk is free; reading and deleting go on.",
        kafka="log.dir.min.free.percent",
        min=0,
        max=99,
    )
    ballast_bytes: int = setting(
        64 << 20,
        "Space kept in reserve, to stop cleanly on a full disk.",
        kafka="log.dir.ballast.bytes",
        min=0,
        changeable=False,
    )
