"""What a command prints, caught."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO, TextIOWrapper

from millstream.cli.output import Output


@contextmanager
def shown(format: str | None = None) -> Iterator[Output]:
    """An output as in a pipe, or in *format*."""
    yield Output(TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True), StringIO(), format)


def raw(out: Output) -> bytes:
    """What was printed to *out*."""
    assert isinstance(out.out, TextIOWrapper)
    out.flush()
    buffer = out.out.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue()


def text(out: Output) -> str:
    return raw(out).decode()
