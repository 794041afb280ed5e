from millstream.spark.source import MillstreamSource as DefaultSource  # noqa: F401  Spark looks for this name
