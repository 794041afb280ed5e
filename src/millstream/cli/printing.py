"""Records on the way out: coloured lines for people, JSON lines for programs, a template for the rest."""

from abc import ABC, abstractmethod
from typing import Final, final

import click

from millstream.cli.encoding import ENCODINGS, Encoding, compact
from millstream.cli.template import Template, date
from millstream.client.consumed import Consumed

PLAIN: Final = "%v\\n"


class Printer(ABC):
    """Turns a record into the bytes that are printed for it."""

    @abstractmethod
    def render(self, record: Consumed) -> bytes: ...


@final
class TemplatePrinter(Printer):
    """As the user's template says."""

    def __init__(self, template: str, key: Encoding, value: Encoding) -> None:
        self._template = Template(template, key, value)

    def render(self, record: Consumed) -> bytes:
        return self._template.render(record)


@final
class JsonPrinter(Printer):
    """A JSON object a line, such as `produce --input json` reads."""

    def __init__(self, key: Encoding, value: Encoding) -> None:
        self._key = key
        self._value = value
        self._header = ENCODINGS["utf-8"] if value is ENCODINGS["json"] else value

    def render(self, record: Consumed) -> bytes:
        return compact(self._document(record)) + b"\n"

    def _document(self, record: Consumed) -> dict[str, object]:
        return {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "key": None if record.key is None else self._key.to_json(record.key),
            "value": None if record.value is None else self._value.to_json(record.value),
            "headers": [
                {"key": key, "value": None if value is None else self._header.to_json(value)}
                for key, value in record.headers
            ],
        }


@final
class ScreenPrinter(Printer):
    """A line for a person: where and when in the background, then key, value and headers.

    What a terminal would obey rather than show is written out.
    """

    def __init__(self, key: Encoding, value: Encoding, *, colour: bool) -> None:
        self._key = key
        self._value = value
        self._colour = colour

    def render(self, record: Consumed) -> bytes:
        line = self._line(record)
        return (line if self._colour else click.unstyle(line)).encode() + b"\n"

    def _line(self, record: Consumed) -> str:
        place = click.style(f"{record.partition}:{record.offset}".ljust(8), fg="cyan")
        when = click.style(date(record.timestamp_ms), dim=True)
        parts = [place, when]
        if record.key is not None:
            parts.append(click.style(_shown(record.key, self._key), fg="green"))
        parts.append(_null() if record.value is None else _shown(record.value, self._value))
        for key, value in record.headers:
            text = "" if value is None else _shown(value, ENCODINGS["utf-8"])
            parts.append(click.style(f"{_printable(key)}={text}", fg="yellow"))
        return "  ".join(parts)


def printer(format: str, template: str | None, key: str, value: str, *, colour: bool = False) -> Printer:
    """What prints in *format*, or by *template* if there is one."""
    encodings = ENCODINGS[key], ENCODINGS[value]
    if template is not None:
        return TemplatePrinter(template, *encodings)
    if format == "json":
        return JsonPrinter(*encodings)
    if format == "table":
        return ScreenPrinter(*encodings, colour=colour)
    return TemplatePrinter(PLAIN, *encodings)


def _null() -> str:
    return click.style("null", dim=True, italic=True)


def _shown(data: bytes, encoding: Encoding) -> str:
    return _printable(encoding.show(data).decode("utf-8", "backslashreplace"))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
