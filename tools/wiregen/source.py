"""Lines of Python being written, and what reading and writing code need to know in common."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tools.wiregen.schema import Field, Struct


class Source:
    """Lines at their indents."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def __call__(self, line: str = "") -> None:
        self.lines.append("    " * self._depth + line if line else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines written inside are indented below *head*."""
        self(head)
        self._depth += 1
        yield
        self._depth -= 1


@dataclass(frozen=True)
class Flavour:
    """A run of versions that share one encoding."""

    message: str
    min: int
    max: int
    flexible: bool

    @property
    def suffix(self) -> str:
        return "flexible" if self.flexible else "older"

    def has(self, field: Field) -> bool:
        """Some of these versions have *field*."""
        return field.min <= self.max and field.max >= self.min

    def always(self, field: Field) -> bool:
        """All of these versions have *field*."""
        return field.min <= self.min and field.max >= self.max

    def condition(self, low: int, high: int) -> str:
        """The test that a version of ours is between *low* and *high*; empty if all are."""
        if low > self.min and high < self.max:
            return f"version == {low}" if low == high else f"{low} <= version <= {high}"
        if low > self.min:
            return f"version >= {low}"
        return f"version <= {high}" if high < self.max else ""

    def null(self, field: Field) -> str:
        """The test that a version of ours lets *field* be null: "True", "False" or Python."""
        if field.null_from is None or field.null_from > self.max:
            return "False"
        return "True" if field.null_from <= max(self.min, field.min) else f"version >= {field.null_from}"

    def within(self, field: Field) -> "Flavour":
        """Those versions of ours that have *field*."""
        return replace(self, min=max(self.min, field.min), max=min(self.max, field.max))

    def fields(self, struct: Struct) -> list[Field]:
        """Those of *struct* in their place on the wire."""
        return [f for f in struct.fields if f.tag is None and self.has(f)]

    def tagged(self, struct: Struct) -> list[Field]:
        """Those of *struct* in its tag section."""
        found = [f for f in struct.fields if f.tag is not None and self.has(f)]
        return sorted(found, key=lambda f: f.tag or 0)

    def min_size(self, field: Field) -> int:
        """The fewest bytes *field* may take."""
        if field.array or field.type in ("string", "bytes", "records"):
            return 1 if self.flexible else struct.calcsize(len_format(field))
        if field.struct:
            return 1 if field.nullable else self.min_element_size(field)
        return struct.calcsize(">" + field.format)

    def min_element_size(self, field: Field) -> int:
        """The fewest bytes one element of the array *field* may take."""
        if not field.struct:
            return self.min_size(replace(field, array=False))
        inner = self.within(field)
        always = (f for f in inner.fields(field.struct) if inner.always(f))
        return max(1, sum(map(inner.min_size, always)) + self.flexible)


@dataclass
class Run:
    """Fields of one size that lie side by side, then perhaps the length of the next field or the tags.

    All are read or written by one call, in each interval of versions.
    """

    fields: list[Field]
    following: Field | None = None
    tags: bool = False

    def alone(self, flavour: Flavour) -> bool:
        """What follows is not of all versions, or has no length: it is handled by itself."""
        following = self.following
        return following is not None and (not flavour.always(following) or is_struct(following))

    def intervals(self, flavour: Flavour) -> list[tuple[int, list[Field]]]:
        """(first version, fields present) for each change, newest first."""
        starts = {flavour.min}
        for f in self.fields:
            starts |= {v for v in (f.min, f.max + 1) if flavour.min < v <= flavour.max}
        return [
            (start, [f for f in self.fields if f.min <= start <= f.max])
            for start in sorted(starts, reverse=True)
        ]


def runs(struct: Struct, flavour: Flavour) -> list[Run]:
    """The struct's fields cut into runs, each ending at a field of variable size."""
    found = [Run([])]
    for f in flavour.fields(struct):
        if f.format:
            if found[-1].following:
                found.append(Run([]))
            found[-1].fields.append(f)
            continue
        if found[-1].following:
            found.append(Run([]))
        found[-1].following = f
    if flavour.flexible:
        if found[-1].following:
            found.append(Run([]))
        found[-1].tags = True
    return [run for run in found if run.fields or run.following or run.tags]


def branches(out: Source, flavour: Flavour, run: Run, needed: bool = True) -> Iterator[list[Field]]:
    """Enter a branch for each interval of *run* and yield its fields; skip an empty last unless *needed*."""
    intervals = run.intervals(flavour)
    if len(intervals) == 1:
        yield intervals[0][1]
        return
    for place, (low, present) in enumerate(intervals):
        last = place == len(intervals) - 1
        if last and not present and not needed:
            return
        with out.block("else:" if last else f"{'elif' if place else 'if'} version >= {low}:"):
            yield present


def name_of(format: str) -> str:
    """*format* as a part of a Python name."""
    return format.replace("?", "o")


def len_format(field: Field) -> str:
    """How the length of a variable *field* is written in older versions."""
    return "h" if field.type == "string" and not field.array else "i"


def default_of(field: Field) -> str:
    """The Python expression of its default, as an argument's default."""
    if field.default == "null" or (field.struct and not field.array) or field.type == "records":
        return "None"
    if field.array:
        return "EMPTY"
    if field.type == "string":
        return f'"{field.default or ""}"'
    if field.type == "boolean":
        return (field.default or "false").capitalize()
    other = {"bytes": 'b""', "uuid": "ZERO_UUID", "float64": field.default or "0.0"}
    return other.get(field.type, field.default or "0")


def python_type(primitive: str) -> str:
    """The Python type that stands for *primitive*."""
    other = {"boolean": "bool", "float64": "float", "uuid": "bytes", "string": "str", "bytes": "bytes"}
    return other.get(primitive, "int")


def is_struct(field: Field) -> bool:
    """One struct rather than an array of them."""
    return field.struct is not None and not field.array


def always_there(field: Field) -> bool:
    """One struct that is never null, and empty by default."""
    return is_struct(field) and not optional(field)


def optional(field: Field) -> bool:
    """Its Python value may be None."""
    return field.nullable or (is_struct(field) and field.tag is not None)
