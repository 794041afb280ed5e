"""The tables of a pipeline kept in order."""

from dataclasses import dataclass
from datetime import datetime
from typing import final

from millstream.pipeline.context import Context
from millstream.pipeline.definition import Table, table
from millstream.pipeline.tables import table_options
from millstream.spark.lake import open_table


@final
@dataclass(frozen=True)
class Kept:
    """What was done to one table."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    expired: int
    deleted: int


def keep_in_order(context: Context, target_bytes: int, expire: datetime, sweep: datetime) -> list[Kept]:
    """Pack the files of every table that the pipeline writes, and clear away what is older than that."""
    flows = context.pipeline.flows.values()
    written = {each.into.name: each.into for each in flows if isinstance(each.into, Table)}
    bad = {each.bad_records: table(each.bad_records) for each in flows}
    # Bad records wait for a replay as long as it takes, so their snapshots stay.
    return [
        *(
            _kept(context, each, target_bytes, expire, sweep)
            for each in written.values()
            if _there(context, each)
        ),
        *(_kept(context, each, target_bytes, None, sweep) for each in bad.values() if _there(context, each)),
    ]


def _there(context: Context, one: Table) -> bool:
    return open_table(table_options(context, one)).schema() is not None


def _kept(context: Context, one: Table, target_bytes: int, expire: datetime | None, sweep: datetime) -> Kept:
    lake = open_table(table_options(context, one))
    packed = lake.compact(target_bytes)
    expired = 0 if expire is None else lake.expire(expire)
    deleted = lake.sweep(sweep)
    return Kept(
        one.name, packed.before, packed.after, packed.before_bytes, packed.after_bytes, expired, len(deleted)
    )
