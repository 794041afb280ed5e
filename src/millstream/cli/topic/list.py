"""`millstream topic list`."""

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Output, Table
from millstream.cli.session import Session, cluster_options
from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.topics import Topic


@click.command("list")
@click.option("--internal", is_flag=True, help="Also those that the cluster keeps for itself.")
@cluster_options
def command(session: Session, internal: bool) -> int:
    """All topics, with their partitions, replicas and health."""
    return session.run(lambda client, out: run(client, out, internal=internal))


async def run(client: Client, out: Output, *, internal: bool = False) -> int:
    """Print a line a topic."""
    found = await Admin(client).cluster()
    topics = [each for _, each in sorted(found.topics.items()) if internal or not each.internal]
    table = Table(["topic", "partitions>", "replicas>", "health"])
    for topic in topics:
        table.rows.append([topic.name, len(topic.partitions), replicas(topic), health(topic)])
    out.show([_document(topic) for topic in topics], table)
    if not topics:
        out.note("No topics yet: 'millstream topic create NAME' makes one.")
    return Exit.OK


def replicas(topic: Topic) -> int:
    """How many copies of a partition there are."""
    return max((len(each.replicas) for each in topic.partitions), default=0)


def health(topic: Topic) -> Cell:
    """Whether all partitions are led and fully replicated."""
    leaderless = sum(each.leader is None for each in topic.partitions)
    behind = sum(len(each.isr) < len(each.replicas) for each in topic.partitions)
    if leaderless:
        return Cell(f"{leaderless} without leader", style="bold red")
    if behind:
        return Cell(f"{behind} under-replicated", style="yellow")
    return Cell("ok", style="green")


def _document(topic: Topic) -> dict[str, object]:
    return {
        "name": topic.name,
        "id": topic.uuid,
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replication_factor": replicas(topic),
        "leaderless": sum(each.leader is None for each in topic.partitions),
        "under_replicated": sum(len(each.isr) < len(each.replicas) for each in topic.partitions),
    }
