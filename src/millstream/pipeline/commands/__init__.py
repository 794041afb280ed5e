"""`millstream pipeline`."""

import click

from millstream.cli.lazy import LazyGroup

_HERE = "millstream.pipeline.commands"


@click.group(
    "pipeline",
    cls=LazyGroup,
    lazy={
        "new": (f"{_HERE}.new:command", "Write a pipeline to begin with, in Python or YAML."),
        "run": (f"{_HERE}.run:command", "Run a pipeline, for ever or once through what there is."),
        "status": (f"{_HERE}.status:command", "How far each flow is, its lag and its bad records."),
        "replay": (f"{_HERE}.replay:command", "Put bad records through again, after a fix."),
        "backfill": (f"{_HERE}.backfill:command", "Put through what was there before the pipeline began."),
        "compact": (f"{_HERE}.compact:command", "Pack small files of its tables, and clear away old ones."),
        "demo": (f"{_HERE}.demo:command", "Orders, a broker, Spark, a table and a chart, in one go."),
    },
)
def group() -> None:
    """Topics and tables made into other topics and tables, by Spark.

    FILE is the definition of a pipeline, in Python or YAML: see 'pipeline new'.
    """
