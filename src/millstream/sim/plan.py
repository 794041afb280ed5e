"""What one seed's run is like: drawn once, before anything happens.

Swarm testing: a run in which everything goes wrong at once hides the bugs that
need one thing to go wrong often. So every seed draws its own few kinds of
fault, its own pace, and its own clients.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final, final

from millstream.records.compression import Codec
from millstream.sim.producer import Habits

TOPIC: Final = "orders"
LEDGER: Final = "ledger"  # compacted
PAYMENTS: Final = "payments"  # written in transactions, and outside
INVOICES: Final = "invoices"  # one for each payment

KINDS: Final = (
    "kill",  # the process dies, the page cache lives
    "power",  # the machine dies: what was not synced is lost or torn
    "trigger",  # one of both, exactly when something happens on the disk
    "restart",  # a clean stop and start
    "pause",  # the broker or a client stands still
    "cut",  # a client is cut off, one way or both
    "reset",  # all connections break
    "storm",  # the network is slow and chops everything up
    "slow-disk",
    "full-disk",
    "sync-error",  # a sync fails, once
    "clock",  # the wall clock jumps
    "churn",  # clients crash, leave and come back
)

_MAY_LOSE_THE_CACHE: Final = frozenset({"power", "trigger", "sync-error"})


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run. The first *fault_s* seconds are troubled, the rest are for recovery."""

    seed: int
    kinds: tuple[str, ...]
    seconds: float = 50.0
    fault_s: float = 16.0
    fifo: bool = False
    pause_s: tuple[float, float] = (1.0, 5.0)  # between two strikes
    disk_delay_s: tuple[float, float] = (0.0005, 0.008)
    partitions: int = 3
    producers: tuple[Habits, ...] = (Habits(), Habits())
    members: int = 2
    static_members: bool = False
    modern_members: int = 2
    mixed: bool = False
    transactors: int = 2
    processors: int = 2
    tunes: bool = False  # configs of topics are changed all the while
    settings: dict[str, object] = field(default_factory=dict)
    topic_settings: dict[str, str] = field(default_factory=dict)
    ledger_settings: dict[str, str] = field(default_factory=dict)
    payment_settings: dict[str, str] = field(default_factory=dict)

    @property
    def tunable(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Configs of each topic that may be changed at any time, and their values."""
        small = self.topic_settings.get("segment.bytes", "1048576")
        either = {
            "index.interval.bytes": ("0", "512", "4096"),
            "message.timestamp.type": ("CreateTime", "LogAppendTime"),
            "file.delete.delay.ms": ("0", "2000", "60000"),
        }
        orders = {
            "segment.bytes": (small, "1048576"),
            "segment.ms": ("1000", "604800000"),
            "compression.type": ("producer", "gzip", "uncompressed"),
        }
        ledger = {
            "segment.bytes": ("1024", "4096", "65536"),
            "min.cleanable.dirty.ratio": ("0", "0.5", "1"),
            "min.compaction.lag.ms": ("0", "2000"),
            "max.compaction.lag.ms": ("1000", "9223372036854775807"),
            "delete.retention.ms": ("0", "2000", "86400000"),
            "cleanup.policy": ("compact", "compact,delete"),
        }
        return {TOPIC: {**either, **orders}, LEDGER: {**either, **ledger}}

    def __str__(self) -> str:
        return f"seed {self.seed}: {', '.join(self.kinds) or 'no faults'}; {self!r}"


def draw(seed: int, kinds: tuple[str, ...] | None = None) -> Plan:
    """The plan of *seed*, with faults of *kinds* if they are given."""
    random = Random(f"plan {seed}")
    producers = tuple(_habits(random, idempotent=i < 1 or random.random() < 0.5) for i in range(2))
    # A batch must fit into a segment, and else the smaller the better.
    segment_bytes = max(random.choice((4096, 32768, 1 << 20)), *(each.batch_bytes for each in producers))
    swarm = (
        kinds
        if kinds is not None
        else tuple(sorted(random.sample(KINDS, random.randint(1, len(KINDS) - 4)), key=KINDS.index))
    )
    return Plan(
        seed=seed,
        kinds=swarm,
        fifo=random.random() < 0.5,
        pause_s=random.choice(((1.0, 4.0), (0.2, 1.5), (2.0, 5.0))),
        disk_delay_s=random.choice(((0.0005, 0.008), (0.00005, 0.0005), (0.004, 0.03))),
        partitions=random.randint(1, 4),
        producers=producers,
        members=random.randint(2, 3),
        static_members=random.random() < 0.3,
        modern_members=2,
        mixed=random.random() < 0.4,
        transactors=random.randint(1, 2),
        processors=random.randint(1, 2),
        tunes=random.random() < 0.5,
        settings={
            "listeners": "PLAINTEXT://broker:9092",
            "log.dir.ballast.bytes": 4096,
            "log.message.timestamp.after.max.ms": (1 << 63) - 1,  # clocks jump here, and nobody is to blame
            "log.retention.check.interval.ms": 2000,
            "log.cleaner.backoff.ms": random.choice((300, 3000)),
            "log.segment.delete.delay.ms": random.choice((0, 2000)),
            "log.flush.offset.checkpoint.interval.ms": random.choice((1000, 5000, 60_000)),
            "group.initial.rebalance.delay.ms": 200,
            "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.session.timeout.ms": random.choice((2000, 5000)),
            "group.consumer.min.heartbeat.interval.ms": 500,
            "group.consumer.heartbeat.interval.ms": random.choice((500, 1000)),
            "transaction.state.log.num.partitions": random.choice((1, 3)),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": random.choice((300, 1000)),
            "offsets.topic.num.partitions": random.choice((1, 3)),
            "offsets.topic.segment.bytes": random.choice((2048, 16384, 1 << 20)),
        },
        payment_settings={"segment.bytes": str(random.choice((4096, 32768, 1 << 20)))},
        ledger_settings={
            "cleanup.policy": "compact",
            "segment.bytes": str(random.choice((1024, 2048, 8192))),
            "min.cleanable.dirty.ratio": random.choice(("0.01", "0.1", "0.5")),
            "delete.retention.ms": random.choice(("0", "3000", "86400000")),
        },
        topic_settings={
            "segment.bytes": str(segment_bytes),
            "index.interval.bytes": str(random.choice((0, 512, 4096))),
            "flush.policy": "fsync" if _MAY_LOSE_THE_CACHE & set(swarm) else random.choice(("fsync", "os")),
            "message.timestamp.type": random.choice(("CreateTime", "LogAppendTime")),
        },
    )


def _habits(random: Random, *, idempotent: bool) -> Habits:
    return Habits(
        idempotent=idempotent,
        acks=-1 if idempotent else random.choice((1, -1)),
        codec=random.choice(tuple(Codec)),
        pause_s=random.choice((0.08, 0.2, 0.5)),
        max_records=random.choice((1, 3, 8)),
        max_padding=random.choice((0, 100, 1500)),
    )
