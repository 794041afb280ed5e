"""`millstream pipeline compact`."""

from datetime import UTC, datetime, timedelta

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Table, number, size
from millstream.pipeline.commands.common import Asked, pipeline_options


@click.command("compact")
@click.option(
    "--target",
    type=click.IntRange(1),
    default=128,
    show_default=True,
    metavar="MIB",
    help="Files of about this size.",
)
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=7,
    show_default=True,
    metavar="DAYS",
    help="Forget snapshots that are older, and delete files that belong to none and are older than a day.",
)
@pipeline_options
def command(asked: Asked, target: int, keep: int) -> int:
    """Pack the small files of the tables of the pipeline of FILE, and clear away what is old.

    No row changes, the tables stay readable throughout, and the pipeline may
    be running meanwhile.
    """
    context = asked.context()
    from millstream.pipeline.upkeep import keep_in_order

    now = datetime.now(UTC)
    done = keep_in_order(
        context, target << 20, now - timedelta(days=keep), now - timedelta(days=max(keep, 1))
    )
    table = Table(
        ["table", "files before>", "after>", "size before>", "after>", "snapshots expired>", "files deleted>"]
    )
    for each in done:
        table.rows.append(
            [
                each.table,
                number(each.files_before),
                number(each.files_after),
                size(each.bytes_before),
                size(each.bytes_after),
                number(each.expired),
                number(each.deleted),
            ]
        )
    out = asked.output()
    out.show([vars(each) for each in done], table)
    return Exit.OK
