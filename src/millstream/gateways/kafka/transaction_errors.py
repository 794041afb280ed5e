"""Refusals of transactions, said so that each version of a client understands them."""

from typing import Final

from millstream.errors import ErrorCode

_FENCED_FROM: Final = 2
_INIT_FENCED_FROM: Final = 4
_ABORTABLE_FROM: Final = 11
_IMPLICIT_FROM: Final = 12
_TROUBLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def end_txn_error(code: ErrorCode, version: int) -> ErrorCode:
    """*code* as EndTxn, AddPartitionsToTxn and AddOffsetsToTxn say it."""
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_FROM:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def init_error(code: ErrorCode, version: int) -> ErrorCode:
    """*code* as InitProducerId says it."""
    if code is ErrorCode.PRODUCER_FENCED and version < _INIT_FENCED_FROM:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def produce_error(code: ErrorCode, version: int) -> ErrorCode:
    """*code* as Produce says it, whose clients never hear from a coordinator otherwise."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.INVALID_TXN_STATE and version >= _ABORTABLE_FROM:
        return ErrorCode.TRANSACTION_ABORTABLE
    if code in _TROUBLE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < _IMPLICIT_FROM):
        return ErrorCode.NOT_ENOUGH_REPLICAS  # try again
    return code


def txn_offset_commit_error(code: ErrorCode, version: int) -> ErrorCode:
    """*code* as TxnOffsetCommit says it: its clients know the errors of groups, and few of transactions."""
    match code:
        case ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        case ErrorCode.INVALID_TXN_STATE if version >= 4:
            return ErrorCode.TRANSACTION_ABORTABLE
        case ErrorCode.CONCURRENT_TRANSACTIONS if version < 5:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # try again
        case ErrorCode.GROUP_ID_NOT_FOUND:
            return ErrorCode.ILLEGAL_GENERATION
        case ErrorCode.ILLEGAL_GENERATION | ErrorCode.UNKNOWN_MEMBER_ID if version < 3:
            return ErrorCode.ILLEGAL_GENERATION
    return code
