"""The catalog of Iceberg tables: an SQLite file beside them, unless somebody has a better one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog import load_catalog
from sqlalchemy.exc import IntegrityError, OperationalError

from millstream.spark.words import InvalidOption

_SQL_TABLES: Final = 2  # that a catalog has, made one after the other


def open_catalog(warehouse: str | Path, properties: Mapping[str, str] | None = None) -> Any:
    """The catalog that *properties* describe, or the one in SQLite beside *warehouse*'s tables."""
    if properties is not None:
        return load_catalog("millstream", **properties)
    text = str(warehouse)
    if "://" in text and not text.startswith("file://"):
        raise InvalidOption(f"warehouse {text}: SQLite needs a folder; give the properties of a catalog")
    folder = Path(text.removeprefix("file://")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # Others may be about to write to it, each for a moment only.
    where = {"uri": f"sqlite:///{folder}/catalog.db?timeout=60", "warehouse": f"file://{folder}"}
    for _ in range(_SQL_TABLES):
        try:
            return load_catalog("millstream", type="sql", **where)
        except OperationalError:  # somebody else is making it, and was faster with one of its tables
            continue
    return load_catalog("millstream", type="sql", **where)


def make_namespace(catalog: Any, name: str) -> None:
    """See that *catalog* has the namespace *name*, whoever makes it."""
    try:
        catalog.create_namespace_if_not_exists(name)
    except IntegrityError:  # how an SQL catalog says that somebody else was faster
        if not catalog.namespace_exists(name):
            raise
