"""The catalog of Iceberg tables: an SQLite file beside them, unless somebody has a better one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyiceberg.catalog import load_catalog
from sqlalchemy.exc import OperationalError

from millstream.spark.words import InvalidOption


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
    try:
        return load_catalog("millstream", type="sql", **where)
    except OperationalError:  # somebody else was making it at the same time
        return load_catalog("millstream", type="sql", **where)
