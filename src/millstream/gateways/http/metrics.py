"""The node's figures in Prometheus' text format, read when they are asked for."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from millstream.broker.broker import Broker
from millstream.gateways.connection import Door
from millstream.gateways.http.machine import cpu_seconds, memory_bytes, resident_bytes

MAX_TOPICS: Final = 1_000  # with figures of their own; a label's values must not be without number
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS: Final = {
    "produced_batches": "Batches that clients have written.",
    "produced_records": "Records that clients have written.",
    "produced_bytes": "Bytes of batches that clients have written.",
    "fetched_bytes": "Bytes of batches given to clients.",
    "syncs": "Syncs of logs.",
    "door_records": "Records that came in by a door of records (HTTP, JSON lines, text).",
    "unreadable_batches": "Batches whose records could not be read, stepped over by doors of records.",
}
_TOPICS_A_SLICE: Final = 50

Sample = tuple[Mapping[str, str], float]


async def prometheus_text(broker: Broker, doors: Sequence[Door]) -> bytes:
    lines: list[str] = []
    counters = broker.counters()
    for name, meaning in _COUNTERS.items():
        _write(lines, f"millstream_{name}_total", "counter", meaning, [({}, counters[name])])
    gauges = {
        "ingress_buffer_records": (
            broker.writes.buffered_records,
            "Accepted by doors of records, not yet durable.",
        ),
        "ingress_buffer_bytes": (broker.writes.buffered_bytes, "The same in bytes."),
        "topics": (len(broker.topics.by_name()), "Topics."),
        "partitions": (broker.topics.image.partition_count, "Partitions of all topics."),
        "groups": (len(broker.groups), "Consumer groups."),
        "offline_partitions": (offline_partitions(broker), "Partitions that cannot be served."),
        "disk_free_bytes": (broker.disk.free_bytes(), "Free space where the data is."),
        "disk_total_bytes": (broker.disk.total_bytes(), "All space where the data is."),
        "memory_total_bytes": (memory_bytes(), "Memory of this machine."),
        "healthy": (0 if broker.broken.done() else 1, "1 unless the disk has failed."),
    }
    for name, (value, meaning) in gauges.items():
        _write(lines, f"millstream_{name}", "gauge", meaning, [({}, value)])
    _doors(lines, doors)
    await _topics(lines, broker)
    _write(lines, "process_cpu_seconds_total", "counter", "Processor time.", [({}, cpu_seconds())])
    _write(lines, "process_resident_memory_bytes", "gauge", "Memory in use.", [({}, resident_bytes())])
    return ("\n".join(lines) + "\n").encode()


def _doors(lines: list[str], doors: Sequence[Door]) -> None:
    open_now: list[Sample] = []
    opened: list[Sample] = []
    refused: list[Sample] = []
    for door in doors:
        label = {"door": door.name}
        open_now.append((label, len(door.connections)))
        opened.append((label, door.opened))
        refused.append((label, door.refused))
    _write(lines, "millstream_connections", "gauge", "Connections open now.", open_now)
    _write(lines, "millstream_connections_opened_total", "counter", "Connections ever opened.", opened)
    _write(lines, "millstream_connections_refused_total", "counter", "Connections closed by us.", refused)


async def _topics(lines: list[str], broker: Broker) -> None:
    sizes: list[Sample] = []
    ends: list[Sample] = []
    records: list[Sample] = []
    held: list[Sample] = []
    shown = [topic for _, topic in sorted(broker.topics.by_name().items())][:MAX_TOPICS]
    for number, topic in enumerate(shown, 1):
        hosted = [each for each in broker.topics.of(topic.name) if not each.partition.log.offline]
        label = {"topic": topic.name}
        sizes.append((label, sum(each.partition.log.size_bytes for each in hosted)))
        ends.append((label, sum(each.partition.high_watermark for each in hosted)))
        held.append((label, sum(each.partition.log.held_bytes for each in hosted)))
        records.append((label, sum(each.traffic.records.total for each in hosted if each.traffic)))
        if number % _TOPICS_A_SLICE == 0:
            await asyncio.sleep(0)
    _write(lines, "millstream_topic_size_bytes", "gauge", "Bytes of a topic's logs.", sizes)
    _write(lines, "millstream_topic_held_bytes", "gauge", "Past retention, held for groups.", held)
    _write(lines, "millstream_topic_end_offset", "gauge", "High watermarks, added up.", ends)
    _write(lines, "millstream_topic_records_total", "counter", "Records written since the start.", records)


def offline_partitions(broker: Broker) -> int:
    return sum(hosted.partition.log.offline for hosted in broker.topics.all_hosted())


def _write(lines: list[str], name: str, kind: str, meaning: str, samples: Sequence[Sample]) -> None:
    lines.append(f"# HELP {name} {meaning}")
    lines.append(f"# TYPE {name} {kind}")
    for labels, value in samples:
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
