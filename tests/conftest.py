"""What holds for all tests."""

import importlib
import os
import shutil
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

_IN_MEMORY: Final = Path("/dev/shm")
_ENOUGH_BYTES: Final = 6 << 30
# What a node imports when it is needed. pytest parses what is imported, and Python before 3.11.8 and 3.12.2
# cannot (SystemError) if the collector finds a forgotten future meanwhile: its traceback is parsed as well.
_IMPORTED_LATE: Final = (
    "millstream.broker.group_keeper",
    "millstream.gateways.http.node",
    "millstream.gateways.http.admin_app",
    "millstream.gateways.http.queue_app",
    "millstream.gateways.http.websocket",
    "millstream.gateways.jsonl.connection",
    "millstream.gateways.kafka.faults",
    "millstream.gateways.text.connection",
)
_LONGEST_FIRST: Final = ("spark", "system", "compat", "slow")

# The machine is shared, and speed is measured in bench/: a slow moment must not fail a property.
settings.register_profile("millstream", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("millstream")


def pytest_sessionstart() -> None:
    for name in _IMPORTED_LATE:
        importlib.import_module(name)


def pytest_configure() -> None:
    """Where there is room, what tests write is kept in memory: a disk's slow moment must fail none of them.

    Those that are about disks make file systems of their own.
    """
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ENOUGH_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


@pytest.hookimpl(trylast=True)  # when every folder has marked its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest go first, so that no worker is left with one when the others are done."""
    ranks: dict[Path, int] = {}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        rank = next((n for n, name in enumerate(_LONGEST_FIRST) if name in marks), len(_LONGEST_FIRST))
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])
