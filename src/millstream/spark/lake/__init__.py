"""Lake tables, written once and kept in order: Iceberg and Delta, with no server and no jar.

- `table_once(pipeline, options)`: what to hand to `foreachBatch`.
- `open_table(options)`: one table, for its upkeep: `compact`, `expire`, `sweep`; and `schema`.
- `TableOptions`: which table, of which kind, and how rows go into it.
"""

from millstream.spark.lake.catalog import open_catalog
from millstream.spark.lake.options import TableOptions
from millstream.spark.lake.sink import arrow_schema, open_table, table_once
from millstream.spark.lake.table import Compacted, Contended, Incompatible, LakeTable

__all__ = [
    "Compacted",
    "Contended",
    "Incompatible",
    "LakeTable",
    "TableOptions",
    "arrow_schema",
    "open_catalog",
    "open_table",
    "table_once",
]
