"""Whole modules: the classes of an API, with their codecs."""

import re

from tools.wiregen.reading import ReadCode
from tools.wiregen.schema import Api, Field, Struct
from tools.wiregen.source import Flavour, Source, always_there, default_of, name_of, optional, python_type
from tools.wiregen.writing import WriteCode

_PRIMITIVES = (
    "EMPTY",
    "MAX_OBJECTS",
    "ZERO_UUID",
    "Buffer",
    "Piece",
    "Reader",
    "Records",
    "bad_length",
    "long_uvarint",
    "malformed",
    "read_tags",
    "size_of",
    "skip_tags",
    "too_many",
    "write_records",
    "write_tags",
    "write_uvarint",
)


def module(api: Api, schema: str) -> str:
    """The source of the module for *api*, declared in the file *schema*."""
    formats: set[str] = set()
    body = Source()
    for message in (api.request, api.response):
        _message(body, api, message, formats)
    text = "\n".join(body.lines)

    head = Source()
    head(f'"""{api.name} (key {api.key}). {api.about}')
    head()
    head(f"Generated from wire/schema/{schema} by tools/generate_messages.py: change that, not this.")
    head('"""')
    head()
    head("import struct")
    head("from typing import Final, final")
    head()
    head(f"from millstream.wire.message import Message{', Struct' if '(Struct)' in text else ''}")
    used = [name for name in _PRIMITIVES if re.search(rf"\b{name}\b", text)]
    head("from millstream.wire.primitives import (")
    for name in used:
        head(f"    {name},")
    head(")")
    head()
    for format in sorted(formats):
        for verb, method in (("unpack", "unpack_from"), ("pack", "pack")):
            name = f"{verb}_{name_of(format)}"
            if re.search(rf"\b{name}\(", text):
                head(f'{name}: Final = struct.Struct(">{format}").{method}')
    return "\n".join(head.lines) + "\n" + text.rstrip() + "\n"


def flavours(api: Api, message: Struct) -> list[Flavour]:
    """Newest first."""
    older = Flavour(message.name, api.min, min(api.max, api.flexible - 1), False)
    flexible = Flavour(message.name, max(api.min, api.flexible), api.max, True)
    return [flavour for flavour in (flexible, older) if flavour.min <= flavour.max]


def _message(out: Source, api: Api, message: Struct, formats: set[str]) -> None:
    pieces = _has_records(message) and message is api.response
    for struct in _nested(message):
        _class(out, struct, message, pieces)
    _class(out, message, message, pieces, api, formats)
    for flavour in flavours(api, message):
        out()
        out()
        ReadCode(out, flavour, formats).function(message)


def _class(
    out: Source,
    struct: Struct,
    message: Struct,
    pieces: bool,
    api: Api | None = None,
    formats: set[str] | None = None,
) -> None:
    name = struct.name if api else f"{message.name}{struct.name}"
    out()
    out()
    out("@final")
    with out.block(f"class {name}({'Message' if api else 'Struct'}):"):
        names = "".join(f'"{f.name}", ' for f in struct.fields)
        out(f"__slots__ = ({names.rstrip() if len(struct.fields) == 1 else names.rstrip(', ')})")
        out(f"FIELDS = ({names.rstrip() if len(struct.fields) == 1 else names.rstrip(', ')})")
        if api:
            out(f"KEY = {api.key}")
            out(f"MIN_VERSION = {api.min}")
            out(f"MAX_VERSION = {api.max}")
            out(f"FLEXIBLE_FROM = {api.flexible}")
        out()
        _init(out, struct, message, pieces)
        if api and formats is not None:
            _codec(out, api, message, pieces, formats)


def _init(out: Source, struct: Struct, message: Struct, pieces: bool) -> None:
    if not struct.fields:
        with out.block("def __init__(self) -> None:"):
            out("pass")
        return
    out("def __init__(")
    out("    self,")
    for f in struct.fields:
        null = " | None" if always_there(f) else ""
        out(f"    {f.name}: {_type(f, message, pieces)}{null} = {default_of(f)},")
    with out.block(") -> None:"):
        for f in struct.fields:
            if default_of(f) == "EMPTY":
                out(f"self.{f.name}: {_type(f, message, pieces)} = [] if {f.name} is EMPTY else {f.name}")
            elif always_there(f):
                out(f"self.{f.name} = {_type(f, message, pieces)}() if {f.name} is None else {f.name}")
            else:
                out(f"self.{f.name} = {f.name}")


def _codec(out: Source, api: Api, message: Struct, pieces: bool, formats: set[str]) -> None:
    kind = "request" if message is api.request else "response"
    known = flavours(api, message)
    out()
    out("@classmethod")
    with out.block(f'def read(cls, reader: Reader, version: int) -> "{message.name}":'):
        with out.block("try:"):
            _each(out, known, f"return _read_%s_{kind}(reader, version)")
        with out.block("except (struct.error, IndexError, UnicodeDecodeError) as error:"):
            out(f'raise malformed("{message.name}", version, error) from None')
    out()
    with out.block("def write(self, out: bytearray, version: int) -> None:"):
        with out.block("try:"):
            _each(out, known, f"self._write_%s(out, version{', None' if pieces else ''})")
        _wrong(out, message)
    if pieces:
        out()
        with out.block("def write_pieces(self, out: bytearray, version: int) -> list[Piece]:"):
            out('"""As `write`, going on after *out*; large or absent records are not copied."""')
            out("pieces: list[Piece] = []")
            with out.block("try:"):
                _each(out, known, "out = self._write_%s(out, version, pieces)")
            _wrong(out, message)
            with out.block("if out:"):
                out("pieces.append(out)")
            out("return pieces")
    for flavour in known:
        out()
        WriteCode(out, flavour, formats, pieces).method(message)


def _each(out: Source, known: list[Flavour], line: str) -> None:
    if len(known) == 1:
        out(line % known[0].suffix)
        return
    with out.block(f"if version >= {known[0].min}:"):
        out(line % known[0].suffix)
    if line.startswith("return"):
        out(line % known[1].suffix)
        return
    with out.block("else:"):
        out(line % known[1].suffix)


def _wrong(out: Source, message: Struct) -> None:
    with out.block("except struct.error as error:"):
        out(f'raise ValueError(f"{message.name} v{{version}}: {{error}}") from error')


def _type(field: Field, message: Struct, pieces: bool) -> str:
    if field.struct:
        type = f"{message.name}{field.type}"
    elif field.type == "records":
        type = "Records" if pieces else "Buffer"
    else:
        type = python_type(field.type)
    return (f"list[{type}]" if field.array else type) + (" | None" if optional(field) else "")


def _nested(struct: Struct) -> list[Struct]:
    """The structs inside *struct*, each after those it is made of."""
    found: list[Struct] = []
    for f in struct.fields:
        if f.struct:
            found += [inner for inner in [*_nested(f.struct), f.struct] if inner not in found]
    return found


def _has_records(struct: Struct) -> bool:
    return any(f.type == "records" or (f.struct and _has_records(f.struct)) for f in struct.fields)
