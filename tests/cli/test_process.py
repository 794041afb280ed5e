"""The program as a shell sees it: pipes, signals, terminals."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from tests.support.server import Server

pytestmark = pytest.mark.system

MILLSTREAM = (sys.executable, "-m", "millstream")


def run(server: Server, command: str, *, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    arguments = [*MILLSTREAM, *command.split(), "--brokers", server.bootstrap]
    return subprocess.run(arguments, input=stdin, capture_output=True, timeout=60, check=False)


def on_a_terminal(server: Server, command: str, *, typed: bytes = b"") -> tuple[int, str]:
    """Exit code and screen of *command* on a terminal, with *typed* typed at its question."""
    here, there = pty.openpty()
    arguments = [*MILLSTREAM, *command.split(), "--brokers", server.bootstrap]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(arguments, stdin=there, stdout=there, stderr=there, env=environment)
    os.close(there)
    screen = b""
    while True:
        ready, _, _ = select.select([here], [], [], 60)
        assert ready, screen
        try:
            data = os.read(here, 65536)
        except OSError:  # what a terminal says when the last program on it has gone
            break
        if not data:
            break
        screen += data
        if typed and screen.endswith(b"[y/N] "):
            os.write(here, typed)
            typed = b""
    os.close(here)
    return process.wait(60), screen.decode().replace("\r\n", "\n")


def until(process: subprocess.Popen[bytes], seen: Callable[[bytes], bool]) -> bytes:
    """What *process* prints, until it is as wished."""
    assert process.stdout is not None
    found = b""
    deadline = time.monotonic() + 60
    while not seen(found):
        assert time.monotonic() < deadline, found
        ready, _, _ = select.select([process.stdout], [], [], 1)
        if ready:
            found += os.read(process.stdout.fileno(), 65536)
    return found


def _hears_interrupts() -> None:
    """Whoever is started in the background of a shell is deaf to interrupts, and so are its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def plain(screen: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen)


def test_a_pipe_in_and_a_pipe_out(server: Server) -> None:
    written = run(server, "produce piped", stdin=b"".join(b"%d\n" % n for n in range(10_000)))
    assert (written.returncode, written.stderr) == (0, b"")
    assert written.stdout == b"10,000 records delivered to piped (38.0 KiB)\n"

    read = run(server, "consume piped -e")
    assert sorted(map(int, read.stdout.split())) == list(range(10_000))


def test_a_reader_that_has_seen_enough_is_no_error(server: Server) -> None:
    run(server, "produce long", stdin=b"x" * 100 + b"\n" + b"".join(b"%d\n" % n for n in range(50_000)))
    arguments = [*MILLSTREAM, "consume", "long", "--brokers", server.bootstrap]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()

    assert process.wait(60) == 0
    assert process.stderr.read() == b""


def test_an_interrupted_group_member_commits_and_leaves(server: Server) -> None:
    run(server, "produce interrupted", stdin=b"1\n2\n3\n")
    arguments = [*MILLSTREAM, "consume", "interrupted", "-g", "readers", "-b", server.bootstrap]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_hears_interrupts
    )
    until(process, lambda found: found.count(b"\n") == 3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"")

    described = run(server, "group describe readers --max-lag 0")
    assert described.returncode == 0
    assert described.stdout.startswith(b"state\tEmpty\n")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (
            "topic describe missing",
            1,
            b"error: no topic 'missing'; 'millstream topic list' shows what is there\n",
        ),
        ("group describe missing", 1, b"GROUP_ID_NOT_FOUND"),
        ("topic create bad/name", 4, b"INVALID_TOPIC_EXCEPTION"),
        ("topic create x --set retention.ms=soon", 4, b"INVALID_CONFIG"),
        ("topic delete piped", 2, b"Add --yes"),
        ("cluster health", 0, b""),
    ],
)
def test_exit_codes_mean_something(server: Server, command: str, code: int, said: bytes) -> None:
    run(server, "topic create piped --if-missing")
    result = run(server, command)

    assert result.returncode == code
    assert said in result.stderr
    assert result.stderr.count(b"\n") <= 1


def test_a_terminal_gets_tables_and_colour(server: Server) -> None:
    run(server, "topic create coloured --partitions 2 --set retention.ms=1000")
    code, screen = on_a_terminal(server, "topic describe coloured")

    assert code == 0
    assert "\x1b[32mok" in screen
    assert re.search(
        r"partition +leader +epoch +replicas +in sync +start +end +records +size\n─+\n", plain(screen)
    )
    assert re.search(r"retention\.ms +1000 +topic", plain(screen))


def test_a_terminal_is_asked_before_anything_is_deleted(server: Server) -> None:
    run(server, "topic create doomed --if-missing")
    code, screen = on_a_terminal(server, "topic delete doomed", typed=b"n\n")
    assert code == 1
    assert "Delete doomed and all records in it? [y/N]" in plain(screen)
    assert "nothing was changed" in plain(screen)

    code, screen = on_a_terminal(server, "topic delete doomed", typed=b"y\n")
    assert code == 0
    assert "doomed: deleted" in plain(screen)


def test_the_shell_completes_commands_and_topics(server: Server) -> None:
    run(server, "topic create complete-me --if-missing")

    def completions(words: str) -> list[str]:
        environment = {
            **os.environ,
            "_MILLSTREAM_COMPLETE": "zsh_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - (0 if words.endswith(" ") else 1)),
            "MILLSTREAM_BROKERS": server.bootstrap,
        }
        found = subprocess.run(
            MILLSTREAM, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert found.stderr == ""
        return found.stdout.split("\n")

    assert "describe" in completions("millstream topic d")
    assert "complete-me" in completions("millstream consume comp")
