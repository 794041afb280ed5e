"""`millstream cluster info`."""

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Output, Table, number, size
from millstream.cli.session import Session, cluster_options
from millstream.client.admin import Admin
from millstream.client.admin_values import LogDir
from millstream.client.cluster import Client
from millstream.client.topics import Metadata
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused


@click.command("info")
@cluster_options
def command(session: Session) -> int:
    """The cluster's id, its brokers, and what each holds."""
    return session.run(run)


async def run(client: Client, out: Output) -> int:
    """Print the cluster, then a line a broker."""
    admin = Admin(client)
    found = await admin.cluster()
    dirs = await _dirs(admin, found)
    out.show(_document(found, dirs), *_tables(found, dirs))
    return Exit.OK


async def _dirs(admin: Admin, found: Metadata) -> dict[int, list[LogDir]]:
    """Log directories of the brokers that tell of them."""
    dirs: dict[int, list[LogDir]] = {}
    for broker in sorted(found.nodes):
        try:
            dirs[broker] = await admin.log_dirs([broker])
        except (Refused, Unreachable):
            continue
    return dirs


def _tables(found: Metadata, dirs: dict[int, list[LogDir]]) -> list[Table]:
    partitions = [each for topic in found.topics.values() for each in topic.partitions]
    summary = Table(["", ""], header=False)
    summary.rows += [
        [Cell("cluster", style="dim"), found.cluster_id],
        [Cell("brokers", style="dim"), len(found.nodes)],
        [Cell("topics", style="dim"), number(sum(not each.internal for each in found.topics.values()))],
        [Cell("partitions", style="dim"), number(len(partitions))],
    ]
    brokers = Table(["broker>", "address", "rack", "role", "leads>", "holds>", "size>", "disk free>"])
    for id, node in sorted(found.nodes.items()):
        controller = id == found.controller
        brokers.rows.append(
            [
                id,
                f"{node.host}:{node.port}",
                node.rack,
                Cell("controller" if controller else "broker", style="green" if controller else ""),
                number(sum(each.leader == id for each in partitions)),
                number(sum(id in each.replicas for each in partitions)),
                size(_held(dirs.get(id))),
                size(_free(dirs.get(id))),
            ]
        )
    return [summary, brokers]


def _document(found: Metadata, dirs: dict[int, list[LogDir]]) -> dict[str, object]:
    partitions = [each for topic in found.topics.values() for each in topic.partitions]
    return {
        "cluster_id": found.cluster_id,
        "controller": found.controller,
        "topics": sum(not each.internal for each in found.topics.values()),
        "partitions": len(partitions),
        "brokers": [
            {
                "id": id,
                "host": node.host,
                "port": node.port,
                "rack": node.rack,
                "leads": sum(each.leader == id for each in partitions),
                "holds": sum(id in each.replicas for each in partitions),
                "size_bytes": _held(dirs.get(id)),
                "disk_free_bytes": _free(dirs.get(id)),
            }
            for id, node in sorted(found.nodes.items())
        ],
    }


def _held(dirs: list[LogDir] | None) -> int | None:
    return None if dirs is None else sum(sum(each.sizes.values()) for each in dirs)


def _free(dirs: list[LogDir] | None) -> int | None:
    told = [each.usable_bytes for each in dirs or [] if each.usable_bytes is not None]
    return sum(told) if told else None
