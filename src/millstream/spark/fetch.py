"""Reads one range of offsets, as columns. Runs in the executors.

The next fetch is sent before what the last one brought is decoded, so that the
broker works while we do. Nothing but the record batches of at most two
responses is held.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final, final

from millstream.client.isolation import visible
from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.refusals import check
from millstream.client.topics import TopicPartition
from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import split
from millstream.records.columns import Decoder, end_offset
from millstream.spark.blocking import Blocking
from millstream.spark.options import SourceOptions
from millstream.spark.plan import Gap, Range
from millstream.spark.view import report
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)

_BY_NAME: Final = 12  # the last Fetch version that names topics
_MOST_PUZZLED: Final = 5


def read_range(options: SourceOptions, wanted: Range) -> Iterator[Any]:
    """The records of *wanted* as Arrow record batches, in order."""
    topic, partition = wanted.partition
    decoder = Decoder(topic, partition, headers=options.headers)
    with Blocking(options.reach) as cluster:
        reader = _Reader(cluster, options, wanted)
        position = wanted.first
        reader.ask(position)
        while position < wanted.until:
            answer = reader.answer(position)
            if answer is None:
                position = reader.skip_gap(position)
                following = position
                run: Buffer = b""
            else:
                run = _run(answer)
                following = _following(wanted.partition, run, position)
            if following < wanted.until:
                reader.ask(following)
            if run and answer is not None:
                yield from _decoded(decoder, answer, run, position, wanted)
            position = following


@final
class _Reader:
    """One fetch under way to the leader of one partition."""

    def __init__(self, cluster: Blocking, options: SourceOptions, wanted: Range) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._options = options
        self._wanted = wanted
        self._under_way: asyncio.Task[FetchResponsePartition] | None = None
        self._puzzled = 0

    def ask(self, position: int) -> None:
        """Send a fetch from *position*."""
        self._under_way = self._cluster.begin(self._fetch(position))

    def answer(self, position: int) -> FetchResponsePartition | None:
        """What came of the fetch from *position*; None if the log does not go so far back, or so far.

        Trouble that may pass is waited out, as long as the client has patience.
        """
        assert self._under_way is not None
        first: list[asyncio.Task[FetchResponsePartition]] = [self._under_way]

        async def attempt() -> FetchResponsePartition:
            return await (first.pop() if first else self._fetch(position))

        try:
            answer = self._cluster.retry(attempt)
        except Refused as refusal:
            if refusal.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            return None
        ends = answer.last_stable_offset if self._options.committed_only else answer.high_watermark
        return None if not answer.records and ends <= position else answer

    def skip_gap(self, position: int) -> int:
        """Report what is missing from *position* on; where the log goes on, or the end of what is wanted."""
        begins, ends = self._offset(EARLIEST), self._offset(LATEST)
        partition, until = self._wanted.partition, self._wanted.until
        if begins > position:
            gap = Gap(partition, position, min(begins, until), begins)
        elif ends <= position:
            gap = Gap(partition, position, until, begins, ends)
        else:
            return self._once_more(position)
        report([gap], fail=self._options.fail_on_data_loss)
        return gap.until

    def _once_more(self, position: int) -> int:
        """The log says that it has *position* and does not give it: leaders may have changed just now."""
        if self._puzzled == _MOST_PUZZLED:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"{self._wanted.partition} does not give offset {position}"
            )
        self._puzzled += 1
        self._cluster.run(asyncio.sleep(self._client.backoff(self._puzzled)))
        return position

    def _offset(self, which: int) -> int:
        partition = self._wanted.partition
        committed_only = self._options.committed_only
        found = self._cluster.run(
            list_offsets(self._client, {partition: which}, committed_only=committed_only)
        )
        return found[partition] or 0

    async def _fetch(self, position: int) -> FetchResponsePartition:
        partition = self._wanted.partition
        options = self._options
        one = FetchRequestPartition(
            partition=partition.partition, fetch_offset=position, partition_max_bytes=options.fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=options.fetch_wait_ms,
            min_bytes=1,
            max_bytes=options.fetch_bytes,
            isolation_level=int(options.committed_only),
            topics=[FetchRequestTopic(topic=partition.topic, partitions=[one])],
        )
        connection = await self._client.to(await self._client.leader(partition))
        timeout = options.fetch_wait_ms / 1000 + self._client.timeout
        said = await connection.request(request, FetchResponse, at_most=_BY_NAME, timeout=timeout)
        check(said.error_code, f"fetch of {partition}")
        answer = said.responses[0].partitions[0]
        check(answer.error_code, f"fetch of {partition} from offset {position}")
        return answer


def _run(answer: FetchResponsePartition) -> Buffer:
    records = answer.records or b""
    assert isinstance(records, bytes | memoryview), type(records)
    return records


def _following(partition: TopicPartition, run: Buffer, position: int) -> int:
    """Where to go on after *run*, which was fetched from *position*."""
    try:
        following = end_offset(run, default=position)
    except Refused as refusal:
        raise _located(refusal, partition, position) from None
    if run and following <= position:
        raise Refused(
            ErrorCode.CORRUPT_MESSAGE, f"{partition} at offset {position}: a fetch that leads nowhere"
        )
    return following


def _decoded(
    decoder: Decoder, answer: FetchResponsePartition, run: Buffer, position: int, wanted: Range
) -> Iterator[Any]:
    if answer.aborted_transactions:
        shown = visible(split(run), answer.aborted_transactions)
        run = b"".join(batch.data for batch, counts in shown if counts)
    try:
        yield from decoder.decode(run, position, wanted.until)
    except Refused as refusal:
        raise _located(refusal, wanted.partition, position) from None


def _located(refusal: Refused, partition: TopicPartition, position: int) -> Refused:
    return Refused(refusal.code, f"{partition}, in what follows offset {position}: {refusal.detail}")
