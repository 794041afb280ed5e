"""What may go wrong, told apart by what a program would do about it."""

from collections.abc import Mapping
from typing import Any, Final


class QueueError(Exception):
    """Anything that goes wrong between this program and the queue."""


class Unreachable(QueueError):
    """No answer, or none that made sense, however often it was tried.

    *may_be_done* is whether the broker may have done what was asked all the
    same: a message may then be there, once or more, always with its messageId.
    """

    def __init__(self, message: str, *, may_be_done: bool) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


class Rejected(QueueError):
    """The broker understood and declined; *status* is HTTP's, *code* the broker's own, if it gave one."""

    def __init__(self, status: int, code: str | None, message: str) -> None:
        super().__init__(f"{message} ({code or f'HTTP {status}'})")
        self.status = status
        self.code = code


class TopicNotFound(Rejected):
    """There is no such topic, or no such partition of it."""


class NoPartitionAvailable(Rejected):
    """Every partition of the topic has its consumer; more consumers need more partitions."""


class InvalidOffset(Rejected):
    """A commit of what is not there to be committed."""


class NotAllowed(Rejected):
    """User name and password are missing, wrong, or not enough."""


_BY_CODE: Final[Mapping[str, type[Rejected]]] = {
    "TOPIC_NOT_FOUND": TopicNotFound,
    "PARTITION_NOT_FOUND": TopicNotFound,
    "NO_PARTITION_AVAILABLE": NoPartitionAvailable,
    "INVALID_OFFSET": InvalidOffset,
}
_BY_STATUS: Final[Mapping[int, type[Rejected]]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: TopicNotFound,
    409: NoPartitionAvailable,
}


def rejection(status: int, body: Any) -> Rejected:
    """The exception for a reply of *status* with *body*, its JSON if it has any."""
    said = body if isinstance(body, Mapping) else {}
    code = said.get("errorCode")
    code = code if isinstance(code, str) else None
    error = said.get("error")
    message = error if isinstance(error, str) else f"the broker answered with status {status}"
    kind = _BY_CODE.get(code or "") or _BY_STATUS.get(status) or Rejected
    return kind(status, code, message)
