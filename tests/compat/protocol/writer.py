"""A transactional producer, one request at a time."""

from collections.abc import Mapping, Sequence
from typing import final

from tests.compat.protocol.asking import NOW_MS, fetch, fetching, part, producing, records
from tests.compat.protocol.line import Line

from millstream.errors import ErrorCode
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.read import read
from millstream.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from millstream.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnRequestTopic,
    AddPartitionsToTxnResponse,
)
from millstream.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchResponse,
)
from millstream.wire.messages.produce import ProduceResponse
from millstream.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

OLDER, NEWER = False, True
NOBODY = -1


@final
class Writer:
    """Every method gives the error code of its answer, and remembers what the answer says of the producer."""

    def __init__(self, wire: Line, id: str, newer: bool) -> None:
        self.wire = wire
        self.id = id
        self.newer = newer
        self.producer_id = NOBODY
        self.epoch = NOBODY
        self.sequences: dict[tuple[str, int], int] = {}

    def begin(self, timeout_ms: int = 60_000, *, again: bool = False, version: int = 5) -> ErrorCode:
        """Become the one who writes under this id; *again*: saying who one is."""
        known = (self.producer_id, self.epoch) if again else (NOBODY, NOBODY)
        request = InitProducerIdRequest(self.id, timeout_ms, *known)
        answer = self.wire.ask(request, InitProducerIdResponse, version)
        if not answer.error_code:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def begin_at_last(self) -> None:
        """As `begin`, and once more while what was left open is being aborted."""
        while (code := self.begin()) is ErrorCode.CONCURRENT_TRANSACTIONS:
            pass
        assert code is ErrorCode.NONE

    def join(self, topic: str, *partitions: int, version: int = 3) -> list[ErrorCode]:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnRequestTopic(topic, list(partitions))],
        )
        answer = self.wire.ask(request, AddPartitionsToTxnResponse, version)
        (result,) = answer.results_by_topic_v3_and_below
        return [ErrorCode(each.partition_error_code) for each in result.results_by_partition]

    def send(self, topic: str, *values: bytes, partition: int = 0, version: int | None = None) -> ErrorCode:
        place = topic, partition
        sequence = self.sequences.get(place, 0)
        batch = build(
            [NewRecord(b"k", value) for value in values],
            now_ms=NOW_MS,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        request = producing(topic, {partition: bytes(batch)})
        request.transactional_id = self.id
        if version is None:
            version = 12 if self.newer else 11
        (answer,) = self.wire.ask(request, ProduceResponse, version).responses
        (result,) = answer.partition_responses
        if not result.error_code:
            self.sequences[place] = sequence + len(values)
        return ErrorCode(result.error_code)

    def write(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """Send in the transaction, which the partition joins first if need be."""
        if not self.newer:
            assert self.join(topic, partition) == [ErrorCode.NONE]
        assert self.send(topic, *values, partition=partition) is ErrorCode.NONE

    def end(self, commit: bool, version: int | None = None) -> ErrorCode:
        if version is None:
            version = 5 if self.newer else 4
        request = EndTxnRequest(self.id, self.producer_id, self.epoch, commit)
        answer = self.wire.ask(request, EndTxnResponse, version)
        if not answer.error_code and version >= 5:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def commit(self, version: int | None = None) -> ErrorCode:
        return self.end(True, version)

    def abort(self, version: int | None = None) -> ErrorCode:
        return self.end(False, version)

    def join_offsets(self, group: str, version: int = 4) -> ErrorCode:
        request = AddOffsetsToTxnRequest(self.id, self.producer_id, self.epoch, group)
        return ErrorCode(self.wire.ask(request, AddOffsetsToTxnResponse, version).error_code)

    def commit_offsets(
        self,
        group: str,
        topic: str,
        offsets: Mapping[int, int],
        *,
        version: int | None = None,
        member: tuple[str, int] = ("", NOBODY),
    ) -> list[ErrorCode]:
        if version is None:
            version = 5 if self.newer else 4
        request = TxnOffsetCommitRequest(
            self.id,
            group,
            self.producer_id,
            self.epoch,
            generation_id=member[1],
            member_id=member[0],
            topics=[
                TxnOffsetCommitRequestTopic(
                    topic,
                    [TxnOffsetCommitRequestPartition(index, at, -1, "") for index, at in offsets.items()],
                )
            ],
        )
        (answer,) = self.wire.ask(request, TxnOffsetCommitResponse, version).topics
        return [ErrorCode(each.error_code) for each in answer.partitions]

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch


def committed(wire: Line, topic: str, partition: int = 0) -> tuple[list[bytes | None], int]:
    """The values that a reader of committed records gets, and the last stable offset."""
    values: list[bytes | None] = []
    aborting: set[int] = set()
    offset, end = 0, 1
    while offset < end:
        (found,) = fetch(wire, fetching(topic, part(offset, partition), isolation=1))
        assert found.error_code == 0
        assert found.aborted_transactions is not None
        starts = {(each.producer_id, each.first_offset) for each in found.aborted_transactions}
        end = found.last_stable_offset
        if not found.records:
            break
        for batch in split(records(found)):
            aborting |= {id for id, first in starts if first <= batch.base_offset and id == batch.producer_id}
            if batch.is_control:
                aborting.discard(batch.producer_id)
                starts = {
                    each for each in starts if each[0] != batch.producer_id or each[1] > batch.base_offset
                }
            elif not batch.is_transactional or batch.producer_id not in aborting:
                values += [record.value for record in read(batch, max_bytes=1 << 20)]
            offset = batch.last_offset + 1
    return values, end


def offsets_of(
    wire: Line, group: str, topic: str, partitions: Sequence[int], *, stable: bool
) -> list[tuple[ErrorCode, int]]:
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group, topics=[OffsetFetchRequestGroupTopic(topic, partition_indexes=list(partitions))]
            )
        ],
        require_stable=stable,
    )
    (answer,) = wire.ask(request, OffsetFetchResponse, 9).groups
    (found,) = answer.topics
    return [(ErrorCode(each.error_code), each.committed_offset) for each in found.partitions]
