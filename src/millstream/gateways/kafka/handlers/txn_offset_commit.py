"""TxnOffsetCommit (key 28), versions 0 to 5: how far a group has come, once a transaction commits.

Behaviour
- Kept apart until the transaction ends: OffsetFetch does not tell it before, and who asks for stable
  offsets is told to wait.
- What is wrong with one partition never touches its neighbours; what is wrong with the member or the
  producer is said of all.

Versions
- 2   leader epochs
- 3   flexible; the member and its generation, which are checked if they are given
- 4   TRANSACTION_ABORTABLE where the group was not added to the transaction
- 5   the group joins the transaction by being committed for
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.transaction_errors import txn_offset_commit_error
from millstream.groups.offsets import Commit, NewOffset
from millstream.transactions.transaction import IMPLICIT, Identity
from millstream.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_IMPLICIT_FROM: Final = 5


async def handle(
    broker: Broker, session: Session, request: TxnOffsetCommitRequest, version: int
) -> TxnOffsetCommitResponse:
    commit = Commit(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        offsets=tuple(
            NewOffset(
                topic=topic.name,
                partition=partition.partition_index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=partition.committed_metadata,
            )
            for topic in request.topics
            for partition in topic.partitions
        ),
    )
    errors: dict[tuple[str, int], ErrorCode] = {}
    otherwise = ErrorCode.NONE
    try:
        done = await broker.transactions.commit_offsets(
            session,
            request.transactional_id,
            Identity(request.producer_id, request.producer_epoch),
            request.group_id,
            commit,
            IMPLICIT if version >= _IMPLICIT_FROM else 0,
        )
        errors = done.errors
    except Refused as refusal:
        otherwise = txn_offset_commit_error(refusal.code, version)
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=errors.get((topic.name, each.partition_index), otherwise),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
