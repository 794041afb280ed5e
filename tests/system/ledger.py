"""What a broker has acknowledged, kept where its power cannot go out."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import final

from millstream.client.topics import TopicPartition

Records = dict[TopicPartition, list[tuple[int, bytes]]]


@final
class Ledger:
    """Written by the load, and held against what is read in the end."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, dict[int, bytes]] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.tried_starts: dict[TopicPartition, int] = {}
        self.commits: dict[tuple[str, TopicPartition], int] = {}
        self.tried_commits: dict[tuple[str, TopicPartition], int] = {}
        self.keys: dict[bytes, bytes] = {}  # the last value of each, in a compacted topic
        self.topics: set[str] = set()
        self.unsure_topics: set[str] = set()  # asked for, and nobody knows
        self.faults: list[str] = []  # acknowledgements that cannot all be true
        self.acks: Counter[str] = Counter()  # by writer
        self._grown = asyncio.Event()

    def delivered(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        """A record was acknowledged at *offset*."""
        at = self.records.setdefault(partition, {})
        if offset < 0:
            self.faults.append(f"{partition}: an acknowledgement without an offset")
        elif offset in at:
            self.faults.append(f"{partition}: offset {offset} was acknowledged before, so the first is lost")
        at[offset] = value
        self.acks[value.split(b":", 1)[0].decode()] += 1
        self._grown.set()

    async def more(self, count: int, writers: Iterable[str]) -> None:
        """Return when *count* more records were acknowledged, and some to each of *writers*."""
        before = Counter(self.acks)
        while (self.acks - before).total() < count or any(self.acks[w] == before[w] for w in writers):
            self._grown.clear()
            await self._grown.wait()

    # What must hold

    def check_records(self, found: Records, starts: dict[TopicPartition, int]) -> None:
        """Every record lies where it was acknowledged, once, and there is nothing else.

        To be called when every record that was sent was acknowledged too.
        """
        assert not self.faults, self.faults[0]
        for partition, acked in self.records.items():
            start = starts[partition]
            there = found[partition]
            assert [offset for offset, _ in there] == list(range(start, start + len(there))), partition
            expected = sorted((offset, value) for offset, value in acked.items() if offset >= start)
            lost = sorted(set(expected).difference(there))
            assert not lost, f"{partition}: {len(lost)} of {len(expected)} lost, first at {lost[0][0]}"
            assert len(there) == len(expected), f"{partition}: records that nobody was told of"
            _check_order(partition, there)

    def check_kept(self, found: Records, starts: dict[TopicPartition, int]) -> None:
        """Every record lies where it was acknowledged. Others, whose answer was lost, may be there too."""
        assert not self.faults, self.faults[0]
        for partition, acked in self.records.items():
            there = dict(found[partition])
            for offset, value in acked.items():
                if offset >= starts[partition]:
                    is_there = there.get(offset) == value
                    assert is_there, f"{partition} offset {offset} is lost"

    def check_starts(self, starts: dict[TopicPartition, int]) -> None:
        """What was deleted stays so, and nothing more is gone."""
        for partition, start in starts.items():
            assert self.starts.get(partition, 0) <= start, partition
            assert start <= self.tried_starts.get(partition, 0), partition

    def check_commits(self, found: dict[tuple[str, TopicPartition], int]) -> None:
        for key, offset in self.commits.items():
            assert offset <= found.get(key, -1) <= self.tried_commits[key], key

    def check_keys(self, found: list[tuple[int, bytes]]) -> None:
        """Of each key the last value is there; those before it may be. A value begins with its key."""
        last = {value.split(b":", 1)[0]: value for _, value in found}
        assert last == self.keys

    def check_topics(self, found: set[str]) -> None:
        found = {name for name in found if not name.startswith("__")}
        assert self.topics - self.unsure_topics <= found, "topics are lost"
        assert found <= self.topics | self.unsure_topics, "topics are back"


def _check_order(partition: TopicPartition, there: list[tuple[int, bytes]]) -> None:
    """Each writer's records are in the order they were sent in."""
    last: dict[bytes, int] = {}
    for offset, value in there:
        writer, number, _ = value.split(b":", 2)
        assert int(number) > last.get(writer, -1), f"{partition} offset {offset}: out of order"
        last[writer] = int(number)
