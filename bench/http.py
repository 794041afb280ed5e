"""Produce over HTTP, beside the broker whose API it is.

    python -m bench.http [--panda-q DIR] [--seconds 10] [--connections 32] [--rounds 3] [--json FILE]

The load is wrk's: so many connections, each with one request under way, every
message with an id of its own. DIR is a checkout of Panda-Q that was built (`npm
ci && npx tsc`). Brokers take turns, each round with a new one on an empty
directory; a figure is the median of its rounds, with the least and the most.

What is compared. Panda-Q answers when it has a message in memory. It writes a
file of what came in up to 200 ms later, and a loop that rests 100 ms at a time
moves messages to their partitions, where consumers find them; it syncs nothing.
With flush.policy=os we answer when the message is written to its partition,
not synced: that is the setting to hold against it. With fsync, our default, we
answer when it is synced. So there are three measures:

- replies: requests a second, and how long one takes, as a client sees it;
- landed: the same messages a second until all of them are in their partitions.
  Whoever answers first and works later is measured with the work done;
- until readable: for one message at a time on an idle broker, from sending it
  until `/stats` counts it in its partition.

Requests for each second of the broker's own processor time are told too: they
depend little on who else is busy on the machine. So is how busy wrk was: near
100 % of a processor it is wrk that was measured.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from bench.serving import Node

_LOAD: Final = """
local number = 0
local head = '{"brokerId":"broker_1","message":{"messageId":"message-'
local text = ',"text":"about a hundred bytes, as a message of an order or a click has"}}}'
request = function()
  number = number + 1
  local body = head .. number .. '","content":{"number":' .. number .. text
  return wrk.format("POST", "/ingress/bench", {["Content-Type"] = "application/json"}, body)
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""
_RESULT: Final = re.compile(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)")
_PARTITIONS: Final = 2
_WARM_UP_SECONDS: Final = 3
_PROBES: Final = 50
_LONGEST_SECONDS: Final = 600


class Served(NamedTuple):
    port: int
    pid: int


class Figure(NamedTuple):
    """Of one round, or the median of several."""

    requests_per_second: float
    p50_ms: float
    p99_ms: float
    landed_per_second: float
    readable_p50_ms: float
    readable_p99_ms: float
    per_cpu_second: float
    client_busy: float  # of one processor


def main() -> int:
    parser = argparse.ArgumentParser(description="HTTP produce, requests a second and how long they take")
    parser.add_argument("--panda-q", type=Path, help="a built checkout of Panda-Q to measure beside")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk makes the load: install it, as with `apt-get install wrk`", file=sys.stderr)
        return 1
    brokers: dict[str, Callable[[Path], Iterator[Served]]] = {
        "millstream os": lambda data: ours(data, "os"),
        "millstream fsync": lambda data: ours(data, "fsync"),
    }
    if args.panda_q is not None:
        brokers["panda-q"] = lambda data: panda_q(data, args.panda_q.resolve())
    rounds: dict[str, list[Figure]] = {name: [] for name in brokers}
    for _ in range(args.rounds):
        for name, serve in brokers.items():
            with (
                tempfile.TemporaryDirectory(prefix="bench-http-", dir=Path.cwd()) as folder,
                contextmanager(serve)(Path(folder)) as served,
            ):
                figure = load(served, args.connections, args.seconds, Path(folder))
            rounds[name].append(figure)
            print(f"{name:<17} {_line(figure)}", flush=True)  # one round, for whoever waits
    report(rounds)
    if args.json is not None:
        told = {name: [each._asdict() for each in found] for name, found in rounds.items()}
        args.json.write_text(json.dumps(told, indent=2))
    return 0


def ours(data: Path, policy: str) -> Iterator[Served]:
    queue, admin = _free_port(), _free_port()
    settings = {
        "http.queue.listener": f"127.0.0.1:{queue}",
        "admin.listener": f"127.0.0.1:{admin}",
        "flush.policy": policy,
    }
    with Node(data / "data", settings) as node:
        node.connect()
        topic = json.dumps({"name": "bench", "partitions": _PARTITIONS}).encode()
        _until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{admin}/api/v1/topics", topic).read())
        yield Served(queue, node.process.pid)


def panda_q(data: Path, checkout: Path) -> Iterator[Served]:
    port = _free_port()
    topics = [{"id": "bench", "partitions": _PARTITIONS}]
    config = {"brokerId": "broker_1", "reboot": True, "topics": topics}
    (data / "pandaq-config.json").write_text(json.dumps(config))
    env = {
        **os.environ,
        "PORT": str(port),
        "BROKER_ID": "broker_1",
        "DATA_STORAGE_VOLUME": "./pandaq-data",
        "INGRESS_LOG_FILE": "./pandaq-data/ingress.log",
        "INGRESS_METADATA_FILE": "./pandaq-data/ingress_metadata.log",
    }
    command = ["node", str(checkout / "dist/core/main.js")]
    process = subprocess.Popen(command, cwd=data, env=env, stdout=subprocess.DEVNULL)
    try:
        _until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/stats").read())
        yield Served(port, process.pid)
    finally:
        process.kill()
        process.wait()


def load(served: Served, connections: int, seconds: int, folder: Path) -> Figure:
    script = folder / "load.lua"
    script.write_text(_LOAD)
    command = ["wrk", "-t1", f"-c{connections}", "--timeout", "30s", "-s", str(script)]
    command.append(f"http://127.0.0.1:{served.port}")
    # To warm up: V8 compiles what is busy for some seconds. What it left to do is not part of the measure.
    subprocess.run([*command, f"-d{_WARM_UP_SECONDS}"], capture_output=True, check=True)
    before = _at_rest(served)
    server_before, client_before = _cpu_seconds(served.pid), _client_cpu_seconds()
    began = time.monotonic()
    done = subprocess.run([*command, f"-d{seconds}"], capture_output=True, text=True, check=True)
    server, client = _cpu_seconds(served.pid) - server_before, _client_cpu_seconds() - client_before
    found = _RESULT.search(done.stdout)
    assert found is not None, done.stdout
    requests, microseconds, p50, p99, errors = map(int, found.groups())
    assert not errors, f"{errors} of {requests} requests failed:\n{done.stdout}"
    while _landed(served) < before + requests:
        assert time.monotonic() - began < _LONGEST_SECONDS, f"{requests} answered, not all of them landed"
        time.sleep(0.01)
    landed_seconds = time.monotonic() - began
    _at_rest(served)
    readable = sorted(_readable_ms(served, f"probe-{number}") for number in range(_PROBES))
    return Figure(
        requests / microseconds * 1e6,
        p50 / 1000,
        p99 / 1000,
        requests / landed_seconds,
        readable[len(readable) // 2],
        readable[int(len(readable) * 0.99)],
        requests / server,
        client / (microseconds / 1e6),
    )


def _landed(served: Served) -> int:
    """How many messages are in their partitions."""
    with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/stats") as answer:
        (topic,) = json.loads(answer.read())["data"]["topics"]
    return sum(partition["logEndOffset"] for partition in topic["partitions"])


def _at_rest(served: Served) -> int:
    """Wait until nothing more lands; how many messages have."""
    began = time.monotonic()
    count = -1
    while (now := _landed(served)) != count:
        assert time.monotonic() - began < _LONGEST_SECONDS, "messages land and land"
        count = now
        time.sleep(0.5)
    return count


def _readable_ms(served: Served, message_id: str) -> float:
    """How long it takes from sending a message until it counts in its partition."""
    before = _landed(served)
    time.sleep(random.uniform(0, 0.1))  # at no particular moment of any loop
    body = {"brokerId": "broker_1", "message": {"messageId": message_id, "content": {"probe": message_id}}}
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}/ingress/bench")
    request.add_header("Content-Type", "application/json")
    began = time.monotonic()
    urllib.request.urlopen(request, json.dumps(body).encode()).read()
    while _landed(served) == before:
        time.sleep(0.001)
    return (time.monotonic() - began) * 1000


def report(rounds: dict[str, list[Figure]]) -> None:
    print()
    figures = {name: median(each) for name, each in rounds.items()}
    theirs = figures.get("panda-q")
    for name, figure in figures.items():
        print(f"{name}: medians of {len(rounds[name])} rounds, the least and the most")
        for field, value in figure._asdict().items():
            found = [getattr(each, field) for each in rounds[name]]
            line = f"  {field:<20} {value:12,.2f}   ({min(found):,.2f} to {max(found):,.2f})"
            if theirs is not None and figure is not theirs and field != "client_busy":
                other = getattr(theirs, field)
                line += (
                    f"   {other / value:.1f} times lower"
                    if field.endswith("_ms")
                    else (f"   {value / other:.1f} times as many")
                )
            print(line)


def median(figures: list[Figure]) -> Figure:
    return Figure(*(statistics.median(values) for values in zip(*figures, strict=True)))


def _line(figure: Figure) -> str:
    return (
        f"{figure.requests_per_second:8,.0f} requests/s, p50 {figure.p50_ms:.2f} p99 {figure.p99_ms:.2f} ms; "
        f"landed {figure.landed_per_second:,.0f}/s; readable p99 {figure.readable_p99_ms:.1f} ms; "
        f"wrk {figure.client_busy:.0%} busy"
    )


def _client_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _until(call: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            call()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
