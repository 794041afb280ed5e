"""Sessions in the pages about the doors go as they are written there: a `sh` block gives the next block."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.server import Server

pytestmark = pytest.mark.system

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"json-lines.md": ("JSON lines", 4040), "text-protocol.md": ("text", 9000)}
BLOCK = re.compile(r"^```sh\n(.*?)^```\n+^```(?:json|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

NC = f"""#!{sys.executable}
import socket, sys, threading
arguments = [each for each in sys.argv[1:] if not each.startswith("-")]
there = socket.create_connection((arguments[0], int(arguments[1])))
def hear():
    while data := there.recv(65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
hearing = threading.Thread(target=hear)
hearing.start()
for line in sys.stdin.buffer:
    there.sendall(line)
there.shutdown(socket.SHUT_WR)
hearing.join()
"""


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """A directory with `nc`, which not every machine has, and with `millstream`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("nc", NC), ("millstream", f'#!/bin/sh\nexec {sys.executable} -m millstream "$@"\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_sessions_go_as_they_are_written(page: str, tmp_path: Path, bin: Path) -> None:
    door, port = PAGES[page]
    with Server(tmp_path / "data", {"log.dir.ballast.bytes": 0}) as server:
        env = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"}
        env["MILLSTREAM_TINYMQ"] = f"127.0.0.1:{server.ports['JSON lines']}"
        sessions = BLOCK.findall((DOCS / page).read_text())
        assert sessions
        for script, expected in sessions:
            script = script.replace(f"127.0.0.1 {port}", f"127.0.0.1 {server.ports[door]}")
            done = subprocess.run(
                ["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, done.stderr
            assert TIME.sub("TIME", done.stdout) == TIME.sub("TIME", expected), script
