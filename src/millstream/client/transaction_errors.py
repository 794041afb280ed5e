"""What can go wrong in a transaction, and what it means for it."""

from enum import Enum
from typing import Final, final

from millstream.client.cluster import worth_retrying
from millstream.errors import ErrorCode, Refused

_ENDS_US: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
)
_PASSES: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.CONCURRENT_TRANSACTIONS})


class Severity(Enum):
    """What a problem means for a transaction."""

    RETRIABLE = "another try may succeed"
    ABORTABLE = "this transaction cannot be committed, the next one can"
    FATAL = "this producer can do nothing more"


def severity(problem: Exception) -> Severity:
    """How bad *problem* is, as Kafka's own clients judge it."""
    if worth_retrying(problem) or (isinstance(problem, Refused) and problem.code in _PASSES):
        return Severity.RETRIABLE
    if isinstance(problem, Refused) and problem.code in _ENDS_US:
        return Severity.FATAL
    return Severity.ABORTABLE


class TransactionFailed(Exception):
    """*problem* keeps the transaction from being committed."""

    def __init__(self, what: str, problem: Exception) -> None:
        super().__init__(f"{what}: {problem}")
        self.problem = problem


@final
class MustAbort(TransactionFailed):
    """The transaction is spoilt by *problem*: abort it."""

    def __init__(self, problem: Exception) -> None:
        super().__init__("the transaction must be aborted", problem)


@final
class Ended(TransactionFailed):
    """The producer is of no more use, because of *problem*: close it."""

    def __init__(self, problem: Exception) -> None:
        super().__init__("the producer can write no more", problem)
