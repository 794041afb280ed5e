"""The offset grammar brought to a cluster: which partitions, and which offsets in each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import click

from millstream.cli.exits import Failure
from millstream.cli.offsets import InvalidOffset, Resolved, Span, parse, resolve
from millstream.cli.session import existing_topic
from millstream.client.cluster import Client
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.topics import TopicPartition
from millstream.env.clock import Clock, SystemClock


@final
@dataclass(frozen=True)
class Place:
    """A partition that holds *low* up to but not including *high*, and the part of it that is meant."""

    low: int
    high: int
    span: Resolved


Places = dict[TopicPartition, Place]


async def chosen_partitions(client: Client, topic: str, partitions: Sequence[int]) -> list[TopicPartition]:
    """Those *partitions* of *topic*, or all of them if none is named."""
    found = await existing_topic(client, topic)
    count = len(found.partitions)
    for index in partitions:
        if index >= count:
            raise Failure(f"{topic!r} has no partition {index}; they are 0 to {count - 1}")
    return [TopicPartition(topic, index) for index in sorted(set(partitions)) or range(count)]


async def find_places(
    client: Client, text: str, partitions: Iterable[TopicPartition], *, committed_only: bool = False
) -> Places:
    """What *text*, in the offset grammar, means in each of *partitions*.

    For who reads *committed_only*, they end at the last stable offset.
    """
    wanted = sorted(partitions)
    span = read_span(text)
    low = await list_offsets(client, dict.fromkeys(wanted, EARLIEST))
    high = await list_offsets(client, dict.fromkeys(wanted, LATEST), committed_only=committed_only)
    times = {at: await list_offsets(client, dict.fromkeys(wanted, at)) for at in span.times_ms}
    places = {}
    for each in wanted:
        first, end = low[each] or 0, high[each] or 0
        by_time = {at: found[each] for at, found in times.items()}
        places[each] = Place(first, end, resolve(span, first, end, by_time))
    return places


def read_span(text: str, clock: Clock | None = None) -> Span:
    """*text* in the offset grammar; a usage error if it is not."""
    try:
        return parse(text, (clock or SystemClock()).now_ms())
    except InvalidOffset as problem:
        raise click.UsageError(str(problem)) from None
