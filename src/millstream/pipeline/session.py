"""A Spark to run on, and a clear word where there can be none."""

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from millstream.spark.workers import worker_python

_JAVA: Final = 17
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what goes wrong is raised, and said once
    # State that does not fit into the heap is no reason to stop.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


class NoSpark(RuntimeError):
    """Something that Spark needs is not here; the message says what to install."""


def check_spark() -> None:
    """NoSpark if pyspark or a new enough Java is missing."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise NoSpark('pipelines need Spark: pip install "millstream[spark]"') from None
    java = _java()
    if java is None:
        raise NoSpark(
            f"Spark needs Java {_JAVA} or newer, and there is none on the PATH or in JAVA_HOME; "
            "install one (Debian: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
        )
    version = java_version(java)
    if version is not None and version < _JAVA:
        raise NoSpark(
            f"Spark needs Java {_JAVA} or newer; {java} is Java {version}. Set JAVA_HOME to another"
        )


def open_session(name: str, master: str, settings: Mapping[str, str]) -> Any:
    """A Spark session for pipeline *name*, on *master*."""
    if master.startswith("sc://"):
        raise NoSpark(
            "a pipeline is its own driver, so it cannot run by Spark Connect: name the master itself"
        )
    check_spark()
    from pyspark.sql import SparkSession

    local = master.startswith("local")
    os.environ.setdefault("PYSPARK_PYTHON", _local_python() if local else sys.executable)
    builder = SparkSession.builder.appName(f"millstream pipeline {name}").master(master)
    wanted = dict(_DEFAULTS)
    if local:
        wanted["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2.properties'}"
    options = f"{quiet} {settings.get(_JAVA_OPTIONS, '')}".strip()
    for key, value in {**wanted, **settings, _JAVA_OPTIONS: options}.items():
        builder = builder.config(key, value)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it would say is raised as well
    return builder.getOrCreate()


def _local_python() -> str:
    folder = Path(tempfile.mkdtemp(prefix="millstream-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return worker_python(folder)


def java_version(java: str) -> int | None:
    """The main number of the version of *java*, or None if it does not tell."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(said)


def parse_version(said: str) -> int | None:
    """`openjdk version "17.0.15"` is 17; `java version "1.8.0_292"` is 8."""
    _, quote, rest = said.partition('"')
    numbers = rest.partition('"')[0].replace("-", ".").replace("_", ".").split(".")
    if not quote or not numbers[0].isdecimal():
        return None
    first = int(numbers[0])
    return int(numbers[1]) if first == 1 and len(numbers) > 1 and numbers[1].isdecimal() else first


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    within = None if home is None else shutil.which(os.path.join(home, "bin", "java"))
    return within or shutil.which("java")
