"""What Debian packages: servers to measure, and a client's library."""

import os
import shutil
import subprocess
from pathlib import Path

from bench.native import Missing


def program(name: str, package: str) -> str:
    """The program *name*, installed from *package* if need be and if we may."""
    found = _which(name)
    if found is None:
        install(package)
        found = _which(name)
    if found is None:
        raise Missing(f"{package} has no {name}")
    return found


def header(path: str, package: str) -> None:
    """See that the C header *path* is there."""
    if not (Path("/usr/include") / path).exists():
        install(package)


def install(package: str) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Missing(f"it is not installed (Debian: apt-get install {package})")
    # A run level of 1 keeps the package from starting a service of its own.
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise Missing(f"{package} could not be installed: {done.stderr[-300:]}")


def _which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
