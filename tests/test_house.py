"""The house keeps its own rules: who imports whom, and what pure rooms may not touch."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tools import generate_protocol, generate_settings

SOURCE = Path(__file__).parent.parent / "src/millstream"
PURE = ("wire", "records", "storage", "partition", "groups", "cluster")
IMPURE_MODULES = {
    "asyncio",
    "socket",
    "time",
    "random",
    "threading",
    "secrets",
    "uuid",
    "datetime",
    "subprocess",
}
IMPURE_CALLS = {"open", "input", "print"}
# Rooms that run in the simulator take time, chance and files from Env and the loop, never from the system.
SIMULATED = ("broker", "gateways", "client")
ESCAPES = {"time", "secrets", "threading", "subprocess", "socket"}


def modules(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((SOURCE / room).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def called(path: Path) -> set[str]:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {func.id for func in calls if isinstance(func, ast.Name)}


@pytest.mark.parametrize("path", modules(*PURE), ids=lambda path: str(path.relative_to(SOURCE)))
def test_pure_rooms_touch_nothing(path: Path) -> None:
    allowed = (
        {"uuid"} if path.parent.name in ("cluster", "groups", "storage") else set()
    )  # the type, not uuid4()
    assert imported(path) & IMPURE_MODULES <= allowed
    assert not called(path) & IMPURE_CALLS


@pytest.mark.parametrize("path", modules(*SIMULATED), ids=lambda path: str(path.relative_to(SOURCE)))
def test_simulated_rooms_do_not_escape_the_simulation(path: Path) -> None:
    assert not imported(path) & ESCAPES
    assert "open" not in called(path)


def test_rooms_import_downward_only() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE.parent.parent)
    assert result.returncode == 0, result.stdout


def test_a_light_import_for_those_who_only_serve() -> None:
    """What `millstream serve` needs must not drag in tables, clients or test tools."""
    program = "import sys, millstream.cli.serve; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"rich", "millstream.client", "millstream.sim", "lz4", "zstandard", "cramjam"} & set(loaded)


@pytest.mark.parametrize("page", [generate_settings, generate_protocol], ids=["settings", "protocol"])
def test_the_manual_is_as_the_code_is(page: ModuleType) -> None:
    assert page.OUT.read_text() == page.document(), "run `make generate`"
