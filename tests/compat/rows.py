"""Lines of docs/compatibility.md that are tests of their own: platforms and tools, each doing what it is for.

A test marked `row("Kafka Streams", "platforms", "4.3.1")` is one line: its name, what came of it, and the
first line of its docstring, which says what is asked. A test that skips itself says why it cannot be asked.
"""

import functools
from datetime import UTC, datetime
from typing import Final

import pytest
from tests.compat.scenarios import Report, commit

_REPORTS: Final[dict[str, Report]] = {}


def note(item: pytest.Item, told: pytest.TestReport) -> None:
    """Keep what came of *item*, if it is a line of the table."""
    mark = item.get_closest_marker("row")
    if mark is None or (told.when != "call" and not told.failed):
        return
    assert isinstance(item, pytest.Function)
    who, kind, version = mark.args
    report = _REPORTS.setdefault(who, Report(who, "", version, _today(), _commit(), {}, kind, {}))
    name = item.name.removeprefix("test_").replace("_", "-")
    report.results[name] = _result(told)
    report.meanings[name] = (item.function.__doc__ or "").partition("\n")[0]
    report.save()


def _result(told: pytest.TestReport) -> tuple[str, str]:
    if told.skipped:
        assert isinstance(told.longrepr, tuple)
        return "not applicable", told.longrepr[2].removeprefix("Skipped: ")
    if told.failed:
        return "failed", told.longreprtext.rpartition("\nE ")[2].partition("\n")[0]
    return "passed", ""


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


@functools.cache
def _commit() -> str:
    return commit()
