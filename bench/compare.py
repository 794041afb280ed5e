"""Millstream and its peers at the same work, in turns, on this machine.

    make bench ARGS="--quick"
    python -m bench.compare [--quick] [--rounds 5] [--seconds 0.8] [--minutes 55] [--only TEXT]
                            [--peers kafka,floor] [--json FILE] [--svg FILE]

Peers are fetched when first needed and kept in the user's cache; one that is
not to be had here is left out, and the reason printed. Every round runs each
workload against all peers one after another, so that what disturbs the machine
disturbs all of them: read the ratios, with their spread, rather than the figures.
"""

import argparse
import json
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.chart import chart
from bench.figures import Results
from bench.goals import COMPILED, PLAIN, judged, to_json
from bench.memory import have_at_hand, keeping_memory, let_settle
from bench.native import Missing
from bench.pacing import nobody_paced
from bench.peers.catalogue import PEERS
from bench.peers.peer import Peer
from bench.table import table, verdicts
from bench.workloads import clients, consume, delivery, doors, footprint, groups, produce, scaling
from bench.workloads.workload import Workload
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_WRITTEN_BYTES: Final = 9 << 28  # what one measurement writes at the most, its beginning too, and a little


def all_workloads(*, quick: bool) -> list[Workload]:
    return [
        *footprint.workloads(quick=quick),
        *produce.workloads(sync=False, quick=quick),
        *produce.workloads(sync=True, quick=quick),
        *consume.workloads(quick=quick),
        *delivery.workloads(quick=quick),
        *groups.workloads(),
        *doors.workloads(),
        *clients.workloads(quick=quick),
        *scaling.workloads(quick=quick),  # last: thousands of files are long in going
    ]


def installed(names: Sequence[str], console: Console) -> list[type[Peer]]:
    """The peers of these *names* that can be had here; all that are known if none is named."""
    found: list[type[Peer]] = []
    for key, peer in PEERS.items():
        if names and key not in names:
            continue
        try:
            peer.install()
        except Missing as missing:
            console.print(f"[yellow]without {peer.name}: {missing}[/yellow]")
        else:
            found.append(peer)
    return found


def possible(workloads: Sequence[Workload], console: Console) -> list[Workload]:
    """Those of *workloads* whose tools can be had here."""
    found: list[Workload] = []
    for work in workloads:
        try:
            work.install()
        except Missing as missing:
            console.print(f"[yellow]without {work.name}: {missing}[/yellow]")
        else:
            found.append(work)
    return found


@contextmanager
def running(
    kinds: Sequence[type[Peer]], folder: Path, *, sync: bool, console: Console
) -> Iterator[list[Peer]]:
    """One of each, started; all are stopped at the end. One that does not start is left out."""
    peers: list[Peer] = []
    try:
        for number, kind in enumerate(kinds):
            peer = kind(folder / f"{number}-{'fsync' if sync else 'os'}", sync=sync)
            peers.append(peer)
            try:
                peer.start()
            except (RuntimeError, OSError) as problem:
                console.print(f"[yellow]without {kind.name}: {problem}[/yellow]")
                peers.pop().stop()
        yield peers
    finally:
        for peer in peers:
            peer.stop()


@dataclass(frozen=True)
class Plan:
    """So many *rounds* of measurements that take so many *seconds*; fewer if *minutes* are over."""

    rounds: int
    seconds: float
    minutes: float


def measure(
    workloads: Sequence[Workload],
    kinds: Sequence[type[Peer]],
    folder: Path,
    plan: Plan,
    results: Results,
    console: Console,
) -> None:
    """Every workload against every peer it fits, as *plan* says, into *results*."""

    def size(works: Sequence[Workload]) -> int:
        return sum(min(plan.rounds, work.most_rounds) for work in works for kind in kinds if work.fits(kind))

    began = time.monotonic()
    columns = (TextColumn("{task.description:60}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        keeping_memory() as is_kept,
        nobody_paced() as congestion,
        Progress(*columns, console=console) as progress,
    ):
        if is_kept:
            console.print("[dim]until the end this machine gives no free memory back to its host[/dim]")
        if congestion:
            console.print(f"[dim]TCP between programs on this machine: {congestion}[/dim]")
        task = progress.add_task("", total=size(workloads))
        for sync in (False, True):
            some = [work for work in workloads if work.sync == sync]
            if not size(some):
                continue
            share = plan.minutes * 60 * size(some) / size(workloads)
            busy = [kind for kind in kinds if any(work.fits(kind) for work in some)]
            with running(busy, folder, sync=sync, console=console) as peers:
                for number in rounds_within(plan.rounds, share, time.monotonic):
                    for work in (each for each in some if number <= each.most_rounds):
                        if not console.is_terminal:  # where no bar can be seen to move
                            console.print(f"{time.monotonic() - began:5.0f} s  round {number}: {work.name}")
                        # Whoever comes after a heavy neighbour finds its dirty pages: take turns at that.
                        for peer in random.sample(peers, len(peers)):
                            if work.fits(type(peer)):
                                progress.update(task, description=f"{work.name}: {peer.name}")
                                _measure_one(work, peer, plan.seconds, results, console, is_kept=is_kept)
                                progress.advance(task)


def rounds_within(most: int, seconds: float, now: Callable[[], float]) -> Iterator[int]:
    """From 1 to *most*, until another round as long as the longest would end too late; one in any case."""
    began, longest = now(), 0.0
    for number in range(1, most + 1):
        begins = now()
        if number > 1 and begins + longest > began + seconds:
            return
        yield number
        longest = max(longest, now() - begins)


def _measure_one(
    work: Workload, peer: Peer, seconds: float, results: Results, console: Console, *, is_kept: bool
) -> None:
    """One measurement; *is_kept* is whether this machine keeps the memory that it has."""
    if work.writes:
        let_settle()
        if not is_kept:
            have_at_hand(_WRITTEN_BYTES)
    try:
        found = work.measure(peer, seconds)
    except (RuntimeError, OSError) as problem:
        console.print(f"[red]{work.name}, {peer.name}: {problem}[/red] {peer.ended()}")
        return
    for row in work.rows:
        results.add(row, peer.name, found[row.key])


def machine() -> dict[str, object]:
    """What the figures are of."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else ""
    return {
        "system": platform.platform(),
        "processor": model or platform.machine(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer workloads, shorter, two rounds")
    parser.add_argument("--rounds", type=int, help="how often everything is done (default 5; 2 if quick)")
    parser.add_argument(
        "--seconds", type=float, help="how long one measurement takes (default 0.8; 0.4 if quick)"
    )
    parser.add_argument(
        "--minutes", type=float, help="begin no round that ends later than this (default 55; 4 if quick)"
    )
    parser.add_argument(
        "--only", default="", help="only workloads whose name has this in it; | between several"
    )
    parser.add_argument("--without", default="", help="no workload whose name has this in it")
    parser.add_argument("--peers", default="", help=f"some of {', '.join(PEERS)}; default: all")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="write all figures here")
    parser.add_argument("--svg", type=Path, default=Path("build/bench.svg"), help="draw the ratios here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that peers end with us
    console = Console(width=None if sys.stdout.isatty() else 230)
    wanted = options.only.split("|")
    workloads = [
        work
        for work in all_workloads(quick=options.quick)
        if any(part in work.name for part in wanted)
        and not (options.without and options.without in work.name)
    ]
    if not workloads:
        names = "\n  ".join(work.name for work in all_workloads(quick=options.quick))
        raise SystemExit(f"no workload is left of --only {options.only!r}; there are\n  {names}")
    workloads = possible(workloads, console)
    kinds = installed([name for name in options.peers.split(",") if name], console)
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=Path.cwd()))
    here = machine()
    results = Results()
    try:
        measure(
            workloads,
            kinds,
            folder,
            Plan(
                options.rounds or (2 if options.quick else 5),
                options.seconds or (0.4 if options.quick else 0.8),
                options.minutes or (4.0 if options.quick else 55.0),
            ),
            results,
            console,
        )
    except KeyboardInterrupt:
        console.print("[yellow]interrupted: this is what was measured until then[/yellow]")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    title = f"{here['processor']}, {here['processors']} processors, load {here['load']:.1f} at the start"
    found = judged(results)
    console.print(table(results, COMPILED, title))
    console.print(verdicts(found))
    told = {"machine": here, "results": results.to_json(), "goals": to_json(found)}
    drawn = chart(results, COMPILED, "Millstream beside its peers", title, [PLAIN])
    for path, text in ((options.json, json.dumps(told, indent=2)), (options.svg, drawn)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    console.print(f"figures: {options.json}, chart: {options.svg}")


if __name__ == "__main__":
    main()
