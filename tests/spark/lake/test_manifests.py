"""Manifests of an Iceberg table, of which pyiceberg looks at several at once."""

import time
from pathlib import Path
from typing import Any

import pytest

visitors = pytest.importorskip(
    "pyiceberg.expressions.visitors", reason='pyiceberg is not installed: pip install "millstream[spark]"'
)

from tests.spark.lake.support import batch, files, numbers, prepared, rows  # noqa: E402 - needs pyiceberg

TARGET = 32 << 10


def test_manifests_are_told_apart_however_many_are_looked_at_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyiceberg looks at them in threads, with one evaluator that remembers which."""
    table = prepared("iceberg", tmp_path, partition_by=("word",))
    for n, word in enumerate(["one", "two", "other", "two", "another", "last"]):
        table.append(files(table, batch(n), numbers([n], word)), batch(n))

    def slow(self: Any, manifest: Any) -> bool:
        self.partition_fields = manifest.partitions  # as pyiceberg's own, but for
        time.sleep(0.01)
        return bool(visitors.visit(self.partition_filter, self))

    monkeypatch.setattr(visitors._ManifestEvalVisitor, "eval", slow)
    assert table.compact(TARGET).after == 1
    table.upsert(files(table, batch(6), numbers([0], "one")), ("n",), batch(6))
    assert [row["n"] for row in rows("iceberg", tmp_path)] == list(range(6))
