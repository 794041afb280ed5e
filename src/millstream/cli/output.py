"""What a command prints: a table for people, tabs for pipes, JSON for programs.

A command says what it found once, as a document and as tables of cells; which
of them is printed is settled here. rich is imported only when a table is drawn.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO, final

import click

FORMATS: Final = ("table", "plain", "json")
_ON_ONE_LINE: Final = {ord(each): " " for each in "\t\n\r"}
_WIDE: Final = 10_000  # columns when not on a terminal: nothing is cut or wrapped


@final
@dataclass(frozen=True)
class Cell:
    """A value; *shown* is how a table prints it, where that is not the plain value."""

    value: object
    shown: str | None = None
    style: str = ""

    @property
    def plain(self) -> str:
        return "-" if self.value is None else str(self.value).translate(_ON_ONE_LINE)


@final
@dataclass
class Table:
    """Rows under *columns*; a column whose name ends in '>' is set flush right."""

    columns: Sequence[str]
    rows: list[Sequence[object]] = field(default_factory=list)
    title: str = ""
    header: bool = True

    def cells(self) -> Iterable[list[Cell]]:
        for row in self.rows:
            yield [each if isinstance(each, Cell) else Cell(each) for each in row]


@final
class Output:
    """Where a command's words go: results to *out*, asides to *err*."""

    def __init__(
        self, out: TextIO, err: TextIO, format: str | None = None, *, ask: TextIO | None = None
    ) -> None:
        self.out = out
        self.err = err
        self.terminal = out.isatty()
        self.colour = self.terminal and not os.environ.get("NO_COLOR")
        self.format = format or ("table" if self.terminal else "plain")
        self._ask = ask if ask is not None and ask.isatty() and err.isatty() else None

    def show(self, document: object, *tables: Table) -> None:
        """Print *document*, if JSON was asked for, or else *tables*."""
        if self.format == "json":
            print(json.dumps(document, indent=2, ensure_ascii=False), file=self.out)
        elif self.format == "plain":
            self._plain(tables)
        else:
            self._draw(tables)

    def say(self, document: object, sentence: str) -> None:
        """Tell that something was done: a sentence, unless JSON was asked for."""
        if self.format == "json":
            print(json.dumps(document, ensure_ascii=False), file=self.out)
        else:
            print(sentence, file=self.out)

    def write(self, data: bytes) -> None:
        """Put *data* on the output as it is."""
        buffer = getattr(self.out, "buffer", None)
        if buffer is None:
            self.out.write(data.decode("utf-8", "backslashreplace"))
        else:
            buffer.write(data)

    def flush(self) -> None:
        """Let what was written be seen now."""
        self.out.flush()

    def note(self, text: str) -> None:
        """An aside for a person; nothing in a pipe."""
        if self.terminal and self.format == "table":
            click.secho(text, file=self.err, dim=True)

    def warn(self, text: str) -> None:
        """A trouble that does not end the command."""
        click.secho(f"warning: {text}", file=self.err, fg="yellow")

    def agrees(self, question: str) -> bool | None:
        """The answer of whoever sits at the terminal; None if nobody does."""
        if self._ask is None:
            return None
        print(f"{question} [y/N] ", end="", file=self.err, flush=True)
        return self._ask.readline().strip().lower() in ("y", "yes")

    def _plain(self, tables: Sequence[Table]) -> None:
        for number, table in enumerate(tables):
            if number:
                print(file=self.out)
            for row in table.cells():
                print("\t".join(cell.plain for cell in row), file=self.out)

    def _draw(self, tables: Sequence[Table]) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        console = Console(file=self.out, width=None if self.terminal else _WIDE, highlight=False)
        for number, table in enumerate(each for each in tables if each.rows):
            if number:
                console.print()
            if table.title:
                console.print(Text(table.title, style="bold"))
            box = SIMPLE_HEAD if table.header else None
            drawn = Drawn(
                box=box, show_edge=False, pad_edge=False, header_style="dim", show_header=table.header
            )
            for name in table.columns:
                right = name.endswith(">")
                drawn.add_column(name.rstrip(">"), justify="right" if right else "left", overflow="fold")
            for row in table.cells():
                drawn.add_row(*(Text(cell.shown or cell.plain, style=cell.style) for cell in row))
            console.print(drawn)


def size(count: int | None) -> Cell:
    """A number of bytes: exact for programs, readable for people."""
    if count is None or count < 0:
        return Cell(None)
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return Cell(count, f"{count} B" if unit == "B" else f"{amount:.1f} {unit}")


def counted(count: int, noun: str) -> str:
    """*count* of *noun*, in English."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def number(count: int | None, style: str = "") -> Cell:
    """A number with its thousands marked off for people."""
    return Cell(None) if count is None else Cell(count, f"{count:,}", style)
