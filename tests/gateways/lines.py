"""A client of the doors that speak in lines, on simulated time or against a real node."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from tests.client.simulated import Sim, simulate

from millstream.sim.host import BROKER

T = TypeVar("T")
JSONL = 4040
TEXT = 9000
DOORS = {"jsonl.listener": f"{BROKER}:{JSONL}", "text.listener": f"{BROKER}:{TEXT}"}


class LineClient:
    """Says lines and hears lines; waits no longer than *seconds* for any."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float = 30.0
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._seconds = seconds

    @classmethod
    async def connect(cls, port: int, host: str = BROKER, limit: int = 1 << 24) -> "LineClient":
        """One that takes twice *limit*, and at least its longest line, before anybody hears it."""
        return cls(*await asyncio.open_connection(host, port, limit=limit))

    def send(self, *lines: str | bytes) -> None:
        said = [line.encode() if isinstance(line, str) else line for line in lines]
        self._writer.write(b"".join(line + b"\n" for line in said))

    def send_raw(self, data: bytes) -> None:
        self._writer.write(data)

    async def hear_raw(self) -> bytes:
        """The next line, without its end; empty if there will be none."""
        async with asyncio.timeout(self._seconds):
            return (await self._reader.readline()).removesuffix(b"\n")

    async def hear(self, count: int = 1) -> list[str]:
        return [(await self.hear_raw()).decode() for _ in range(count)]

    async def ask(self, line: str | bytes) -> str:
        self.send(line)
        return (await self.hear())[0]

    async def hears_nothing(self, seconds: float = 1.0) -> bool:
        """Whether no line comes for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._reader.readuntil(b"\n")
        except TimeoutError:
            return True
        return False

    async def json(self, **request: Any) -> dict[str, Any]:
        answer = json.loads(await self.ask(json.dumps(request)))
        assert isinstance(answer, dict)
        return answer

    async def ok(self, **request: Any) -> Any:
        answer = await self.json(**request)
        assert answer.keys() == {"ok", "data"}, answer
        assert answer["ok"] is True
        return answer["data"]

    async def error(self, **request: Any) -> str:
        answer = await self.json(**request)
        assert answer.keys() == {"ok", "error"}, answer
        assert answer["ok"] is False
        return str(answer["error"])

    def half_close(self) -> None:
        self._writer.write_eof()

    def hang_up(self) -> None:
        self._writer.close()

    async def close(self) -> None:
        self.hang_up()
        await asyncio.sleep(0.01)

    async def is_closed(self) -> bool:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._reader.read(1) == b""
        except ConnectionError:
            return True


def with_doors(
    story: Callable[[Sim], Awaitable[T]], settings: Mapping[str, object] | None = None, seed: int = 1
) -> T:
    """Run *story* with a node whose doors of lines are open."""
    return simulate(story, seed=seed, settings={**DOORS, **(settings or {})})
