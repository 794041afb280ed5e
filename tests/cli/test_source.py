"""Lines from pipes and files."""

import asyncio
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.source import lines


async def gathered(fd: int) -> list[bytes]:
    return [line async for some in lines(fd) for line in some]


@given(st.lists(st.binary(max_size=8), max_size=6))
def test_a_pipe_gives_its_lines_however_it_is_written(parts: list[bytes]) -> None:
    async def story() -> list[bytes]:
        read, write = os.pipe()
        try:
            reading = asyncio.create_task(gathered(read))
            for part in parts:
                os.write(write, part)
                await asyncio.sleep(0)
            os.close(write)
            return await reading
        finally:
            os.close(read)

    written = b"".join(parts)
    expected = written.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert asyncio.run(story()) == expected


def test_a_file_gives_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\nb" * 200_000)
    fd = os.open(path, os.O_RDONLY)
    try:
        assert asyncio.run(gathered(fd)) == path.read_bytes().split(b"\n")
    finally:
        os.close(fd)
