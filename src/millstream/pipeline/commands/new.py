"""`millstream pipeline new`."""

from pathlib import Path
from typing import Final

import click

from millstream.cli.exits import Exit, Failure

_PYTHON: Final = '''\
"""Orders, cleaned into a table, and their totals by the minute into a topic."""

from pyspark.sql import functions as F

from millstream.pipeline import Pipeline, table, topic

{name} = Pipeline("{pipeline}", warehouse="warehouse")


@{name}.flow(
    source=topic("orders", json="id string not null, amount double, ts timestamp"),
    into=table("lake.orders"),
    expect={{"amount > 0": "drop"}},
)
def clean(orders):
    return orders


@{name}.flow(source=table("lake.orders", watermark="ts 1 minute"), into=topic("order-totals", key="minute"))
def totals(orders):
    minutes = orders.groupBy(F.window("ts", "1 minute")).agg(F.sum("amount").alias("total"))
    return minutes.select(F.col("window.start").alias("minute"), "total")
'''

_YAML: Final = """\
# Orders, cleaned into a table, and their totals by the minute into a topic.
pipeline: {pipeline}
warehouse: warehouse

flows:
  clean:
    from:
      topic: orders
      json: id string not null, amount double, ts timestamp
    expect:
      - check: amount > 0
        else: drop
    into:
      table: lake.orders

  totals:
    from:
      table: lake.orders
      watermark: ts 1 minute
    sql: |
      SELECT window.start AS minute, sum(amount) AS total
      FROM orders
      GROUP BY window(ts, '1 minute')
    into:
      topic: order-totals
      key: minute
"""


@click.command("new")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Write a pipeline to begin with into FILE, which ends in .py or .yaml."""
    if file.suffix not in (".py", ".yaml", ".yml"):
        raise Failure(f"{file}: a pipeline is defined in a .py or a .yaml file", Exit.USAGE)
    if file.exists():
        raise Failure(f"{file} is there already; name another")
    pipeline = "".join(each if each.isalnum() or each in "-_" else "-" for each in file.stem) or "orders"
    name = pipeline.replace("-", "_")
    text = _PYTHON if file.suffix == ".py" else _YAML
    file.write_text(text.format(pipeline=pipeline, name=name if name.isidentifier() else "pipeline"))
    click.echo(f"{file} is written. Look at it, then: millstream pipeline run {file} --once")
    return Exit.OK
