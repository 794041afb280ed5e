"""What every kind of lake table can do, and how columns of a batch must fit those of the table."""

import random
import re
import time
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any, final

import pyarrow as pa

from millstream.spark.once import Once


class Contended(RuntimeError):
    """Others kept committing to the table while we tried to."""


class Incompatible(ValueError):
    """A batch has a column that the table has as something else; the message says which."""


@final
@dataclass(frozen=True)
class Compacted:
    """What a compaction has done: *before* files became *after*, their sizes in bytes beside them."""

    before: int = 0
    before_bytes: int = 0
    after: int = 0
    after_bytes: int = 0


class LakeTable(ABC):
    """One table, to which batches are committed once, and which is kept in order.

    Everything here looks at the table as it is now and leaves it readable
    throughout. A batch goes in by steps: `prepare`, then `holds`, then
    Parquet files written to `folder` as `partitioned` says, then `append` or
    `upsert`, which take over the files. Only the last of them changes rows,
    and it is all or nothing.
    """

    @abstractmethod
    def prepare(self, schema: pa.Schema) -> None:
        """See to it that the table is there, with at least the columns of *schema*; Incompatible if not."""

    @abstractmethod
    def schema(self) -> pa.Schema | None:
        """The table's columns; None if there is no such table."""

    @abstractmethod
    def holds(self, once: Once) -> bool:
        """Whether the batch has been committed."""

    @abstractmethod
    def folder(self, once: Once) -> str:
        """The URL of a new folder for the files of the batch."""

    @abstractmethod
    def partitioned(self, frame: Any) -> tuple[Any, list[str]]:
        """A Spark frame ready to be written to files, and the columns that make folders of it."""

    @abstractmethod
    def append(self, folder: str, once: Once) -> bool:
        """Make the rows in *folder* part of the table as the batch *once*; False if they already are."""

    @abstractmethod
    def upsert(self, folder: str, key: tuple[str, ...], once: Once, sequence_by: str | None = None) -> bool:
        """Likewise, and rows of the table that have the same *key* as one of them are gone.

        If there is a column *sequence_by*, a row of the table that is greater
        in it stays, and the one in *folder* is left out; none is less than any.
        No two rows in *folder* have the same key.
        """

    @abstractmethod
    def compact(self, target_bytes: int) -> Compacted:
        """Make files of about *target_bytes* of smaller ones, within each partition. No row changes.

        Batches that are committed at the same time go on; what they replace meanwhile is left alone.
        """

    @abstractmethod
    def expire(self, before: datetime) -> int:
        """Forget how the table was before *before*, except for how it is now; how many snapshots that were.

        The files that only they had are then nobody's: see `sweep`.
        """

    @abstractmethod
    def sweep(self, before: datetime) -> list[str]:
        """Delete files of the table's folder that no snapshot has; what was deleted.

        Files written since *before* stay, for they may be of a batch that is
        being written: choose a time longer ago than any batch takes.
        """


def folder_name(once: Once) -> str:
    """A name that no other folder has, in which people find pipeline and batch again."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', once.pipeline)}-{once.batch_id}-{uuid.uuid4().hex}"


def pause(number: int) -> None:
    """Let others commit before trying for the *number*th time, each for another while."""
    time.sleep(random.random() * min(0.2, 0.01 * 2**number))


def check_fits(name: str, given: pa.Schema, wanted: pa.Schema) -> None:
    """Incompatible for the first column of *given* that does not go into the one of that name in *wanted*."""
    for field in given:
        index = wanted.get_field_index(field.name)
        if index >= 0 and not _fits(field.type, wanted.field(index).type):
            raise Incompatible(
                f"table {name}: column {field.name} is {wanted.field(index).type}, the batch has {field.type}"
            )


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of the one type is a value of the other, and neither Spark nor a reader minds."""
    if _plain(given) == _plain(wanted):
        return True
    if pa.types.is_integer(given) and pa.types.is_integer(wanted):
        return bool(given.bit_width <= wanted.bit_width)
    if pa.types.is_floating(given) and pa.types.is_floating(wanted):
        return bool(given.bit_width <= wanted.bit_width)
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        return len(given) == len(wanted) and all(
            ours.name == theirs.name and _fits(ours.type, theirs.type)
            for ours, theirs in zip(given, wanted, strict=True)
        )
    if _is_list(given) and _is_list(wanted):
        return _fits(given.value_type, wanted.value_type)
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return _fits(given.key_type, wanted.key_type) and _fits(given.item_type, wanted.item_type)
    return False


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Text is text, however long its offsets are; a time with a zone is a moment, whichever zone."""
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return kind
