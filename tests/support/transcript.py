"""Conversations kept as text: steps separated by blank lines, each what is said, `----`, and what follows."""

import os
from collections.abc import Callable
from pathlib import Path


def replay(path: Path, say: Callable[[str], str]) -> None:
    """Say all that the transcript at *path* says, and compare; with REWRITE=1 record what follows."""
    steps = [step for step in path.read_text().split("\n\n") if step.strip()]
    replayed = []
    for step in steps:
        said, _, _ = step.partition("\n----")
        comments = [line for line in said.splitlines() if line.startswith("#")]
        commands = [line for line in said.splitlines() if line and not line.startswith("#")]
        if not commands:
            replayed.append("\n".join(comments))
            continue
        for line in commands[:-1]:
            replayed.append("\n".join([*comments, line, "----", say(line)]))
            comments = []
        replayed.append("\n".join([*comments, commands[-1], "----", say(commands[-1])]))
    text = "\n\n".join(replayed) + "\n"
    if os.environ.get("REWRITE"):
        path.write_text(text)
    assert text == path.read_text()
