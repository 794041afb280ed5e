"""Exit codes that mean something, and the errors that carry them."""

import os
import sys
from enum import IntEnum
from typing import Final

from millstream.errors import ErrorCode


class Exit(IntEnum):
    """What a script may conclude."""

    OK = 0
    NO = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    CANNOT_START = 5
    DISK_FAILED = 74  # EX_IOERR
    INTERRUPTED = 130


EPILOG: Final = """\
\b
Exit codes:
  0    done
  1    not found, or the answer is no (a partition without a leader, ...)
  2    the command line, or the input, is wrong
  3    no broker could be reached, or none answered in time
  4    the broker refused
  5    serve: could not start (port or data directory taken, registry damaged)
  74   serve: the disk failed; what was acknowledged is on it, look at it before the next start
  130  interrupted
"""


class Failure(Exception):
    """The command ends here; the message is for the user, in one line."""

    def __init__(self, message: str, code: Exit = Exit.NO) -> None:
        super().__init__(message)
        self.code = code


_NOT_FOUND: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
    }
)


def seen_enough() -> Exit:
    """Whoever read our output has gone: no failure, and nothing for Python to complain of at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK


def exit_of(code: ErrorCode) -> Exit:
    """The exit code for a broker's refusal with *code*."""
    return Exit.NO if code in _NOT_FOUND else Exit.REFUSED
