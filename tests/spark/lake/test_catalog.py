"""The catalog of Iceberg tables, made by several at the same time."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason='pyiceberg is not installed: pip install "millstream[spark]"')

from pyiceberg.catalog import load_catalog
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError, OperationalError

from millstream.spark.lake import catalog as module
from millstream.spark.lake import open_catalog
from millstream.spark.lake.catalog import make_namespace


def test_a_namespace_that_somebody_else_makes_meanwhile_is_there(tmp_path: Path) -> None:
    ours, theirs = open_catalog(tmp_path), open_catalog(tmp_path)
    exists = ours.namespace_exists

    def looked_too_early(name: str) -> bool:
        ours.namespace_exists = exists
        theirs.create_namespace(name)
        return False

    ours.namespace_exists = looked_too_early
    make_namespace(ours, "lake")
    assert ours.list_namespaces() == [("lake",)]


def test_a_namespace_that_cannot_be_made_is_no_secret(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path)
    with catalog.engine.begin() as connection:
        refuse = "BEGIN SELECT RAISE(ABORT, 'not here'); END"
        connection.execute(text(f"CREATE TRIGGER no BEFORE INSERT ON iceberg_namespace_properties {refuse}"))
    with pytest.raises(IntegrityError, match="not here"):
        make_namespace(catalog, "lake")


@pytest.mark.parametrize("races", [1, 2])
def test_a_catalog_that_others_make_meanwhile_is_opened(
    races: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its tables may be made by somebody else between our look and our making it."""
    left = iter(range(races))

    def racing(name: str, **properties: str) -> Any:
        if next(left, None) is not None:
            with create_engine(properties["uri"]).begin() as connection:
                connection.execute(text("CREATE TABLE IF NOT EXISTS made (by_others INT)"))
                connection.execute(text("CREATE TABLE made (by_us INT)"))  # OperationalError, as it would be
        return load_catalog(name, **properties)

    monkeypatch.setattr(module, "load_catalog", racing)
    assert open_catalog(tmp_path).list_namespaces() == []


def test_a_catalog_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").mkdir()
    with pytest.raises(OperationalError, match="unable to open database file"):
        open_catalog(tmp_path)
