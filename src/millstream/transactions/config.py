"""How transactions are kept."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class TransactionConfig:
    """Limits and times of every transaction this broker coordinates."""

    max_timeout_ms: int = setting(
        900_000,
        "The longest time a producer may ask to have for one transaction.",
        kafka="transaction.max.timeout.ms",
        min=1,
    )
    id_expiration_ms: int = setting(
        604_800_000,
        "Forget a transactional id that was not used for so long.",
        kafka="transactional.id.expiration.ms",
        min=1,
    )
    max_count: int = setting(
        100_000, "The most transactional ids one broker keeps.", kafka="transactional.id.max.count", min=1
    )
    timeout_check_interval_ms: int = setting(
        10_000,
        "How often to look for transactions whose time is over, and abort them.",
        kafka="transaction.abort.timed.out.transaction.cleanup.interval.ms",
        min=1,
        changeable=False,
    )
    expiration_check_interval_ms: int = setting(
        3_600_000,
        "How often to look for transactional ids that nobody uses any more.",
        kafka="transaction.remove.expired.transaction.cleanup.interval.ms",
        min=1,
        changeable=False,
    )
    state_topic_num_partitions: int = setting(
        50,
        "Partitions of __transaction_state, when it is created.",
        kafka="transaction.state.log.num.partitions",
        min=1,
        changeable=False,
    )
    state_topic_segment_bytes: int = setting(
        104_857_600,
        "Segment size of __transaction_state, when it is created.",
        kafka="transaction.state.log.segment.bytes",
        min=1 << 20,
        changeable=False,
    )
