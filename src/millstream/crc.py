"""CRC-32C, by the processor's own instruction where it has one."""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final


def _load() -> Callable[[Any], int]:
    """The library's function itself.

    The package around it also has a command line, and asks for its own version: argparse, email and
    zipfile, which took a fifteenth of the time that a node takes to start.
    """
    package = find_spec("crc32c")
    found = package and PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if not found or found.loader is None:  # a release that is laid out in another way
        module = import_module("crc32c")
    else:
        module = module_from_spec(found)
        found.loader.exec_module(module)
    return module.crc32c  # type: ignore[no-any-return]  # it has no types


crc32c: Final = _load()
assert crc32c(b"123456789") == 0xE3069283  # the check value every description of CRC-32C gives
