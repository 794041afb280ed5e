"""Python workers that start in a third of the time.

Spark puts its own sources, zipped, before everything else on a worker's path, and
Python compiles what it imports from a zip anew in every process. Where pyspark is
installed, as it is for whoever has it from PyPI, the zips are not needed. Spark
gives a worker ten seconds to start, so on a busy machine this is more than comfort.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import Final

_SCRIPT: Final = """\
#!/bin/sh
IFS=:
kept=
for each in $PYTHONPATH; do
  case $each in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) kept="${{kept:+$kept:}}$each" ;;
  esac
done
PYTHONPATH=$kept exec {python} "$@"
"""


def worker_python(folder: Path) -> str:
    """What to set PYSPARK_PYTHON to where workers run on this machine: a script that is put into *folder*."""
    if os.name != "posix":
        return sys.executable
    script = folder / "python"
    script.write_text(_SCRIPT.format(python=shlex.quote(sys.executable)))
    script.chmod(0o755)
    return str(script)
