"""Draw what commands print on a terminal, as an SVG for the README.

python -m tools.terminal_picture OUT.svg 'millstream topic list' 'millstream group describe g'
"""

import argparse
import io
import os
import pty
import re
import subprocess
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 96
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture must not fetch fonts from elsewhere


def printed(command: str) -> str:
    """What *command* prints when its output is a terminal."""
    reading, writing = pty.openpty()
    env = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(command, shell=True, stdout=writing, stderr=writing, env=env):
        os.close(writing)
        out = bytearray()
        while True:
            try:
                part = os.read(reading, 65536)
            except OSError:  # how a pty says that the other end has gone
                break
            if not part:
                break
            out += part
    os.close(reading)
    return out.decode().replace("\r\n", "\n").rstrip("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw what commands print on a terminal.")
    parser.add_argument("out", type=Path)
    parser.add_argument("commands", nargs="+")
    options = parser.parse_args()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for command in options.commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(printed(command)))
        console.print()
    picture = console.export_svg(title="millstream", theme=MONOKAI)
    options.out.write_text(_FONT_FACE.sub("", picture))


if __name__ == "__main__":
    main()
