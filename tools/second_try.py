"""What failed in tests of programs that are not ours, once more: python -m tools.second_try, after tests.

Clients, JVMs and frameworks have moods of their own, and one that fails once in a few hundred runs is named
here rather than taken for ours. A test of our own code that fails is broken, and gets no second try; so is a
foreign one that fails twice.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
_FOREIGN: Final = ("tests/compat/", "tests/spark/")
_OURS: Final = "tests/compat/protocol/"  # bytes of our own, and no client
_MOST_FILES: Final = 2  # more bad moods than that at once are none


def foreign(test: str) -> bool:
    return test.startswith(_FOREIGN) and not test.startswith(_OURS)


def main() -> int:
    failed = sorted(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    files = {test.partition("::")[0] for test in failed}
    if not failed or len(files) > _MOST_FILES or not all(map(foreign, failed)):
        return 1
    print("SECOND TRY of tests with programs that are not ours; look into each of them:", *failed, sep="\n  ")
    return subprocess.run([sys.executable, "-m", "pytest", *failed]).returncode


if __name__ == "__main__":
    sys.exit(main())
