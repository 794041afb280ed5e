"""Who reads what: offsets shared out to a batch and to its tasks. Pure: told all it needs to know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, final

from millstream.client.topics import TopicPartition


class Range(NamedTuple):
    """Offsets of one partition, from *first* and before *until*."""

    partition: TopicPartition
    first: int
    until: int

    @property
    def size(self) -> int:
        return self.until - self.first


@final
@dataclass(frozen=True)
class Gap:
    """Offsets that were to be read and are no longer there; *begins* and *ends* are those of the log now."""

    partition: TopicPartition
    first: int
    until: int
    begins: int
    ends: int | None = None

    def __str__(self) -> str:
        one = self.until == self.first + 1
        what = f"offset {self.first} is" if one else f"offsets {self.first} to {self.until - 1} are"
        if self.ends is None:
            return f"{self.partition}: {what} gone; the partition now begins at {self.begins}"
        return (
            f"{self.partition}: {what} not there; the partition ends at {self.ends}: "
            "was the topic deleted and created again?"
        )


@final
@dataclass(frozen=True)
class Gone:
    """A partition that is no longer there, and up to where it had been read."""

    partition: TopicPartition
    read_until: int

    def __str__(self) -> str:
        return (
            f"{self.partition}: the whole partition is gone; it had been read up to offset {self.read_until}"
        )


Loss = Gap | Gone


class DataLoss(RuntimeError):
    """Records that were to be read are gone."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        lines = "\n".join(f"  {loss}" for loss in losses)
        super().__init__(
            f"some of what was to be read is gone:\n{lines}\n"
            "To go on with what is left set the option failOnDataLoss to false."
        )


def limited(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], most: int
) -> dict[TopicPartition, int]:
    """*end*, or nearer to *start* so that at most *most* offsets lie between, to each partition its share."""
    waiting = {each: max(0, end[each] - start.get(each, 0)) for each in sorted(end)}
    total = sum(waiting.values())
    if total <= most:
        return dict(end)
    shares = {each: size * most // total for each, size in waiting.items()}
    left = most - sum(shares.values())  # fewer than there are partitions: one each to those cut shortest
    for each in sorted(waiting, key=lambda each: -(waiting[each] * most % total))[:left]:
        shares[each] += 1
    return {each: min(start.get(each, 0), end[each]) + share for each, share in shares.items()}


def tasks(ranges: Iterable[Range], least: int | None, most_records: int | None) -> list[Range]:
    """*ranges* cut into at least *least*, if there are so many offsets, of at most *most_records* each."""
    wanted = [each for each in ranges if each.size > 0]
    if most_records is not None:
        wanted = [piece for each in wanted for piece in _cut(each, -(-each.size // most_records))]
    if least is None or len(wanted) >= least:
        return wanted
    total = sum(each.size for each in wanted)
    # Larger ranges get more of the cuts; rounding up may make a few more tasks than asked for.
    return [piece for each in wanted for piece in _cut(each, -(-each.size * least // total))]


def _cut(whole: Range, pieces: int) -> list[Range]:
    pieces = min(max(pieces, 1), whole.size)
    edges = [whole.first + whole.size * place // pieces for place in range(pieces + 1)]
    return [Range(whole.partition, first, until) for first, until in pairwise(edges)]
