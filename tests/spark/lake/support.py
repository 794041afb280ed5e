"""Tables of each kind without Spark: the files of a batch are written here, as Spark would."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.spark.lake import LakeTable, TableOptions, open_table
from millstream.spark.once import Once

KINDS = ("iceberg", "delta")
SCHEMA = pa.schema([("n", pa.int64()), ("word", pa.string())])


def options(kind: Any, folder: Path, **others: Any) -> TableOptions:
    return TableOptions(name="lake.orders", warehouse=folder / "warehouse", kind=kind, **others)


def prepared(kind: Any, folder: Path, schema: pa.Schema = SCHEMA, **others: Any) -> LakeTable:
    table = open_table(options(kind, folder, **others))
    table.prepare(schema)
    return table


def batch(number: int, query: str = "q") -> Once:
    return Once("orders", query, number)


def files(table: LakeTable, once: Once, *parts: Any) -> str:
    """A folder with a file for each of *parts*, tables or lists of numbers."""
    url = table.folder(once)
    path = Path(url.removeprefix("file://"))
    path.mkdir(parents=True)
    for number, part in enumerate(parts):
        rows = part if isinstance(part, pa.Table) else numbers(part)
        pq.write_table(rows, path / f"part-{number}.parquet")
    return url


def numbers(some: Iterable[int], word: str = "w") -> pa.Table:
    column = pa.array(some, pa.int64())
    return pa.table({"n": column, "word": [word] * len(column)}, schema=SCHEMA)


def rows(kind: str, folder: Path) -> list[dict[str, Any]]:
    """All rows of the table, as any reader of its kind finds them."""
    found: list[dict[str, Any]] = read(kind, folder).to_pylist()
    return sorted(found, key=lambda row: (row["n"] is None, row["n"]))


def read(kind: str, folder: Path) -> pa.Table:
    if kind == "delta":
        from deltalake import DeltaTable

        return DeltaTable(folder / "warehouse/lake/orders").to_pyarrow_table()
    from millstream.spark.lake import open_catalog

    return open_catalog(folder / "warehouse").load_table("lake.orders").scan().to_arrow()


def sizes(kind: str, folder: Path) -> list[int]:
    """How large the files are that the table is made of now."""
    if kind == "delta":
        from deltalake import DeltaTable

        table = DeltaTable(folder / "warehouse/lake/orders")
        return [int(size) for size in pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()]
    from millstream.spark.lake import open_catalog

    loaded = open_catalog(folder / "warehouse").load_table("lake.orders")
    return [task.file.file_size_in_bytes for task in loaded.scan().plan_files()]
