"""Code that reads a message: one function per flavour, everything nested inlined.

Inlining keeps the position in a local variable, which is what makes it quick:
a call or an attribute costs as much here as reading a field.
"""

import re
import struct
from dataclasses import replace
from typing import Final

from tools.wiregen.schema import PRIMITIVES, Field, Struct
from tools.wiregen.source import (
    Flavour,
    Run,
    Source,
    branches,
    default_of,
    is_struct,
    len_format,
    name_of,
    python_type,
    runs,
)

_TAKEN: Final = {"data", "size", "pos", "stop", "n", "tags", "spans", "budget", "version", "reader"}

_LOCALS: Final = {
    "data": "data = reader.data",
    "size": "size = reader.size",
    "pos": "pos = reader.position",
    "budget": "budget = MAX_OBJECTS",
}


class ReadCode:
    """Writes the reading function of one flavour of a message."""

    def __init__(self, out: Source, flavour: Flavour, formats: set[str]) -> None:
        self._out = out
        self._flavour = flavour
        self._formats = formats
        self._prefixes: dict[tuple[str, ...], str] = {(): ""}

    def function(self, message: Struct) -> None:
        out = self._out
        name = f"_read_{self._flavour.suffix}_{_kind(message)}"
        with out.block(f"def {name}(reader: Reader, version: int) -> {message.name}:"):
            start = len(out.lines)
            made = self._struct(message, ())
            body = "\n".join(out.lines[start:])
            needed = [line for name, line in _LOCALS.items() if re.search(rf"\b{name}\b", body)]
            out.lines[start:start] = [f"    {line}" for line in needed]
            if needed:
                out("reader.position = pos")
            out(f"return {made}")

    def _struct(self, struct: Struct, path: tuple[str, ...]) -> str:
        """Read the fields of *struct*; return the expression that makes it of them."""
        for run in runs(struct, self._flavour):
            self._run(run, path)
        if self._flavour.flexible:
            self._tags(struct, path)
        name = f"{self._flavour.message}{struct.name}" if path else struct.name
        known = [self._local(path, f) if self._flavour.has(f) else default_of(f) for f in struct.fields]
        return f"{name}({', '.join(known)})"

    def _inside(self, field: Field, path: tuple[str, ...]) -> str:
        """Read one struct of *field*, in the versions that have the field."""
        assert field.struct
        whole = self._flavour
        self._flavour = whole.within(field)
        made = self._struct(field.struct, (*path, field.name))
        self._flavour = whole
        return made

    def _run(self, run: Run, path: tuple[str, ...]) -> None:
        out, following = self._out, run.following
        alone = run.alone(self._flavour)
        if run.fields or run.tags or not alone:
            for present in branches(out, self._flavour, run):
                self._fixed(run, present, path, not alone)
        if following is None:
            return
        condition = self._flavour.condition(following.min, following.max)
        if condition:
            self._default(following, path)
            with out.block(f"if {condition}:"):
                self._alone(following, path, declared=True)
        elif alone:
            self._alone(following, path, declared=False)
        else:
            self._variable(following, path)

    def _fixed(self, run: Run, present: list[Field], path: tuple[str, ...], with_length: bool) -> None:
        """Read *present* and what ends the run by one call."""
        out = self._out
        names = [self._local(path, f) for f in present]
        format = "".join(f.format for f in present)
        length = ""
        if run.tags:
            length, ending = "tags", "B"
        elif run.following and with_length:
            length, ending = "n", "B" if self._flavour.flexible else len_format(run.following)
        if length and not names and ending == "B":
            out(f"{length} = data[pos]")
            out("pos += 1")
        elif names or length:
            if length:
                names, format = [*names, length], format + ending
            self._unpack(names, format)
        for f in run.fields:
            if f not in present:
                out(f"{self._local(path, f)} = {default_of(f)}")
        if length == "n" and self._flavour.flexible:
            self._long(run.following)

    def _alone(self, field: Field, path: tuple[str, ...], declared: bool) -> None:
        """Read a variable *field* whose length was not read with its neighbours."""
        if not is_struct(field):
            self._length(field)
        self._variable(field, path, declared)

    def _length(self, field: Field) -> None:
        if self._flavour.flexible:
            self._out("n = data[pos]")
            self._out("pos += 1")
            self._long(field)
        else:
            self._unpack(["n"], len_format(field))

    def _long(self, field: Field | None) -> None:
        """Finish the length n if it has more bytes than one."""
        out = self._out
        with out.block("if n > 127:"):
            if field is None or field.type != "records":
                out("n, pos = long_uvarint(data, pos, n)")
                return
            out("more = data[pos]")  # records mostly have two: not worth a call
            with out.block("if more < 128:"):
                out("n += (more - 1) << 7")
                out("pos += 1")
            with out.block("else:"):
                out("n, pos = long_uvarint(data, pos, n)")

    def _unpack(self, names: list[str], format: str) -> None:
        self._formats.add(format)
        left = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
        self._out(f"{left} = unpack_{name_of(format)}(data, pos)")
        self._out(f"pos += {struct.calcsize('>' + format)}")

    def _variable(self, field: Field, path: tuple[str, ...], declared: bool = False) -> None:
        """Read what comes after the length n; *declared* if Python knows the variable's type already."""
        out, local, null = self._out, self._local(path, field), self._flavour.null(field)
        if is_struct(field):
            self._nested(field, path, local)
            return
        target = local
        if field.array and self._flavour.flexible:
            out("n -= 1")
        if field.array and not declared:
            type = f"list[{self._element_type(field)}]"
            if null == "False":
                target = f"{local}: {type}"
            else:
                out(f"{local}: {type} | None")
        if null == "False":
            self._present(field, path, target)
            return
        nothing = 0 if self._flavour.flexible and not field.array else -1
        with out.block(f"if n == {nothing}:" if null == "True" else f"if n == {nothing} and {null}:"):
            out(f"{local} = None")
        with out.block("else:"):
            self._present(field, path, target)

    def _present(self, field: Field, path: tuple[str, ...], target: str) -> None:
        out = self._out
        if field.array:
            smallest = self._flavour.min_element_size(field)
            room = "size - pos" if smallest == 1 else f"(size - pos) // {smallest}"
            with out.block(f"if n < 0 or n > {room} or n > budget:"):
                out(f'raise too_many("{field.name}", n, size - pos)')
            out("budget -= n")
            self._elements(field, path, target)
            return
        self._stop(field)
        taken = {"string": ".tobytes().decode()", "bytes": ".tobytes()", "records": ""}[field.type]
        out(f"{target} = data[pos:stop]{taken}")
        out("pos = stop")

    def _stop(self, field: Field) -> None:
        """Find where bytes of length n end, and whether they do."""
        flexible = self._flavour.flexible
        self._out("stop = pos + n - 1" if flexible else "stop = pos + n")
        null = self._flavour.null(field) if not field.array else "False"
        below = "" if flexible and null == "True" else "n == 0 or " if flexible else "n < 0 or "
        with self._out.block(f"if {below}stop > size:"):
            length = "n - 1" if flexible else "n"
            self._out(f'raise bad_length("{field.name}", {length}, size - pos)')

    def _elements(self, field: Field, path: tuple[str, ...], target: str) -> None:
        out, local = self._out, self._local(path, field)
        if field.type not in ("string", "uuid") and not field.struct:
            format = PRIMITIVES[field.type]
            out(f'{target} = list(struct.unpack_from(f">{{n}}{format}", data, pos))')
            out(f"pos += {struct.calcsize('>' + format)} * n")
            return
        out(f"{target} = []")
        out(f"{local}_count = n")  # mypyc would look at n again in each round
        with out.block(f"for _ in range({local}_count):"):
            if field.struct:
                made = self._inside(field, path)
                out(f"{local}.append({made})")
                return
            assert field.type == "string", field
            self._length(replace(field, array=False))
            self._stop(field)
            out(f"{local}.append(data[pos:stop].tobytes().decode())")
            out("pos = stop")

    def _nested(self, field: Field, path: tuple[str, ...], local: str) -> None:
        """Read a struct that is no array's element."""
        if field.tag is not None or not field.nullable:
            self._out(f"{local} = {self._inside(field, path)}")
            return
        self._unpack(["n"], "b")
        with self._out.block("if n < 0:"):
            self._out(f"{local} = None")
        with self._out.block("else:"):
            self._out(f"{local} = {self._inside(field, path)}")

    def _tags(self, struct: Struct, path: tuple[str, ...]) -> None:
        out = self._out
        tagged = self._flavour.tagged(struct)
        for f in tagged:
            self._default(f, path)
        with out.block("if tags:"):
            if not tagged:
                out("pos = skip_tags(data, pos, tags)")
                return
            spans, after = f"{self._prefix(path)}spans", f"{self._prefix(path)}after"
            out(f"{spans}, {after} = read_tags(data, pos, tags)")
            for f in tagged:
                condition = self._flavour.condition(f.min, f.max)
                with out.block(f"if {condition + ' and ' if condition else ''}{f.tag} in {spans}:"):
                    self._tag(f, path)
            out(f"pos = {after}")

    def _tag(self, field: Field, path: tuple[str, ...]) -> None:
        end = f"{self._local(path, field)}_end"
        self._out(f"pos, {end} = {self._prefix(path)}spans[{field.tag}]")
        if field.format:
            self._unpack([self._local(path, field)], field.format)
        else:
            self._alone(field, path, declared=True)
        with self._out.block(f"if pos != {end}:"):
            self._out(f'raise bad_length("{field.name}", {end} - pos, size - pos)')

    def _default(self, field: Field, path: tuple[str, ...]) -> None:
        """Set *field* to its default, with its type where Python could not tell."""
        local = self._local(path, field)
        if field.array:
            null = " | None" if field.nullable else ""
            self._out(f"{local}: list[{self._element_type(field)}]{null} = {default_of(field)}")
        elif field.nullable and default_of(field) != "None":
            self._out(f"{local}: str | None = {default_of(field)}")
        else:
            self._out(f"{local} = {default_of(field)}")

    def _element_type(self, field: Field) -> str:
        return f"{self._flavour.message}{field.type}" if field.struct else python_type(field.type)

    def _local(self, path: tuple[str, ...], field: Field) -> str:
        name = self._prefix(path) + field.name
        return f"{name}_" if name in _TAKEN else name

    def _prefix(self, path: tuple[str, ...]) -> str:
        """The shortest end of *path* that no other path uses."""
        if path not in self._prefixes:
            ends = ("_".join(path[-length:]) + "_" for length in range(1, len(path) + 1))
            self._prefixes[path] = next(end for end in ends if end not in self._prefixes.values())
        return self._prefixes[path]


def _kind(message: Struct) -> str:
    return "request" if message.name.endswith("Request") else "response"
