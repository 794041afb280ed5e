"""Java programs, made from what lies here when a test first needs them."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from tests.support.turns import turn

_HERE: Final = Path(__file__).parent


KAFKA: Final = "4.1.1"


@cache
def java(program: str, kafka: str = KAFKA, place: Path = _HERE, heap: str = "256m") -> tuple[str, ...]:
    """The command that runs *program*, one of those in *place*/src, with that release of Kafka's jars.

    Skips where there is no Java or Maven.
    """
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: Java's client cannot be tried (Debian: default-jdk, maven)")
    with turn(place / "build" / "lock"):
        jars = _jars(place, kafka)
        classes = _classes(place, kafka, jars)
    return ("java", f"-Xmx{heap}", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*:{classes}", program)


def _jars(place: Path, kafka: str) -> Path:
    """The folder of all jars that pom.xml names, fetched once for each state of it."""
    pom = place / "pom.xml"
    jars = place / "build" / f"jars-{kafka}"
    stamp = place / "build" / f"pom-{kafka}.xml"
    if not stamp.exists() or stamp.read_text() != pom.read_text():
        shutil.rmtree(jars, ignore_errors=True)
        copy = "dependency:copy-dependencies"
        _run("mvn", "-q", "-B", "-f", str(pom), copy, f"-DoutputDirectory={jars}", f"-Dkafka.version={kafka}")
        stamp.write_text(pom.read_text())
    return jars


def _classes(place: Path, kafka: str, jars: Path) -> Path:
    """The folder of all that is in src, compiled once for each state of it."""
    sources = sorted((place / "src").glob("*.java"))
    state = "".join(source.read_text() for source in sources)
    classes = place / "build" / f"classes-{kafka}"
    stamp = classes / "sources"
    if not stamp.exists() or stamp.read_text() != state:
        classes.mkdir(exist_ok=True)
        _run("javac", "-cp", f"{jars}/*", "-d", str(classes), *map(str, sources))
        stamp.write_text(state)
    return classes


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
