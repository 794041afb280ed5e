"""Which lake table, and how rows go into it. Values; nothing is opened here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, final

from millstream.spark.lake.partitions import PartitionBy, parse_partition
from millstream.spark.words import InvalidOption, one_of

Kind = Literal["iceberg", "delta"]
Mode = Literal["append", "upsert"]

KINDS: Final[tuple[Kind, ...]] = ("iceberg", "delta")
MODES: Final[tuple[Mode, ...]] = ("append", "upsert")
_NAME: Final = re.compile(r"\w+(\.\w+)+")


@final
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """A table, `namespace.name`, in *warehouse*: a folder, or a URL that pyarrow knows.

    Mode `append` adds rows; `upsert` lets a row take the place of the one that
    has the same *key* (of several in one batch the last stays), unless that is
    greater in the column *sequence_by*, if one is given. A table that
    is made is partitioned by *partition_by*: columns, or `year(ts)`,
    `month(ts)`, `day(ts)`, `hour(ts)`, all in UTC; one that is there stays
    as it is. *catalog* gives pyiceberg's properties of a catalog other than
    the SQLite file in the warehouse; a Delta table needs none.
    """

    name: str
    warehouse: str | Path
    kind: Kind = "iceberg"
    mode: Mode = "append"
    key: tuple[str, ...] = ()
    sequence_by: str | None = None
    partition_by: tuple[str, ...] = ()
    catalog: Mapping[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidOption(f"table {self.name!r}: write namespace.name, such as lake.orders")
        one_of(f"table {self.name}: kind", self.kind, KINDS)
        one_of(f"table {self.name}: mode", self.mode, MODES)
        if self.mode == "upsert" and not self.key:
            raise InvalidOption(
                f"table {self.name}: mode upsert needs a key: the columns that tell rows apart"
            )
        if self.mode == "append" and self.key:
            raise InvalidOption(f"table {self.name}: key is for mode upsert")
        if self.mode == "append" and self.sequence_by is not None:
            raise InvalidOption(f"table {self.name}: sequence_by is for mode upsert")
        if self.catalog is not None and self.kind == "delta":
            raise InvalidOption(f"table {self.name}: a Delta table has no catalog; it lies in the warehouse")
        self.partitions()

    def partitions(self) -> tuple[PartitionBy, ...]:
        return tuple(parse_partition(text) for text in self.partition_by)
