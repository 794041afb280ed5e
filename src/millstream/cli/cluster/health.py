"""`millstream cluster health`."""

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Output, Table, counted
from millstream.cli.session import Session, cluster_options
from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.topics import Partition


@click.command("health")
@cluster_options
def command(session: Session) -> int:
    """Exit with 1 unless every partition has a leader and all its replicas; list those that have not."""
    return session.run(run)


async def run(client: Client, out: Output) -> int:
    """Print the partitions that are unwell; exit 1 if there are any."""
    found = await Admin(client).cluster()
    table = Table(["topic", "partition>", "trouble", "leader>", "replicas", "in sync"])
    unwell = []
    for name, topic in sorted(found.topics.items()):
        for each in topic.partitions:
            trouble = _trouble(each)
            if trouble is None:
                continue
            unwell.append(
                {"topic": name, "partition": each.index, "trouble": trouble.value, "leader": each.leader}
            )
            replicas, isr = (",".join(map(str, ids)) for ids in (each.replicas, each.isr))
            table.rows.append([name, each.index, trouble, each.leader, replicas, isr or "-"])
    document = {"healthy": not unwell, "brokers": len(found.nodes), "unwell": unwell}
    if unwell or out.format == "json":
        out.show(document, table)
    else:
        count = sum(len(topic.partitions) for topic in found.topics.values())
        out.say(document, f"healthy: {counted(count, 'partition')} on {counted(len(found.nodes), 'broker')}")
    return Exit.NO if unwell else Exit.OK


def _trouble(partition: Partition) -> Cell | None:
    if partition.leader is None:
        return Cell("no leader", style="bold red")
    if len(partition.isr) < len(partition.replicas):
        return Cell("under-replicated", style="yellow")
    return None
