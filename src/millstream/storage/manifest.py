"""What a clean stop leaves for a quick start: every log in one line of one file.

With it a log is opened without touching its directory. The file is believed by
the very next life only, and only once.

    name  topic id  start  cleaned  created  producers  snapshots  epochs  segments

*cleaned* is how far compaction has been, *created* when the newest segment was
begun; *producers* is 0 if none is remembered, 2 if one of them is in a transaction;
snapshots, epochs and segments are lists with commas, `-` if empty.
A segment is base:next:size:timestamp:offset:entries:entries, with `?` for
what nobody has had to find out yet.
"""

from uuid import UUID

from millstream.env.disk import Disk
from millstream.storage.cleaned import Cleaned
from millstream.storage.config import LogConfig
from millstream.storage.epochs import Epochs
from millstream.storage.log import Log
from millstream.storage.producers import Producers
from millstream.storage.segment import Segment
from millstream.storage.trash import Trash


def line(log: Log) -> str:
    """All about *log*, whose every byte is synced."""
    segments = ",".join([_segment(segment) for segment in log.segments])
    snapshots = ",".join(map(str, log.snapshots)) or "-"
    epochs = ",".join([f"{epoch}:{start}" for epoch, start in log.epochs]) or "-"
    saved = "s" if log.epochs.has_file else "m"
    return (
        f"{log.name} {log.topic_id.hex} {log.start_offset} {_cleaned(log)} "
        f"{log.segments[-1].created_ms} {_producers(log)} {snapshots} {saved}{epochs} {segments}"
    )


def is_of(line: str, topic_id: UUID) -> bool:
    return line.split(" ", 2)[1] == topic_id.hex


def open_log(
    line: str,
    disk: Disk,
    trash: Trash,
    topic: str,
    topic_id: UUID,
    partition: int,
    config: LogConfig,
    now_ms: int,
) -> Log:
    """The log that *line* tells of."""
    name, _, start, cleaned, created_ms, has_producers, snapshots, epochs, segments = line.split(" ")
    interval = config.index_interval_bytes
    found = []
    for each in segments.split(","):
        base, following, size, timestamp, offset, offsets, times = each.split(":")
        segment = Segment(disk, name, int(base), interval, now_ms)
        newest = None if timestamp == "?" else (int(timestamp), int(offset))
        entries = None if offsets == "?" else (int(offsets), int(times))
        segment.trust(int(following), int(size), newest, entries)
        found.append(segment)
    found[-1].created_ms = int(created_ms)
    return Log(
        disk,
        trash,
        topic,
        topic_id,
        partition,
        config,
        now_ms,
        segments=found,
        start_offset=int(start),
        cleaned=None if cleaned == "-" else Cleaned(*map(int, cleaned.split(","))),
        snapshots=[] if snapshots == "-" else [int(each) for each in snapshots.split(",")],
        producers=Producers() if has_producers == "0" else None,
        none_open=has_producers != "2",
        epochs=_epochs(epochs),
    )


def _cleaned(log: Log) -> str:
    cleaned = log.cleaned
    return "-" if cleaned is None else ",".join(map(str, cleaned.astuple()))


def _producers(log: Log) -> int:
    if not log.has_producers:
        return 0
    return 1 if log.first_open_offset is None else 2


def _segment(segment: Segment) -> str:
    newest, entries = segment.known
    timestamp = "?:?" if newest is None else f"{newest[0]}:{newest[1]}"
    counts = "?:?" if entries is None else f"{entries[0]}:{entries[1]}"
    return f"{segment.base_offset}:{segment.next_offset}:{segment.size_bytes}:{timestamp}:{counts}"


def _epochs(word: str) -> Epochs:
    table = word[1:]
    epochs = Epochs.from_lines([] if table == "-" else table.replace(":", " ").split(","))
    if word[0] == "s":
        epochs.saved()
    return epochs
