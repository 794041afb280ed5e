"""`millstream topic describe`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Output, Table, counted, number, size
from millstream.cli.session import Session, cluster_options, existing_topic
from millstream.cli.topic.list import health, replicas
from millstream.client.admin import Admin
from millstream.client.admin_values import Config
from millstream.client.cluster import Client
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.topics import Partition, Topic, TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused


@click.command("describe")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete.topics)
@click.option("--all-settings", "-a", is_flag=True, help="Also the settings that are the cluster's defaults.")
@cluster_options
def command(session: Session, names: tuple[str, ...], all_settings: bool) -> int:
    """Leaders, replicas, offsets, sizes and settings of topics NAME...

    Exits with 1 if any partition has no leader, so that a script can wait on it.
    """
    return session.run(lambda client, out: run(client, out, names, all_settings=all_settings))


async def run(client: Client, out: Output, names: Sequence[str], *, all_settings: bool = False) -> int:
    """Print each of *names* in full; exit 1 if any partition has no leader."""
    details = [await _look_up(client, name) for name in names]
    tables = [table for each in details for table in _tables(each, all_settings)]
    out.show([_document(each, all_settings) for each in details], *tables)
    led = all(partition.leader is not None for each in details for partition in each.topic.partitions)
    return Exit.OK if led else Exit.NO


@final
@dataclass(frozen=True)
class _Details:
    topic: Topic
    starts: dict[TopicPartition, int | None]
    ends: dict[TopicPartition, int | None]
    sizes: dict[TopicPartition, int]
    configs: list[Config]

    def at(self, partition: Partition) -> tuple[int | None, int | None, int | None]:
        """Start, end and size of *partition*, as far as known."""
        name = TopicPartition(self.topic.name, partition.index)
        return self.starts.get(name), self.ends.get(name), self.sizes.get(name)


async def _look_up(client: Client, name: str) -> _Details:
    admin = Admin(client)
    topic = await existing_topic(client, name)
    led = [TopicPartition(name, each.index) for each in topic.partitions if each.leader is not None]
    return _Details(
        topic,
        await list_offsets(client, dict.fromkeys(led, EARLIEST)),
        await list_offsets(client, dict.fromkeys(led, LATEST)),
        await _sizes(admin, topic),
        await admin.topic_configs(name),
    )


async def _sizes(admin: Admin, topic: Topic) -> dict[TopicPartition, int]:
    """Each partition's size on its leader; where a broker does not tell, it is left out."""
    leaders = {each.index: each.leader for each in topic.partitions if each.leader is not None}
    try:
        dirs = await admin.log_dirs(set(leaders.values()))
    except (Refused, Unreachable):
        return {}
    return {
        partition: bytes_
        for each in dirs
        for partition, bytes_ in each.sizes.items()
        if partition.topic == topic.name and leaders.get(partition.partition) == each.broker
    }


def _tables(details: _Details, all_settings: bool) -> list[Table]:
    topic = details.topic
    summary = Table(["", ""], title=topic.name, header=False)
    partitions = Table(
        ["partition>", "leader>", "epoch>", "replicas", "in sync", "start>", "end>", "records>", "size>"]
    )
    records = total = 0
    for each in topic.partitions:
        start, end, bytes_ = details.at(each)
        held = None if start is None or end is None else end - start
        records += held or 0
        total += bytes_ or 0
        leader = Cell(None, "none", "bold red") if each.leader is None else Cell(each.leader)
        behind = len(each.isr) < len(each.replicas)
        partitions.rows.append(
            [
                each.index,
                leader,
                each.leader_epoch,
                _ids(each.replicas),
                Cell(_ids(each.isr), style="yellow" if behind else ""),
                number(start),
                number(end),
                number(held),
                size(bytes_),
            ]
        )
    summary.rows += [
        [Cell("id", style="dim"), topic.uuid],
        [Cell("health", style="dim"), health(topic)],
        [
            Cell("partitions", style="dim"),
            f"{len(topic.partitions)}, with {counted(replicas(topic), 'replica')} each",
        ],
        [Cell("records", style="dim"), number(records)],
        [Cell("size", style="dim"), size(total)],
    ]
    return [summary, partitions, *_settings(details, all_settings)]


def _settings(details: _Details, all_settings: bool) -> list[Table]:
    shown = [each for each in details.configs if all_settings or each.overridden]
    if not shown:
        return []
    table = Table(["setting", "value", "from"])
    for each in shown:
        value = Cell("hidden", style="dim") if each.sensitive else Cell(each.value)
        table.rows.append([each.name, value, Cell(each.source, style="cyan" if each.overridden else "dim")])
    return [table]


def _document(details: _Details, all_settings: bool) -> dict[str, object]:
    partitions = []
    for each in details.topic.partitions:
        start, end, bytes_ = details.at(each)
        partitions.append(
            {
                "partition": each.index,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": list(each.replicas),
                "in_sync": list(each.isr),
                "offline": list(each.offline),
                "start": start,
                "end": end,
                "size_bytes": bytes_,
            }
        )
    settings = {each.name: each.value for each in details.configs if all_settings or each.overridden}
    return {
        "name": details.topic.name,
        "id": details.topic.uuid,
        "internal": details.topic.internal,
        "partitions": partitions,
        "settings": settings,
    }


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "-"
