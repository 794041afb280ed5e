"""`millstream group describe`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.group.list import state
from millstream.cli.output import Cell, Output, Table, number
from millstream.cli.session import Session, cluster_options
from millstream.client.admin_groups import GroupAdmin
from millstream.client.admin_values import GroupDescription, GroupMember
from millstream.client.cluster import Client
from millstream.client.offsets import LATEST, list_offsets
from millstream.client.topics import TopicPartition


@click.command("describe")
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, shell_complete=complete.groups)
@click.option(
    "--max-lag",
    type=click.IntRange(min=0),
    metavar="N",
    help="Exit with 1 if a group is further behind than this.",
)
@cluster_options
def command(session: Session, names: tuple[str, ...], max_lag: int | None) -> int:
    """Members of groups GROUP..., and how far each has read each partition."""
    return session.run(lambda client, out: run(client, out, names, max_lag=max_lag))


async def run(client: Client, out: Output, names: Sequence[str], *, max_lag: int | None = None) -> int:
    """Print each of *names*; exit 1 if any lags more than *max_lag* in all."""
    views = [await look_up(client, name) for name in names]
    out.show([_document(each) for each in views], *(table for each in views for table in _tables(each)))
    behind = max_lag is not None and any(each.lag > max_lag for each in views)
    return Exit.NO if behind else Exit.OK


@final
@dataclass(frozen=True)
class Row:
    """One partition of a group: *committed* is None if it has not committed there."""

    partition: TopicPartition
    committed: int | None
    end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        """How many offsets lie ahead."""
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@final
@dataclass(frozen=True)
class GroupView:
    """A group with its rows."""

    group: GroupDescription
    rows: tuple[Row, ...]

    @property
    def lag(self) -> int:
        """Over all partitions."""
        return sum(row.lag or 0 for row in self.rows)


async def look_up(client: Client, name: str) -> GroupView:
    """Group *name*, with every partition that it has committed or that a member holds."""
    admin = GroupAdmin(client)
    group = await admin.describe(name)
    committed = await admin.offsets(name)
    holders = {partition: member for member in group.members for partition in member.partitions}
    partitions = sorted(committed.keys() | holders.keys())
    ends = await _ends(client, partitions)
    rows = [Row(each, committed.get(each), ends.get(each), holders.get(each)) for each in partitions]
    return GroupView(group, tuple(rows))


async def _ends(client: Client, partitions: list[TopicPartition]) -> dict[TopicPartition, int | None]:
    """Where those partitions end that still exist and are led."""
    known = await client.metadata(sorted({each.topic for each in partitions}))
    led = [each for each in partitions if known.leader(each) is not None]
    return await list_offsets(client, dict.fromkeys(led, LATEST)) if led else {}


def _tables(view: GroupView) -> list[Table]:
    group = view.group
    summary = Table(["", ""], title=group.id, header=False)
    where = group.coordinator
    summary.rows += [
        [Cell("state", style="dim"), state(group.state)],
        [Cell("coordinator", style="dim"), f"{where.id} ({where.host}:{where.port})"],
        [Cell("assignor", style="dim"), group.protocol or "-"],
        [Cell("members", style="dim"), len(group.members)],
        [Cell("lag", style="dim"), number(view.lag, _lag_style(view.lag))],
    ]
    offsets = Table(["topic", "partition>", "committed>", "end>", "lag>", "member", "client", "host"])
    for row in view.rows:
        member = row.member
        offsets.rows.append(
            [
                row.partition.topic,
                row.partition.partition,
                number(row.committed),
                number(row.end),
                number(row.lag, _lag_style(row.lag or 0)),
                Cell(member.id if member else None),
                Cell(member.client_id if member else None),
                Cell(member.host if member else None),
            ]
        )
    return [summary, offsets] if view.rows else [summary]


def _lag_style(lag: int) -> str:
    return "yellow" if lag else "green"


def _document(view: GroupView) -> dict[str, object]:
    group = view.group
    return {
        "group": group.id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "assignor": group.protocol,
        "coordinator": {
            "id": group.coordinator.id,
            "host": group.coordinator.host,
            "port": group.coordinator.port,
        },
        "lag": view.lag,
        "members": [
            {
                "id": each.id,
                "instance_id": each.instance_id,
                "client_id": each.client_id,
                "host": each.host,
                "partitions": [{"topic": at.topic, "partition": at.partition} for at in each.partitions],
            }
            for each in group.members
        ],
        "offsets": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "committed": row.committed,
                "end": row.end,
                "lag": row.lag,
                "member": row.member.id if row.member else None,
            }
            for row in view.rows
        ],
    }
