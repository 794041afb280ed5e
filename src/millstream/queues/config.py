"""Settings of queues: how many messages are out at once, for how long, how often."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    window: int = setting(
        1_000,
        "Messages one subscriber may hold unacknowledged, unless it asks for another number.",
        kafka="queue.window",
        min=1,
        max=100_000,
    )
    max_held: int = setting(
        10_000,
        "Messages of one partition that one group may hold unacknowledged; beyond it no more are delivered.",
        kafka="queue.max.held",
        min=1,
        max=100_000,
    )
    ack_timeout_ms: int = setting(
        30_000,
        "Deliver a message again that a member of a group has not acknowledged for so long.",
        kafka="queue.ack.timeout.ms",
        min=10,
    )
    delivery_limit: int = setting(
        5,
        "Move a message that a group did not acknowledge after so many deliveries to its dead-letter topic; "
        "0 means never.",
        kafka="queue.delivery.count.limit",
        min=0,
        max=1_000,
    )
    dead_letter_suffix: str = setting(
        ".dead",
        "What a dead-letter topic's name has after that of its topic.",
        kafka="queue.dead.letter.suffix",
    )
    max_queues: int = setting(
        10_000,
        "Queues, one for each partition and group that reads it; beyond it new ones are refused.",
        kafka="queue.max.count",
        min=1,
    )
