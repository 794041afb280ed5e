"""The declarations in src/millstream/wire/schema, read into values.

A file declares one API:

    # One line on what it is for.
    Produce: key 0, versions 3-13, flexible from 9

    request
      acks: int16
      topic_data: [TopicData]
        name: string 3-12
        topic_id: uuid 13+

Each field is a line, in the order of the wire:

    name: type[?][ versions][ tag N][ = default]

- a type is a primitive, a struct (its fields follow, indented), or either in [] for an array
- `?` may be null in every version, `?10+` from version 10
- `3-12`, `13+`, `0`: the versions that have the field; all of its parent's if not said
- `tag 0`: a tagged field, written only when it is not at its default
- without a default: 0, false, "", no bytes, an empty list; records and tagged structs: null
- a struct named before in the same message is not declared again
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PRIMITIVES: Final = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
    "string": "",
    "bytes": "",
    "records": "",
}
"""Each primitive with its struct format; none for those whose size varies."""

_HEAD: Final = re.compile(
    r"(?P<name>\w+): key (?P<key>\d+), versions? (?P<min>\d+)(?:-(?P<max>\d+))?, "
    r"(?:flexible from (?P<flexible>\d+)|never flexible)(?:, advertised from (?P<advertised>\d+))?"
)
_FIELD: Final = re.compile(
    r"(?P<name>\w+): (?P<array>\[)?(?P<type>\w+)\]?(?P<null>\?(?:(?P<null_from>\d+)\+)?)?"
    r"(?: (?P<from>\d+)(?:(?P<open>\+)|-(?P<to>\d+))?)?(?: tag (?P<tag>\d+))?(?: = (?P<default>\S+))?"
)


@dataclass(frozen=True)
class Field:
    name: str
    type: str  # a primitive's name or a struct's
    struct: "Struct | None"  # if the type is one
    array: bool
    min: int
    max: int
    null_from: int | None
    tag: int | None
    default: str | None

    @property
    def nullable(self) -> bool:
        return self.null_from is not None

    @property
    def format(self) -> str:
        """Its struct format if it is of one size, else nothing."""
        return "" if self.array or self.struct else PRIMITIVES[self.type]


@dataclass
class Struct:
    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass(frozen=True)
class Api:
    name: str
    about: str
    key: int
    min: int
    max: int
    flexible: int  # max + 1 if never
    advertised: int
    request: Struct
    response: Struct


def read_api(path: Path) -> Api:
    """The API declared at *path*."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    about = lines[0].removeprefix("# ")
    head = _HEAD.fullmatch(lines[1])
    assert head, f"{path}: {lines[1]}"
    low = int(head["min"])
    high = int(head["max"] or low)
    split = lines.index("response")
    assert lines[2] == "request", path
    return Api(
        head["name"],
        about,
        int(head["key"]),
        low,
        high,
        int(head["flexible"] or high + 1),
        int(head["advertised"] or low),
        _message(f"{head['name']}Request", lines[3:split], low, high),
        _message(f"{head['name']}Response", lines[split + 1 :], low, high),
    )


def _message(name: str, lines: list[str], low: int, high: int) -> Struct:
    structs: dict[str, Struct] = {}
    message = Struct(name)
    rest = _fields(message, lines, 2, low, high, structs)
    assert not rest, f"{name}: {rest[0]}"
    return message


def _fields(
    into: Struct, lines: list[str], indent: int, low: int, high: int, structs: dict[str, Struct]
) -> list[str]:
    """Declare the fields of *into* from the first *lines*, those at *indent*; return the other lines."""
    while lines and len(lines[0]) - len(lines[0].lstrip()) == indent:
        found = _FIELD.fullmatch(lines[0].strip())
        assert found, f"{into.name}: {lines[0]}"
        lines = lines[1:]
        first = int(found["from"] or low)
        last = int(found["to"] or (high if found["open"] or not found["from"] else first))
        assert low <= first <= last <= high, f"{into.name}.{found['name']}"
        struct = None
        if found["type"] not in PRIMITIVES:
            known = structs.get(found["type"])
            struct = known or structs.setdefault(found["type"], Struct(found["type"]))
            deeper = bool(lines) and len(lines[0]) - len(lines[0].lstrip()) > indent
            assert deeper == (known is None), f"{into.name}.{found['name']}: declared twice, or not at all"
            if known is None:
                lines = _fields(struct, lines, indent + 2, first, last, structs)
        into.fields.append(
            Field(
                found["name"],
                found["type"],
                struct,
                bool(found["array"]),
                first,
                last,
                int(found["null_from"] or first) if found["null"] else None,
                int(found["tag"]) if found["tag"] else None,
                found["default"],
            )
        )
    return lines
