"""What the system holds of a server's files."""

import os
from pathlib import Path


def write_out(folder: Path, *, forget: bool = False) -> None:
    """Have all files below *folder* on the disk and, to *forget* them, no longer in the page cache."""
    for path in (Path(top) / name for top, _, names in os.walk(folder) for name in names):
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # a server removes its files when it likes
        try:
            os.fsync(file)
            if forget:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
