"""The commonest request, known at a glance: one message for the queue, come whole, with no unusual header.

Nearly all that producers send is of this kind, and going through it header by
header costs more than what is then done with it. Whatever is otherwise, by a
single character, is left to the parser: this takes nothing that it would not.
A client's heads are all alike, but for the length of the body: those seen
before are not even looked at, only for.
"""

import re
from typing import Final, final

# Headers that would change how a request is read or answered.
_MEANS_MORE: Final = (
    rb"transfer-encoding|content-length|content-encoding|connection(?!: keep-alive\r)|keep-alive|upgrade"
    rb"|expect|te|trailer|origin|authorization|proxy-[a-z-]+|sec-[a-z-]+"
)
_HEADER: Final = rb"(?:(?!(?:" + _MEANS_MORE + rb"):)[a-z0-9_-]+: ?[ -~]*\r\n)"
_PLAIN: Final = re.compile(
    rb"POST /ingress/([A-Za-z0-9._-]+) HTTP/1\.1\r\n(?i:"
    + _HEADER
    + rb"{0,20}content-length: (0|[1-9][0-9]{0,5})\r\n"
    + _HEADER
    + rb"{0,20})\r\n"
)
_MOST_HEADS: Final = 1_000
_LONGEST_HEAD: Final = 1_000


@final
class Heads:
    """Heads of such requests, and what there is to know of each: the topic, and the length of the body."""

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._known: dict[bytes, tuple[str, int]] = {}

    def find(self, data: bytes) -> tuple[str, int] | None:
        """Of the one request that *data* is, if it is of this kind: its topic, and where its body begins."""
        end = data.find(b"\r\n\r\n") + 4
        known = self._known.get(data[:end]) or self._learn(data, end)
        if known is None or known[1] != len(data) - end:
            return None
        return known[0], end

    def _learn(self, data: bytes, end: int) -> tuple[str, int] | None:
        found = _PLAIN.fullmatch(data, 0, end)
        if found is None:
            return None
        known = found[1].decode(), int(found[2])
        if known[1] > self._max_body_bytes:
            return None
        if end <= _LONGEST_HEAD:
            if len(self._known) >= _MOST_HEADS:
                self._known.clear()  # they are soon learnt again, and the memory is bounded
            self._known[data[:end]] = known
        return known
