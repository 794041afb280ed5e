"""Conversations with a partition about transactions, kept as text in transcripts/.

A step is a comment or two, a line of what is done, a line of four dashes, and
what followed. `REWRITE=1` records it anew.

    write 7/0 3 x2 txn   producer 7 of epoch 0 writes two records from sequence 3 on, in a transaction
    plain                a record of nobody
    commit 7/0 by 2      a marker, of a coordinator of epoch 2 (0 if it is not said)
    sync                 what is written is committed
    read, committed      what a reader sees, of everything or of what is committed
    delete 3, expire     records go; idle producers go
    restart              a new life
    describe             what an administrator is told of producers
"""

import os
from pathlib import Path

from tests.storage.helpers import ID, NOW, TOPIC, open_store, sim_disk

from millstream.client.isolation import visible
from millstream.errors import Refused
from millstream.partition.partition import Partition
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker
from millstream.records.read import read
from millstream.storage.config import LogConfig
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction


class Conversation:
    def __init__(self) -> None:
        self._disk = sim_disk()
        self._open()

    def say(self, line: str) -> str:
        word, *rest = line.split()
        try:
            said = str(getattr(self, f"_{word}")(*rest))
        except Refused as refusal:
            said = str(refusal)
        return f"{said}\n{self._state()}"

    def _state(self) -> str:
        it = self._it
        open_ = [f"{id}@{first}" for id, first in it.log.producers.open_transactions().items()]
        aborted = [
            f"{each.producer_id}@{each.first_offset}-{each.last_offset}"
            for each in it.aborted(it.log.start_offset, it.log.end_offset)
        ]
        return (
            f"  end {it.log.end_offset}, high watermark {it.high_watermark}, stable {it.last_stable_offset}; "
            f"open {' '.join(open_) or '-'}; aborted {' '.join(aborted) or '-'}"
        )

    def _open(self) -> None:
        self._store = open_store(self._disk)
        self._it = Partition(TOPIC, 0, self._store.open_log(TOPIC, ID, 0, LogConfig(), NOW))

    def _write(self, producer: str, sequence: str, count: str = "x1", kind: str = "plain") -> str:
        id, epoch = producer.split("/")
        data = build(
            [NewRecord(b"k", b"v")] * int(count[1:]),
            now_ms=NOW,
            producer_id=int(id),
            producer_epoch=int(epoch),
            base_sequence=int(sequence),
            transactional=kind == "txn",
        )
        return f"at {self._it.append(memoryview(data), NOW).base_offset}"

    def _plain(self) -> str:
        data = build([NewRecord(b"k", b"v")], now_ms=NOW)
        return f"at {self._it.append(memoryview(data), NOW).base_offset}"

    def _commit(self, producer: str, _: str = "by", coordinator: str = "0") -> str:
        return self._mark(Marker.COMMIT, producer, coordinator)

    def _abort(self, producer: str, _: str = "by", coordinator: str = "0") -> str:
        return self._mark(Marker.ABORT, producer, coordinator)

    def _mark(self, marker: Marker, producer: str, coordinator: str) -> str:
        id, epoch = producer.split("/")
        return f"at {self._it.append_marker(marker, int(id), int(epoch), int(coordinator), NOW).base_offset}"

    def _sync(self) -> str:
        sync = self._it.log.unsynced()
        if sync is not None:
            sync.run()
            self._it.log.synced(sync)
        return "committed" if self._it.commit() else "nothing new"

    def _read(self) -> str:
        return self._seen(False)

    def _committed(self) -> str:
        return self._seen(True)

    def _seen(self, committed_only: bool) -> str:
        it = self._it
        piece = it.read(it.log.start_offset, 1 << 20, committed_only)
        if piece is None:
            return "nothing"
        told = it.aborted(it.log.start_offset, piece.end_offset) if committed_only else []
        aborted = [FetchResponseAbortedTransaction(each.producer_id, each.first_offset) for each in told]
        shown = [batch for batch, is_shown in visible(split(piece.read()), aborted) if is_shown]
        return " ".join([str(each.offset) for batch in shown for each in read(batch, max_bytes=1 << 20)])

    def _delete(self, offset: str) -> str:
        return f"begins at {self._it.delete_before(int(offset))}"

    def _expire(self) -> str:
        return f"{self._it.log.expire_producers(NOW + 10, 10)} forgotten"

    def _restart(self) -> str:
        self._disk.kill()
        self._open()
        return "again"

    def _describe(self) -> str:
        return "\n".join([str(each) for each in self._it.producers_described()]) or "nobody"


def run(path: Path) -> None:
    """Replay the transcript at *path* and compare, or with REWRITE=1 record what happens."""
    conversation = Conversation()
    replayed = []
    for step in path.read_text().split("\n\n"):
        said = step.partition("\n----")[0].strip().splitlines()
        comments = [line for line in said if line.startswith("#")]
        for line in said:
            if not line.startswith("#"):
                replayed.append("\n".join([*comments, line, "----", conversation.say(line)]))
                comments = []
    text = "\n\n".join(replayed) + "\n"
    if os.environ.get("REWRITE"):
        path.write_text(text)
    assert text == path.read_text()
