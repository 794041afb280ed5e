"""The data pipeline on PySpark: topics as sources and sinks of Spark, with no jars.

This room stands outside the others: it uses the client, the records and the
wire, and nothing else may import it, or pyspark.
"""
