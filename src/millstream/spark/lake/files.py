"""Files in folders, by URL, wherever pyarrow can reach."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.fs
import pyarrow.parquet


def as_url(place: str | Path) -> str:
    """A folder or a URL, as a URL. Nothing is quoted: Spark and pyiceberg take a path as it stands."""
    text = str(place)
    return text if "://" in text else f"file://{Path(text).absolute()}"


def reach(url: str) -> tuple[Any, str]:
    """The file system that *url* is in, and the path there."""
    if url.startswith(("file://", "/")):
        return pyarrow.fs.LocalFileSystem(), url.removeprefix("file://")
    system, path = pyarrow.fs.FileSystem.from_uri(url)
    return system, path


def parquet_files(folder: str) -> list[tuple[str, int, Any]]:
    """The Parquet files under *folder* that have rows: path below it, size, and Parquet's metadata."""
    system, root = reach(folder)
    found = []
    for each in system.get_file_info(pyarrow.fs.FileSelector(root, recursive=True)):
        if each.base_name.endswith(".parquet"):
            with system.open_input_file(each.path) as file:
                metadata = pyarrow.parquet.read_metadata(file)
            if metadata.num_rows:
                found.append((each.path[len(root.rstrip("/")) + 1 :], int(each.size), metadata))
    return sorted(found, key=lambda one: one[0])


def files_before(folder: str, time: datetime) -> list[str]:
    """The URLs of all files under *folder* that were last written before *time*."""
    system, root = reach(folder)
    some = system.get_file_info(pyarrow.fs.FileSelector(root, recursive=True, allow_not_found=True))
    base = root.rstrip("/")
    return [
        f"{folder.rstrip('/')}/{each.path[len(base) + 1 :]}"
        for each in some
        if each.is_file and each.mtime < time
    ]


def delete_files(urls: Iterable[str]) -> None:
    """Delete each; what is not there any more is well gone."""
    for url in urls:
        system, path = reach(url)
        try:
            system.delete_file(path)
        except FileNotFoundError:
            continue


def delete_folder(url: str) -> None:
    system, path = reach(url)
    system.delete_dir(path)


def empty_folders(folder: str, before: datetime) -> None:
    """Take away folders below *folder* in which nothing is left since *before*."""
    system, root = reach(folder)
    some = system.get_file_info(pyarrow.fs.FileSelector(root, recursive=True, allow_not_found=True))
    for each in sorted((info for info in some if not info.is_file), key=lambda info: -len(info.path)):
        left = system.get_file_info(pyarrow.fs.FileSelector(each.path, allow_not_found=True))
        if not left and each.mtime is not None and each.mtime < before:
            system.delete_dir(each.path)
