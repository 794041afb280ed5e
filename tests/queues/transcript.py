"""Conversations with a queue, kept as text.

A transcript is a list of steps separated by blank lines: what happened, a
line of four dashes, and what followed. `REWRITE=1` records it anew.

The log is the numbers from 0 up; `log 5` says that there are five. The last
line of an answer is the state: the end, what is held as offset x deliveries
(after it `@` and the number of its holder, or `!` if it is dead), and how many
times it would have been written by then.
"""

import os
from collections.abc import Callable
from pathlib import Path

from millstream.queues.changes import decode_value, encode_value
from millstream.queues.ledger import NEVER_MS
from millstream.queues.queue import Queue, Saved


class Conversation:
    """One queue, talked to in words."""

    def __init__(self) -> None:
        self._now_ms = 0
        self._log_end = 0
        self._kept = range(1 << 60)  # what compaction or retention has left
        self._shared = True
        self._limit = 0
        self._max_held = 100
        self._written = Saved(0)
        self._queue = self._new()

    def say(self, line: str) -> str:
        verb, *rest = line.split()
        words = [word for word in rest if "=" not in word]
        args = dict(word.split("=", 1) for word in rest if "=" in word)
        if "at" in args:
            self._now_ms = int(args.pop("at"))
        act: Callable[..., str] = getattr(self, f"_{verb}")
        said = act(*words, **args)
        return "\n".join(filter(None, [said, self._state()]))

    def _new(self) -> Queue:
        return Queue(self._written, shared=self._shared, limit=self._limit, max_held=self._max_held)

    def _kind(self, kind: str, limit: str = "0", held: str = "100") -> str:
        self._shared = kind == "shared"
        self._limit, self._max_held = int(limit), int(held)
        self._queue = self._new()
        return ""

    def _log(self, end: str, first: str = "0") -> str:
        self._log_end = int(end)
        self._kept = range(int(first), 1 << 60)
        return ""

    def _join(self, who: str, timeout: str = "0") -> str:
        self._queue.joined(int(who), int(timeout))
        return ""

    def _leave(self, who: str) -> str:
        self._queue.gone(int(who), self._now_ms)
        return ""

    def _pump(self, who: str, most: str = "10") -> str:
        """As the driver does: first what is to be delivered again, then what is new."""
        subscriber = int(who)
        shown = []
        for offset, deliveries in self._queue.take(subscriber, int(most), self._now_ms):
            if offset in self._kept:
                shown.append(f"{offset}x{deliveries}")
            else:
                self._queue.missing(subscriber, offset)
        room = min(self._queue.room(subscriber), int(most) - len(shown))
        first = self._queue.position(subscriber)
        until = min(first + room, self._log_end) if room > 0 else first
        offsets = [offset for offset in range(first, until) if offset in self._kept]
        self._queue.given(subscriber, offsets, max(until, first), self._now_ms)
        shown += map(str, offsets)
        return f"to {who}: {' '.join(shown) or 'nothing'}"

    def _ack(self, who: str, *offsets: str) -> str:
        answers = [self._queue.acked(int(who), int(offset)) for offset in offsets]
        return " ".join("acked" if answer else "unknown" for answer in answers)

    def _nack(self, who: str, offset: str, delay: str = "0") -> str:
        known = self._queue.nacked(int(who), int(offset), int(delay), self._now_ms)
        return "nacked" if known else "unknown"

    def _tick(self) -> str:
        return "something" if self._queue.tick(self._now_ms) else "nothing"

    def _next(self) -> str:
        next_ms = self._queue.next_ms()
        return "never" if next_ms == NEVER_MS else str(next_ms)

    def _bury(self) -> str:
        dead = self._queue.dead
        for offset in dead:
            self._queue.buried(offset)
        return " ".join(["buried", *map(str, dead)])

    def _spare(self, offset: str) -> str:
        self._queue.spared(int(offset), self._now_ms)
        return ""

    def _write(self) -> str:
        self._written = decode_value(encode_value(self._queue.saved()))
        return ""

    def _crash(self) -> str:
        """Everything but what was written is lost."""
        self._queue = self._new()
        return ""

    def _state(self) -> str:
        queue = self._queue
        holders: dict[int, list[str]] = {}
        for ledger in queue._distinct():
            for offset, held in ledger.held.items():
                mark = "!" if offset in ledger.dead else "" if held.holder is None else f"@{held.holder}"
                holders.setdefault(offset, []).append(mark)
        owed = [
            f"{offset}x{count}{''.join(sorted(holders.get(offset, [])))}"
            for offset, count in queue.saved().held.items()
        ]
        return " ".join([f"end {queue.end}", *owed, f"r{queue.revision}"])


def run(path: Path) -> None:
    """Replay the transcript at *path* and compare, or with REWRITE=1 record what happens."""
    conversation = Conversation()
    replayed = []
    for step in filter(str.strip, path.read_text().split("\n\n")):
        said, _, _ = step.partition("\n----")
        comments = [line for line in said.splitlines() if line.startswith("#")]
        for line in said.splitlines():
            if line and not line.startswith("#"):
                replayed.append("\n".join([*comments, line, "----", conversation.say(line)]))
                comments = []
        if comments:
            replayed.append("\n".join(comments))
    text = "\n\n".join(replayed) + "\n"
    if os.environ.get("REWRITE"):
        path.write_text(text)
    assert text == path.read_text()
