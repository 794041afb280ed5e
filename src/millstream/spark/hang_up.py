"""The end of a stream's reader, without a traceback on the terminal.

Spark has a process of Python's own for each stream, which it asks by a socket how far
topics are. To stop it, Spark closes the socket, and then ends the process. Between the
two the process tries to say by that socket that there is nobody left to read from,
fails, and Python prints both failures where the user looks.
"""

import sys
from types import TracebackType


def expect_hang_up() -> None:
    """Called when a reader is stopped: if that is for a failure, the other side may be gone as well.

    What went wrong before is still told to Spark if it listens; that it does not is no news.
    """
    if sys.exc_info()[0] is not None:
        sys.excepthook = _unless_hung_up


def _unless_hung_up(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(problem, BrokenPipeError | ConnectionResetError):
        sys.__excepthook__(kind, problem, trace)
