"""Which ranges of a file have been looked at."""

from typing import Final, final

_MOST: Final = 32  # readers in different places; forgetting a range only means looking again


@final
class Spans:
    """Ranges that neither touch nor overlap, in order."""

    __slots__ = ("_spans",)

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def missing(self, first: int, end: int) -> list[tuple[int, int]]:
        """The parts of *first* to *end* that were not added yet."""
        missing = []
        for span_first, span_end in self._spans:
            if span_end <= first or span_first >= end:
                continue
            if span_first > first:
                missing.append((first, span_first))
            first = span_end
        if first < end:
            missing.append((first, end))
        return missing

    def add(self, first: int, end: int) -> None:
        apart = []
        for span in self._spans:
            if span[1] < first or span[0] > end:
                apart.append(span)
            else:
                first, end = min(first, span[0]), max(end, span[1])
        apart.append((first, end))
        apart.sort()
        self._spans = apart[-_MOST:]

    def truncate(self, end: int) -> None:
        self._spans = [(first, min(last, end)) for first, last in self._spans if first < end]
