"""Pipelines: topics and tables made into other topics and tables by Spark, declared in Python or YAML.

    from millstream.pipeline import Pipeline, table, topic

    orders = Pipeline("orders")

    @orders.flow(source=topic("orders", json="id string, amount double"), into=table("lake.orders"))
    def clean(orders):
        return orders.where("amount > 0")

This room stands on top of the others: it may use the Spark room and the command
line, and nothing uses it. Spark is imported when a pipeline runs, not before.
"""

from millstream.pipeline.definition import InvalidPipeline, Pipeline, Table, Topic, table, topic

__all__ = ["InvalidPipeline", "Pipeline", "Table", "Topic", "table", "topic"]
