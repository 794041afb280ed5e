"""kcat, run as at a shell: python -m tests.compat.python.kcat bootstrap prefix scenario...

With KCAT_LIBRARY in the environment, kcat takes its librdkafka from that directory. What kcat does not
do, but a scenario needs done before it can ask, is done with confluent-kafka: topics are made, records of
another time are written, and a group's offsets are looked at to know that kcat has committed.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import IO, Any, ClassVar, Final, final

from tests.compat.python.client import MOMENT, SECONDS, Reading, Record, Writing
from tests.compat.python.confluent import Confluent, ConfluentAdmin
from tests.compat.python.scenarios import main

_KCAT: Final = shutil.which("kcat") or "kcat"
_LIBRARY: Final = os.environ.get("KCAT_LIBRARY")
_ENVIRONMENT: Final = {**os.environ, "LD_LIBRARY_PATH": _LIBRARY} if _LIBRARY else None
_QUICK: Final = ("reconnect.backoff.ms=20", "reconnect.backoff.max.ms=200")
_FORMAT: Final = r"%p %o %T %K %S\n%k%s\n%h\n"
_ASSIGNORS: Final = {"eager": "roundrobin", "cooperative": "cooperative-sticky"}
_SHARE: Final = re.compile(r" rebalanced.*?(assign|revoke).*: (.*)")
_PLACE: Final = re.compile(r"\[(\d+)\]")


def start(bootstrap: str, *arguments: str, settings: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    options = [part for setting in (*_QUICK, *settings) for part in ("-X", setting)]
    return subprocess.Popen(
        [_KCAT, "-b", bootstrap, "-E", *options, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
    )


@final
class KcatProducer:
    """A run of kcat for each shape of record: options say what is a key, what is null, and the headers.

    kcat reads its input in blocks and is done at its end, so a transaction is one run that has not ended.
    """

    def __init__(self, bootstrap: str, how: Writing, helper: Confluent) -> None:
        self._bootstrap = bootstrap
        self._how = how
        self._helper = helper
        self._running: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}

    def send(self, topic: str, records: Sequence[Record]) -> list[int]:
        if any(record.time for record in records):
            return self._helper.producer(self._how).send(topic, records)
        for options, some in groupby(records, self._options):
            process = self._process(topic, options)
            assert process.stdin is not None
            process.stdin.write(b"".join(map(_line, some)))
            if not self._how.transactional:
                self.commit()
        return []

    def _options(self, record: Record) -> tuple[str, ...]:
        # A run writes to one partition or to those that it chooses itself, and a transaction is one run.
        chosen = self._how.by_key or self._how.transactional
        options: tuple[str, ...] = () if chosen else ("-p", str(record.partition))
        options += () if record.key is None else ("-K:",)
        options += ("-Z",) if record.value is None else ()
        return options + tuple(part for name, value in record.headers for part in _header(name, value))

    def _process(self, topic: str, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
        if options not in self._running:
            how = self._how
            settings = [f"acks={how.acks}", f"compression.codec={how.codec}", "message.max.bytes=2000000"]
            settings += ["enable.idempotence=true"] if how.idempotent else []
            settings += [f"transactional.id={how.transactional}"] if how.transactional else []
            settings += ["debug=eos"] if how.transactional else []
            process = start(self._bootstrap, "-P", "-t", topic, *options, settings=settings)
            self._running[options] = process
            if how.transactional:
                _until_begun(process)
        return self._running[options]

    def begin(self) -> None:
        """That is what starting kcat does."""

    def commit(self) -> None:
        running = list(self._running.values())
        self._running.clear()
        for process in running:
            _, problem = process.communicate(timeout=SECONDS)
            if process.returncode:
                raise RuntimeError(problem.decode().strip().rpartition("\n")[2])

    def abort(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        for process in self._running.values():
            process.kill()


def _until_begun(process: subprocess.Popen[bytes]) -> None:
    """Till its transactional id is its own: whoever is told of one later takes it away."""
    assert process.stderr is not None
    for line in process.stderr:
        if b"-> InTransaction" in line:
            return
    raise RuntimeError("kcat began no transaction")


def _line(record: Record) -> bytes:
    key = b"" if record.key is None else record.key + b":"
    return key + (record.value or b"") + b"\n"


def _header(name: str, value: bytes) -> tuple[str, str]:
    return "-H", f"{name}={value.decode()}"


@final
class KcatConsumer:
    def __init__(self, bootstrap: str, how: Reading, helper: Confluent) -> None:
        self._bootstrap = bootstrap
        self._how = how
        self._admin = helper.admin
        self._owned: set[int] = set()
        self._revoked: list[int] = []
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}  # by partition, the offset after the last one read
        where = ("-G", how.group, how.topic) if how.group else ("-C", "-t", how.topic, "-o", "beginning")
        self._run(*where)

    def _run(self, *where: str) -> None:
        self._records: SimpleQueue[Record] = SimpleQueue()
        options = ("-u", "-f", _FORMAT)
        self._process = start(self._bootstrap, *options, *where, settings=_settings(self._how))
        for work in (self._read, self._hear):
            threading.Thread(target=work, args=(self._process, self._records), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes], records: SimpleQueue[Record]) -> None:
        assert process.stdout is not None
        for record in _parse(process.stdout):
            records.put(record)

    def _hear(self, process: subprocess.Popen[bytes], _: object) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            found = _SHARE.search(line.decode())
            if found is None:
                continue
            places = [int(place) for place in _PLACE.findall(found[2])]
            with self._lock:
                if found[1] == "assign":
                    self._owned |= set(places)
                else:
                    self._owned -= set(places)
                    self._revoked += places

    def poll(self) -> list[Record]:
        got = []
        try:
            got.append(self._records.get(timeout=MOMENT))
            while True:
                got.append(self._records.get(timeout=0.02))
        except Empty:
            self._next |= {record.partition: record.offset + 1 for record in got}
            return got

    def owned(self) -> list[int]:
        with self._lock:
            return sorted(self._owned)

    def revoked(self) -> list[int]:
        with self._lock:
            return list(self._revoked)

    def commit(self) -> None:
        """It does so by itself, every few seconds."""
        until = time.monotonic() + SECONDS
        for partition, offset in self._next.items():
            while self._admin.group_offset(self._how.group, self._how.topic, partition) < offset:
                if time.monotonic() > until:
                    raise TimeoutError("kcat did not commit")
                time.sleep(0.02)

    def seek(self, partition: int, offset: int) -> None:
        self.close()
        self._run("-C", "-t", self._how.topic, "-p", str(partition), "-o", str(offset))

    def seek_time(self, partition: int, time: int) -> None:
        self.close()
        self._run("-C", "-t", self._how.topic, "-p", str(partition), "-o", f"s@{time}")

    def pause(self, partition: int) -> None:
        raise NotImplementedError

    def resume(self, partition: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise


def _settings(how: Reading) -> list[str]:
    settings = [
        "fetch.wait.max.ms=100",
        f"isolation.level={'read_committed' if how.committed else 'read_uncommitted'}",
    ]
    if not how.group:
        return settings
    settings.append("auto.offset.reset=earliest")
    settings += [f"group.instance.id={how.instance}"] if how.instance else []
    if how.protocol == "modern":
        return [*settings, "group.protocol=consumer"]
    strategy = f"partition.assignment.strategy={_ASSIGNORS[how.protocol]}"
    return [*settings, "session.timeout.ms=10000", "heartbeat.interval.ms=200", strategy]


def _parse(output: IO[bytes]) -> Iterator[Record]:
    """Records as _FORMAT has them printed; -1 is the length of what is null."""
    while head := output.readline():
        partition, offset, at, *lengths = map(int, head.split())
        key, value = (None if length < 0 else output.read(length) for length in lengths)
        output.read(1)
        headers = output.readline().decode().rstrip("\n")
        pairs = (pair.partition("=") for pair in headers.split(",") if pair)
        yield Record(value, key, partition, tuple((n, v.encode()) for n, _, v in pairs), at, offset)


@final
class KcatAdmin:
    """kcat is asked for offsets; the rest is another client's, for scenarios to be set up and looked at."""

    def __init__(self, bootstrap: str, helper: ConfluentAdmin) -> None:
        self._bootstrap = bootstrap
        self._helper = helper

    def offset(self, topic: str, partition: int, time: int) -> int:
        process = start(self._bootstrap, "-Q", "-t", f"{topic}:{partition}:{time}")
        said, problem = process.communicate(timeout=SECONDS)
        found = re.search(rb"offset (-?\d+)", said)
        if found is None:
            raise RuntimeError(problem.decode())
        return int(found[1])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._helper, name)


def _version() -> str:
    said = subprocess.run([_KCAT, "-V"], capture_output=True, text=True, env=_ENVIRONMENT).stdout
    found = re.search(r"Version (\S+) .*librdkafka (\S+)", said)
    return f"{found[1]} (librdkafka {found[2]})" if found else ""


_VERSION: Final = _version()
_MODERN: Final = "librdkafka 2.1" in _VERSION  # or newer than 2.9, that is
_CLASSIC: Final = "this librdkafka speaks the classic protocol only"
_ADMIN: Final = "kcat writes, reads and lists; it does not administer"


@final
class Kcat:
    version = _VERSION
    a_command: ClassVar = True
    not_applicable: ClassVar[Mapping[str, str]] = {
        **({} if _MODERN else {"modern-group": _CLASSIC}),
        "pause": "kcat cannot be paused",
        "lag": "kcat does not tell a group's offsets",
        "transaction-abort": "kcat sends what it reads when its input ends, and then commits it",
        "transaction-offsets": "kcat's transactions hold records only",
        **dict.fromkeys(("admin-create", "admin-delete", "admin-grow", "admin-configs"), _ADMIN),
        **dict.fromkeys(("admin-groups", "admin-records", "admin-log-dirs"), _ADMIN),
    }

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._helper = Confluent(bootstrap)
        self.admin: Any = KcatAdmin(bootstrap, self._helper.admin)

    def producer(self, how: Writing) -> KcatProducer:
        return KcatProducer(self._bootstrap, how, self._helper)

    def consumer(self, how: Reading) -> KcatConsumer:
        return KcatConsumer(self._bootstrap, how, self._helper)

    def transform(self, source: str, to: str, group: str, transactional: str, commit: bool) -> None:
        raise NotImplementedError


if __name__ == "__main__":
    main(Kcat)
