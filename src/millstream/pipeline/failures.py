"""What Spark says when a query fails, made short."""

import functools
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

MOST_TRIES: Final = 10
T = TypeVar("T")

_RAISED: Final = "[USER_RAISED_EXCEPTION] "
_PYTHON: Final = re.compile(
    r"^(?:\w+\.)*\w+(?:Error|Exception|Loss|Option|Refused|Incompatible|Contended|Pipeline): (.+(?:\n  .+)*)",
    re.M,
)

# Spark gives a Python worker ten seconds to start, which a busy machine does not always manage.
_PASSING: Final = ("Python worker failed to connect back", "Timed out while waiting for the Python worker")


class BatchFailed(RuntimeError):
    """Spark could not make a batch's rows; the message is what Java said of it, without its stacks."""


def briefly(each: Callable[[Any, int], object]) -> Callable[[Any, int], None]:
    """*each*, for `foreachBatch`, so that a failure in Java is told without Java's stacks.

    When a query is stopped, Spark looks through the message of the batch that it gave up with a regular
    expression that takes stack for every character: over some pages of message it overflows, and that is
    what a terminal would show.
    """

    @functools.wraps(each)
    def call(batch: Any, number: int) -> None:
        from py4j.protocol import Py4JJavaError

        try:
            each(batch, number)
        except Py4JJavaError as problem:
            lines = str(problem).splitlines()
            text = "\n".join(line for line in lines if not line.startswith(("\tat ", "\t... ")))
            raise BatchFailed(text) from None

    return call


def may_pass(text: str) -> bool:
    """Whether what Spark says is of the moment, so that it is worth trying again."""
    return any(each in text for each in _PASSING)


def patiently(action: Callable[[], T]) -> T:
    """What *action* returns, tried again while it fails for a reason that may pass."""
    for _ in range(MOST_TRIES - 1):
        try:
            return action()
        except Exception as problem:
            if not may_pass(str(problem)):
                raise
    return action()


def cause(text: str) -> str:
    """What a person wants to read of Spark's account of a failure, which goes on for pages."""
    if _RAISED in text:
        return text.partition(_RAISED)[2].splitlines()[0].partition(" SQLSTATE")[0]
    found: list[str] = _PYTHON.findall(text)
    if found:
        return found[-1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "it stopped, and Spark does not say why"
