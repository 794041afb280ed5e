"""The script that starts Python workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.spark.workers import worker_python


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_sparks_zips_are_taken_off_the_path_and_nothing_else(tmp_path: Path) -> None:
    path = "/s/python/lib/pyspark.zip:/keep this:/s/python/lib/py4j-0.10.9.9-src.zip:/and-that"
    script = "import os, sys; print(sys.executable, os.environ['PYTHONPATH'], sys.argv[1:])"

    said = subprocess.run(
        [worker_python(tmp_path), "-c", script, "a b"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout == f"{sys.executable} /keep this:/and-that ['a b']\n"
