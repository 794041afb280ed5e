"""Regular expressions that strangers write.

They are RE2's, as in Kafka: matched in time linear in the name, whatever the
expression, and compiled within a limit of memory.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

from millstream.errors import ErrorCode, Refused

_MAX_BYTES: Final = 1 << 20  # of memory, for one expression
_MAX_CHARS: Final = 4_096


class _Pattern(Protocol):
    def fullmatch(self, text: str) -> object: ...


def check_regex(regex: str) -> None:
    """Refuse what is no regular expression, or too large a one."""
    _compiled(regex)


def matching(regex: str, names: Iterable[str]) -> frozenset[str]:
    """Those of *names* that *regex* matches as a whole."""
    matches = _compiled(regex).fullmatch
    return frozenset(name for name in names if matches(name))


@lru_cache(maxsize=128)
def _compiled(regex: str) -> _Pattern:
    import re2  # only groups that subscribe by a pattern need it

    if len(regex) > _MAX_CHARS:
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"more than {_MAX_CHARS} characters")
    options = re2.Options()
    options.max_mem = _MAX_BYTES
    options.log_errors = False
    try:
        compiled: _Pattern = re2.compile(regex, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if error.args else "it makes no sense"
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{regex!r}: {why}") from None
    return compiled
