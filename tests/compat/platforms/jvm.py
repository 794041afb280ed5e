"""The jars of one release of Kafka, and the programs here that run on them."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.compat.java.build import java

KAFKA: Final = "4.3.1"
HERE: Final = Path(__file__).parent
SECONDS: Final = 240  # what takes a second or two may take minutes on a machine that is busy


def command(program: str) -> tuple[str, ...]:
    """The command that runs *program*; the test that asks is skipped where there is no Java or Maven."""
    first, *rest = java(program, KAFKA, HERE, heap="384m")
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return (first, quiet, "--add-opens=java.base/java.lang=ALL-UNNAMED", *rest)


class Jvm:
    """Kafka's own programs in one JVM: see Kafka.java."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("w") as file:
            self._process = subprocess.Popen(
                command("Kafka"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
            )

    def ask(self, what: str, **request: object) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        clock = threading.Timer(SECONDS, self._process.kill)
        clock.start()
        try:
            self._process.stdin.write(json.dumps({"do": what, **request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            clock.cancel()
        assert line, f"the JVM died, {self.last_words()}"
        answer = json.loads(line)
        assert "error" not in answer, f"{answer['error']}, {self.last_words()}"
        return answer

    def last_words(self) -> str:
        return f"having said: {self._errors.read_text()[-3000:]}"

    def start(self, what: str, config: Mapping[str, object], connectors: Sequence[Path] = ()) -> str:
        """Start a worker; where it answers REST, or whatever `stop` wants."""
        words = {name: str(value) for name, value in config.items()}
        answer = self.ask(what, config=words, connectors=[str(path) for path in connectors])
        return str(answer["id"])

    def stop(self, started: str) -> None:
        self.ask("stop", id=started)

    @contextmanager
    def running(
        self, what: str, config: Mapping[str, object], connectors: Sequence[Path] = ()
    ) -> Iterator[str]:
        started = self.start(what, config, connectors)
        try:
            yield started
        finally:
            self.stop(started)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def eventually(condition: Callable[[], bool], otherwise: Callable[[], object]) -> None:
    """Wait until *condition* holds; say *otherwise* if it never does."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)
