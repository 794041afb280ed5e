"""The load generator and the floor: C, compiled when first needed and kept in the user's cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

_SOURCES: Final = Path(__file__).parent / "native"
_PARTS: Final = {
    "load": ("load.c", "kafka.c", "redis.c", "nats.c", "rabbitmq.c", "group.c", "doors.c"),
    "floor": ("floor.c",),
    "rdkafka": ("rdkafka.c",),
}
_LIBRARIES: Final = {"rdkafka": ("-lrdkafka",)}  # Debian: librdkafka-dev


class Missing(Exception):
    """Something a peer or a workload needs is not to be had here; the message says what would help."""


def cache() -> Path:
    """Where things that are fetched or made once are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "millstream-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def built(program: str) -> Path:
    """The executable *program*, compiled anew whenever its source has changed."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Missing("no C compiler (Debian: gcc)")
    sources = [_SOURCES / name for name in _PARTS[program]]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, _SOURCES / "load.h"]))
    made = cache() / f"{program}-{digest.hexdigest()[:16]}"
    if not made.exists():
        temporary = made.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", str(temporary)]
        command += [*map(str, sources), *_LIBRARIES.get(program, ())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{program} does not compile: {done.stderr[-500:]}")
        temporary.rename(made)
    return made
