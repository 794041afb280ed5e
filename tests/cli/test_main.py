"""The command line itself: help, mistakes, and what a start costs."""

import gc
import subprocess
import sys

import pytest

from millstream.cli import main


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main.run(list(args))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")

    assert code == 0
    for word in (
        "serve",
        "topic",
        "produce",
        "consume",
        "group",
        "cluster",
        "completion",
        "130  interrupted",
    ):
        assert word in out


def test_no_command_is_a_mistake_that_shows_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)

    assert (code, out) == (2, "")
    assert "Commands:" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("topi list", "No such command 'topi'. Did you mean 'topic'?"),
        ("topic lst", "Did you mean 'list'?"),
        ("topic create", "Missing argument 'NAME...'"),
        ("topic list --formt json", "Did you mean '--format'?"),
        ("topic create a --set novalue", "not of the form key=value"),
        ("topic alter a", "nothing to change"),
        ("topic trim a --before 1:2", "is a range"),
        ("topic list --brokers a:b", "has no valid port"),
        ("consume a --offset nowhere", "'nowhere' is not understood"),
        ("consume a --group g --partition 1", "leave out --group or --partition"),
        ("consume a --template %z", "unknown field '%z'"),
        ("produce a --input json --key k", "are for --input lines"),
        ("produce a /no/such/file", "does not exist"),
        ("group reset g --offset 1:2", "is a range"),
        ("group reset g --offset 1 --topic t:x", "not of the form"),
        ("group describe", "Missing argument"),
        ("completion tcsh", "is not one of"),
    ],
)
def test_a_mistake_is_told_in_one_line(capsys: pytest.CaptureFixture[str], args: str, said: str) -> None:
    code, out, err = run(capsys, *args.split())

    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "--help" in err


def test_a_cluster_that_is_not_there_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "topic", "list", "--brokers", "127.0.0.1:1")

    assert (code, out) == (3, "")
    assert err == (
        "error: cannot connect to 127.0.0.1:1: Connection refused; "
        "is a broker running there? Name another with --brokers\n"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    code, out, _ = run(capsys, "completion", shell)

    assert code == 0
    assert f"_MILLSTREAM_COMPLETE={shell}_complete" in out


def test_a_start_imports_neither_tables_nor_other_commands() -> None:
    """`serve` must be up within half a second; what it does not use it must not pay for."""
    assert not {"asyncio", "rich", "millstream.cli.produce", "millstream.client.cluster"} & imported_by(
        "millstream.cli.main"
    )


def test_a_node_that_starts_imports_nothing_that_only_some_need() -> None:
    slow = {"argparse", "difflib", "email", "importlib.metadata", "shutil", "tomllib", "zipfile"}
    rooms = {
        "millstream.broker.group_keeper",
        "millstream.gateways.http.node",
        "millstream.gateways.jsonl",
        "millstream.gateways.kafka.faults",
        "millstream.gateways.text",
        "millstream.groups.group",
        "millstream.groups.outcomes",
    }

    assert not (slow | rooms) & imported_by("millstream.cli.serve")


def imported_by(module: str) -> set[str]:
    """All that is imported by who imports *module*."""
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_left_as_it_was(capsys: pytest.CaptureFixture[str], collects: bool) -> None:
    collected = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert run(capsys, "completion", "bash")[0] == 0
        assert gc.isenabled() is collects
    finally:
        (gc.enable if collected else gc.disable)()
