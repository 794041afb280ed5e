"""What is answered to a request that will not do: a status, a code and a sentence."""

from typing import Final, final

from millstream.errors import ErrorCode, Refused

_STATUS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.UNKNOWN_TOPIC_ID: 404,
    ErrorCode.GROUP_ID_NOT_FOUND: 404,
    ErrorCode.TOPIC_ALREADY_EXISTS: 409,
    ErrorCode.NON_EMPTY_GROUP: 409,
    ErrorCode.UNKNOWN_MEMBER_ID: 409,  # a commit from outside into a group that has members
    ErrorCode.ILLEGAL_GENERATION: 409,
    ErrorCode.REBALANCE_IN_PROGRESS: 409,
    ErrorCode.MESSAGE_TOO_LARGE: 413,
    ErrorCode.RECORD_LIST_TOO_LARGE: 413,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: 429,
    ErrorCode.SASL_AUTHENTICATION_FAILED: 401,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.KAFKA_STORAGE_ERROR: 503,
    ErrorCode.NOT_ENOUGH_REPLICAS: 503,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: 503,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: 503,
    ErrorCode.NOT_COORDINATOR: 503,
}


@final
class Wrong(Exception):
    """The request is answered with *status*; *details* are for those who want to look closer."""

    def __init__(self, status: int, code: str, message: str, details: object = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


def status_of(code: ErrorCode) -> int:
    """The HTTP status that says what *code* does; the client's mistake unless we know better."""
    return _STATUS.get(code, 400)


def wrong(refusal: Refused) -> Wrong:
    return Wrong(status_of(refusal.code), refusal.code.name, refusal.detail)
