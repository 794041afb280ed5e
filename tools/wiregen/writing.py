"""Code that writes a message: one method per flavour, everything nested inlined."""

import re
from dataclasses import replace

from tools.wiregen.schema import PRIMITIVES, Field, Struct
from tools.wiregen.source import (
    Flavour,
    Run,
    Source,
    always_there,
    branches,
    default_of,
    is_struct,
    len_format,
    name_of,
    optional,
    runs,
)


class WriteCode:
    """Writes the writing method of one flavour of a message."""

    def __init__(self, out: Source, flavour: Flavour, formats: set[str], pieces: bool) -> None:
        self._out = out
        self._flavour = flavour
        self._formats = formats
        self._pieces = pieces  # records may be laid beside the bytes rather than among them
        self._into = "out"

    def method(self, message: Struct) -> None:
        out = self._out
        more = ", pieces: list[Piece] | None" if self._pieces else ""
        result = "bytearray" if self._pieces else "None"
        head = f"def _write_{self._flavour.suffix}(self, out: bytearray, version: int{more}) -> {result}:"
        with out.block(head):
            before = len(out.lines)
            self._struct(message, "self")
            if self._pieces:
                out("return out")
            elif len(out.lines) == before:
                out("pass")

    def _struct(self, struct: Struct, it: str) -> None:
        """Write all of *struct*, which the variable *it* holds."""
        tagged = self._flavour.tagged(struct)
        for run in runs(struct, self._flavour):
            self._run(run, it, bare=run.tags and not tagged)
        if tagged:
            self._tags(tagged, it)

    def _inside(self, field: Field, it: str) -> None:
        """Write one struct of *field*, in the versions that have the field."""
        assert field.struct
        whole = self._flavour
        self._flavour = whole.within(field)
        self._struct(field.struct, it)
        self._flavour = whole

    def _run(self, run: Run, it: str, bare: bool) -> None:
        """Write *run*; *bare* if an empty tag section ends it."""
        following = run.following
        fused = None if self._flavour.flexible or run.alone(self._flavour) else following
        if fused:
            self._prepare(fused, it)
        if run.fields or fused or bare:
            for present in branches(self._out, self._flavour, run, needed=bare or fused is not None):
                self._fixed(present, it, fused, bare)
        if fused:
            self._body(fused, it)
        elif following:
            condition = self._flavour.condition(following.min, following.max)
            if condition:
                with self._out.block(f"if {condition}:"):
                    self._alone(following, it)
            else:
                self._alone(following, it)

    def _fixed(self, present: list[Field], it: str, fused: Field | None, bare: bool) -> None:
        """Write *present*, then a length or an empty tag section, by one call."""
        format = "".join(f.format for f in present)
        values = [f"{it}.{f.name}" for f in present]
        if fused:
            format += len_format(fused)
            values.append("n")
        if values:
            self._pack(format + "x" * bare, values)
        else:
            self._out(f"{self._into}.append(0)" if bare else "pass")

    def _pack(self, format: str, values: list[str]) -> None:
        self._formats.add(format)
        self._out(f"{self._into} += pack_{name_of(format)}({', '.join(values)})")

    def _alone(self, field: Field, it: str) -> None:
        """Write a *field* of variable size, length and all."""
        if is_struct(field):
            self._nested(field, it)
            return
        self._prepare(field, it)
        if self._flavour.flexible:
            self._uvarint()
        else:
            self._pack(len_format(field), ["n"])
        self._body(field, it)

    def _uvarint(self) -> None:
        with self._out.block("if n < 128:"):
            self._out(f"{self._into}.append(n)")
        with self._out.block("else:"):
            self._out(f"write_uvarint({self._into}, n)")

    def _prepare(self, field: Field, it: str) -> None:
        """Compute its length n as the wire has it and, of a string, the bytes."""
        out, value = self._out, self._value(field, it)
        if not optional(field):
            self._measure(field, value)
            return
        out(f"{value} = {it}.{field.name}")
        with out.block(f"if {value} is None:"):
            self._null(field)
        with out.block("else:"):
            self._measure(field, value)

    def _measure(self, field: Field, value: str) -> None:
        if field.type == "string" and not field.array:
            self._out(f"raw = {value}.encode()")
            value = "raw"
        measure = "size_of" if self._pieces and field.type == "records" else "len"
        self._out(f"n = {measure}({value}){' + 1' if self._flavour.flexible else ''}")

    def _null(self, field: Field) -> None:
        out, null = self._out, self._flavour.null(field)
        refuse = f'raise ValueError(f"{field.name} may not be null in version {{version}}")'
        if null == "False":
            out(refuse)
            return
        if null != "True":
            with out.block(f"if {null.replace('>=', '<')}:"):
                out(refuse)
        if field.type == "string" and not field.array:
            out('raw = b""')
        out("n = 0" if self._flavour.flexible else "n = -1")

    def _body(self, field: Field, it: str) -> None:
        """Write what comes after the length."""
        if field.type == "string" and not field.array:
            self._out(f"{self._into} += raw")
        elif optional(field) and self._flavour.null(field) != "False":
            with self._out.block(f"if {self._value(field, it)} is not None:"):
                self._content(field, it)
        else:
            self._content(field, it)

    def _content(self, field: Field, it: str) -> None:
        out, value = self._out, self._value(field, it)
        if field.array and field.struct:
            item = _item(field)
            with out.block(f"for {item} in {value}:"):
                self._inside(field, item)
        elif field.array and field.type == "string":
            with out.block(f"for text in {value}:"):
                self._text()
        elif field.array:
            out(f'{self._into} += struct.pack(f">{{len({value})}}{PRIMITIVES[field.type]}", *{value})')
        elif field.type == "records" and self._pieces:
            out(f"out = write_records(out, {value}, pieces)")
        else:
            out(f"{self._into} += {value}")

    def _text(self) -> None:
        self._out("raw = text.encode()")
        if self._flavour.flexible:
            self._out("n = len(raw) + 1")
            self._uvarint()
        else:
            self._pack("h", ["len(raw)"])
        self._out(f"{self._into} += raw")

    def _nested(self, field: Field, it: str) -> None:
        """Write a struct that is no array's element."""
        out, item = self._out, _item(field)
        out(f"{item} = {it}.{field.name}")
        if always_there(field):
            self._inside(field, item)
            return
        with out.block(f"if {item} is None:"):
            out(f"{self._into}.append(255)")
        with out.block("else:"):
            out(f"{self._into}.append(1)")
            self._inside(field, item)

    def _tags(self, tagged: list[Field], it: str) -> None:
        out, tags = self._out, "tags" if it == "self" else f"{it}_tags"
        with out.block(f"if {' and '.join(self._at_rest(f, it) for f in tagged)}:"):
            out(f"{self._into}.append(0)")
        with out.block("else:"):
            out(f"{tags}: list[tuple[int, bytearray]] = []")
            for f in tagged:
                self._tag(f, it, tags)
            out(f"write_tags({self._into}, {tags})")

    def _at_rest(self, field: Field, it: str) -> str:
        """The test that a tagged *field* need not be written."""
        condition = self._flavour.condition(field.min, field.max)
        test = f"{it}.{field.name} {_is_default(field)}"
        if field.array or field.type == "boolean":
            test = f"not {it}.{field.name}"
        return f"({condition.replace('>=', '<')} or {test})" if condition else test

    def _tag(self, field: Field, it: str, tags: str) -> None:
        out, value, item = self._out, f"{it}.{field.name}", _item(field)
        condition = self._flavour.condition(field.min, field.max)
        if is_struct(field):
            out(f"{item} = {value}")
            test = f"{item} is not None and {item} != {self._flavour.message}{field.type}()"
        elif field.array or field.type == "boolean":
            test = value
        else:
            test = f"{value} {_is_default(field).replace('==', '!=').replace('is', 'is not')}"
        with out.block(f"if {condition + ' and ' if condition else ''}{test}:"):
            self._into = "tag"
            out("tag = bytearray()")
            if is_struct(field):
                self._inside(field, item)
            elif field.format:
                self._pack(field.format, [value])
            else:
                self._alone(replace(field, null_from=None), it)  # null is the default: not null here
            self._into = "out"
            out(f"{tags}.append(({field.tag}, tag))")

    def _value(self, field: Field, it: str) -> str:
        """Where the value of *field* is found: in a variable of its own if it may be null."""
        if not optional(field):
            return f"{it}.{field.name}"
        return field.name if it == "self" else f"{it}_{field.name}"


def _is_default(field: Field) -> str:
    default = default_of(field)
    return "is None" if default == "None" else f"== {default}"


def _item(field: Field) -> str:
    """A variable for one struct of *field*: its class's name, in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", field.type).lower()
