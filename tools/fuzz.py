"""Coverage-guided fuzzing of everything that reads what strangers send.

    python -m tools.fuzz --seconds 600 [--target NAME] [--corpus DIRECTORY]

The seconds are shared out among the targets of `tests/fuzz`. A finding is
shown with its traceback and its input in hex, and makes the exit status 1.
With --corpus, what was learnt is kept there for the next run.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.fuzz.seeds import SEEDS

_ROOT: Final = Path(__file__).parent.parent
_EXECUTED: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERED: Final = re.compile(r"cov: (\d+)")
_MAX_LENGTH: Final = 4096
_LONGEST_RUN_SECONDS: Final = 20  # an endless loop, to libFuzzer; slower than allowed is told by the target


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz all that reads what strangers send.")
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together (%(default)s)")
    parser.add_argument("--target", choices=SEEDS, action="append", help="only this one; may be repeated")
    parser.add_argument("--corpus", type=Path, help="a directory that keeps what was learnt")
    options = parser.parse_args()

    targets = options.target or list(SEEDS)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = (options.corpus or Path(temporary)).resolve()
        found = [fuzz(name, max(1, options.seconds // len(targets)), corpus / name) for name in targets]
    return 1 if any(found) else 0


def fuzz(name: str, seconds: int, corpus: Path) -> bool:
    """Fuzz one target for so long; print what came of it, and return whether it was bad."""
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]()):
        (corpus / f"seed-{number}").write_bytes(seed)
    with tempfile.TemporaryDirectory() as artifacts:
        command = [sys.executable, "-m", "tests.fuzz.under_atheris", name]
        command += [
            f"-max_total_time={seconds}",
            f"-max_len={_MAX_LENGTH}",
            f"-timeout={_LONGEST_RUN_SECONDS}",
        ]
        command += ["-print_final_stats=1", f"-artifact_prefix={artifacts}/", str(corpus)]
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
        executed = _EXECUTED.search(done.stderr)
        covered = _COVERED.findall(done.stderr)
        if done.returncode == 0 and executed and covered:
            print(
                f"{name:12} {int(executed[1]):>10} runs in {seconds} s, {covered[-1]} branches, no finding",
                flush=True,
            )
            return False
        print(f"{name:12} FINDING\n{done.stdout[-4000:]}\n{done.stderr[-1000:]}")
        for artifact in sorted(Path(artifacts).iterdir()):
            print(f"{artifact.name}: {artifact.read_bytes().hex()}")
        return True


if __name__ == "__main__":
    sys.exit(main())
