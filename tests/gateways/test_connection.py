"""What all TCP doors share: what becomes of work whose client has gone."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable

from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Connection, Door


class Client(Connection):
    def proceed(self) -> None: ...

    def waiting_since(self) -> float | None:
        return None

    def tidy(self) -> None: ...

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.door.scratch


def test_work_that_was_never_begun_is_put_away_with_all_it_was_to_await() -> None:
    begun: list[str] = []

    async def innermost() -> int:
        begun.append("innermost")
        return 1

    async def inner(found: Awaitable[int]) -> int:
        begun.append("inner")
        return await found

    async def outer(found: Awaitable[int]) -> None:
        begun.append("outer")
        await found

    async def story() -> None:
        connection = Client(Door("test", GatewayConfig))
        awaited = inner(innermost())
        connection.later(outer(awaited), awaited)
        connection.connection_lost(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    gc.collect()  # what other tests have left behind is not ours
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(story())
        gc.collect()

    assert begun == []
    assert [str(each.message) for each in caught] == []


def test_work_that_was_begun_ends_where_it_waits() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("wait")

    async def work(awaited: Awaitable[None]) -> None:
        try:
            await awaited
        finally:
            ended.append("work")

    async def story() -> None:
        connection = Client(Door("test", GatewayConfig))
        awaited = wait()
        connection.later(work(awaited), awaited)
        await asyncio.sleep(0)
        connection.connection_lost(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(story())
    assert ended == ["wait", "work"]
