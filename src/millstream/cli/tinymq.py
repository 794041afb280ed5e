"""`millstream tinymq`: a consumer that speaks TinyMQ's JSON lines."""

import binascii
import json
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO, Final, final

import click

from millstream.cli.exits import Exit, Failure

_HEARTBEAT_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.2
_TIMEOUT_SECONDS: Final = 30.0
_BATCH: Final = 500


@click.group("tinymq")
def commands() -> None:
    """Talk to the JSON lines door, as TinyMQ's own tools do."""


@commands.command("consume")
@click.argument("topic")
@click.argument("group")
@click.argument("consumer")
@click.option(
    "--server",
    default="127.0.0.1:4040",
    show_default=True,
    envvar="MILLSTREAM_TINYMQ",
    metavar="HOST:PORT",
    help="Where the JSON lines door is.",
)
@click.option(
    "--follow/--no-follow",
    " /-e",
    default=True,
    help="Wait for new records, or exit at the end.  [default: follow]",
)
def consume(topic: str, group: str, consumer: str, server: str, follow: bool) -> int:
    """Read TOPIC as CONSUMER, a member of GROUP: print values, one a line, and commit what was printed."""
    with Connection(server) as connection:
        reader = Reader(connection, topic, group, consumer, sys.stdout.buffer, time.monotonic)
        try:
            while reader.step() or follow:
                if not reader.found:
                    time.sleep(_PAUSE_SECONDS)
        finally:
            reader.leave()
    return Exit.OK


@final
class Connection:
    """Requests one after the other, each with its reply."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        if not port.isdecimal():
            raise click.UsageError(f"--server {server}: write it as HOST:PORT")
        try:
            self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT_SECONDS)
        except OSError as error:
            raise Failure(f"cannot reach {server}: {error.strerror or error}", Exit.UNREACHABLE) from None
        self._server = server
        self._replies = self._socket.makefile("rb")

    def ask(self, **request: Any) -> dict[str, Any]:
        """The data of the reply; Failure if there is none."""
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._replies.readline()
        except OSError as error:
            raise Failure(f"{self._server} does not answer: {error}", Exit.UNREACHABLE) from None
        if not line:
            raise Failure(f"{self._server} closed the connection", Exit.UNREACHABLE)
        reply = json.loads(line)
        if not reply["ok"]:
            raise Failure(str(reply["error"]), Exit.REFUSED)
        data: dict[str, Any] = reply["data"]
        return data

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._replies.close()
        self._socket.close()


@final
class Reader:
    """One member of a group; *found* tells whether the last step brought anything."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        group: str,
        consumer: str,
        out: BinaryIO,
        now: Callable[[], float],
    ) -> None:
        self.found = False
        self._ask = connection.ask
        self._topic = topic
        self._member = {"groupId": group, "consumerId": consumer}
        self._group = group
        self._out = out
        self._now = now
        self._offsets: dict[int, int] = {}
        self._joined_at = 0.0
        self._join()

    def step(self) -> bool:
        """Print what there is in each partition of ours, up to a batch of it; whether there was anything."""
        if self._now() - self._joined_at > _HEARTBEAT_SECONDS:
            self._join()
        self.found = False
        for partition in list(self._offsets):
            records = self._fetch(partition)
            for record in records:
                self._out.write(_value(record) + b"\n")
            if records:
                self._out.flush()
                self._offsets[partition] = records[-1]["offset"] + 1
                self._ask(type="commit", groupId=self._group, **self._place(partition))
                self.found = True
        return self.found

    def leave(self) -> None:
        with suppress(Failure):  # it will be missed soon enough
            self._ask(type="leaveGroup", **self._member)

    def _join(self) -> None:
        """Joining is the heartbeat too, and tells what is ours by now."""
        joined = self._ask(type="joinGroup", topic=self._topic, **self._member)
        self._joined_at = self._now()
        self._offsets = {index: self._start(index) for index in joined["partitions"]}

    def _start(self, partition: int) -> int:
        if partition in self._offsets:
            return self._offsets[partition]
        known = self._ask(type="metrics", topic=self._topic, partition=partition, groupId=self._group)
        return max(known["committedOffset"] or 0, int(known["beginOffset"]))

    def _fetch(self, partition: int) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = self._ask(type="fetch", max=_BATCH, **self._place(partition))[
            "records"
        ]
        return records

    def _place(self, partition: int) -> dict[str, Any]:
        return {"topic": self._topic, "partition": partition, "offset": self._offsets[partition]}


def _value(record: dict[str, Any]) -> bytes:
    if record.get("encoding") == "base64":
        return binascii.a2b_base64(record["value"])
    return (record["value"] or "").encode()
