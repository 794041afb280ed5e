"""What is said where Spark cannot run."""

from pathlib import Path

import pytest

from millstream.pipeline.session import NoSpark, check_spark, parse_version


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_292"', 8),
        ("no version at all", None),
        ('openjdk version "new"', None),
    ],
)
def test_versions_of_java(said: str, version: int | None) -> None:
    assert parse_version(said) == version


def test_a_missing_java_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(NoSpark, match="Java 17 or newer, and there is none on the PATH"):
        check_spark()


def test_a_java_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(NoSpark, match="is Java 11"):
        check_spark()
