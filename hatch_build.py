"""Builds the native part of the package, where that can be done; without it everything runs as plain Python.

`MILLSTREAM_NATIVE` says what to do: `auto` (the default) builds it if there is
a compiler, `require` fails without one, `skip` makes a pure wheel.
"""

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = (
    "millstream.records._native",
    "millstream.gateways.http._native",
    *(["millstream.gateways.kafka._native"] if sys.platform == "linux" else []),  # epoll
)
OLDEST_PYTHON = (3, 11)  # whose stable ABI is used, so one wheel serves this and every later one


class NativeHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wish = os.environ.get("MILLSTREAM_NATIVE", "auto")
        if wish not in ("auto", "require", "skip"):
            raise ValueError(f"MILLSTREAM_NATIVE is {wish!r}; it may be auto, require or skip")
        if self.target_name != "wheel" or wish == "skip":
            return
        try:
            built = _build(Path(self.root))
        except (Exception, SystemExit) as problem:
            if wish == "require":
                raise
            self.app.display_warning(f"the native part was not built, plain Python will do: {problem}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["artifacts"] += map(str, built)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{OLDEST_PYTHON[0]}{OLDEST_PYTHON[1]}-abi3-{platform}"


def _build(root: Path) -> list[Path]:
    """Compile into the source tree, where an editable install finds it; the files, below *root*."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    extensions = [
        Extension(
            module,
            [f"src/{module.replace('.', '/')}.c"],
            py_limited_api=True,
            define_macros=[("Py_LIMITED_API", f"0x{OLDEST_PYTHON[0]:02X}{OLDEST_PYTHON[1]:02X}0000")],
            extra_compile_args=[]
            if sys.platform == "win32"
            else ["-O3", "-std=c11", "-Werror=implicit-function-declaration"],
        )
        for module in MODULES
    ]
    before = Path.cwd()
    os.chdir(root)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            command = build_ext(Distribution({"ext_modules": extensions, "package_dir": {"": "src"}}))
            command.inplace = True
            command.force = True  # what lies there may be of another machine
            command.build_temp = temporary
            command.ensure_finalized()
            command.run()
        return [Path(command.get_ext_fullpath(module)).relative_to(root) for module in MODULES]
    finally:
        os.chdir(before)
