"""kcat with librdkafka of three ages: the oldest that Kafka 4 serves, Debian's, and the newest.

Kafka 4 kept what clients of the end of 2021 ask (KIP-896), which is librdkafka 1.8. That one and the newest
are those that confluent-kafka's wheels bring; kcat is Debian's each time, and takes the library it is shown.
"""

import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from tests.compat.cache import alone, kept
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed (apt-get install kcat)"),
]

OLD = "1.8.2"
CLIENTS = ("kcat", "kcat, old librdkafka", "kcat, new librdkafka")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    scratch = tmp_path_factory.mktemp("kcat")
    program = (sys.executable, "-m", "tests.compat.python.kcat")
    libraries = (None, old(), new(scratch))
    commands = {
        client: program if library is None else ("env", f"KCAT_LIBRARY={library}", *program)
        for client, library in zip(CLIENTS, libraries, strict=True)
    }
    return run_all("C", commands, scratch)


def old() -> Path:
    """The directory of a library taken out of an old wheel, which is not installed."""
    with alone(kept(f"librdkafka-{OLD}")) as place:
        if not (place / "librdkafka.so.1").exists():
            wheel = (
                "--no-deps",
                "--only-binary=:all:",
                "--python-version=3.8",
                "--platform=manylinux2010_x86_64",
            )
            command = [sys.executable, "-m", "pip", "download", "--quiet", *wheel, f"confluent-kafka=={OLD}"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=200)
            assert done.returncode == 0, done.stderr
            (found,) = place.glob("*.whl")
            with zipfile.ZipFile(found) as files:
                (name,) = (name for name in files.namelist() if "/librdkafka" in name)
                library = place / "unfinished"
                library.write_bytes(files.read(name))
            library.rename(place / "librdkafka.so.1")
        return place


def new(scratch: Path) -> Path:
    """The directory of the library that confluent-kafka is installed with here."""
    place = scratch / "new"
    place.mkdir()
    files = metadata.files("confluent-kafka") or []
    (library,) = (file for file in files if file.name.startswith("librdkafka") and ".so" in file.name)
    (place / "librdkafka.so.1").symlink_to(Path(library.locate()).resolve())
    return place


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", CLIENTS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
