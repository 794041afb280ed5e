"""What all TCP doors share: what becomes of work whose client has gone."""

import asyncio
import errno
import gc
import logging
import warnings
from collections.abc import Awaitable
from typing import Any, cast

import pytest

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


class Full:
    """A transport that waits for its client to take what is left to send."""

    def __init__(self) -> None:
        self.unsent = 0
        self.closing = False
        self.aborted = False

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.aborted = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: bytes) -> None: ...

    def get_extra_info(self, name: str) -> None: ...

    def set_write_buffer_limits(self, high: int) -> None: ...


def test_one_that_is_to_close_is_not_waited_for_without_end() -> None:
    async def story() -> None:
        limits = GatewayConfig(write_timeout_ms=10_000)
        connection, transport = Client(Door("test", lambda: limits)), Full()
        connection.connection_made(cast(Any, transport))
        transport.unsent, transport.closing = 1 << 20, True
        connection.look(100.0)
        connection.look(109.0)
        transport.unsent -= 1
        connection.look(110.1)  # slow, but alive
        connection.look(120.0)
        assert not transport.aborted
        connection.look(120.2)
        assert transport.aborted

    asyncio.run(story())


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EPIPE])
def test_a_client_that_is_out_of_reach_is_no_bug(number: int, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Full):
        def write(self, data: bytes) -> None:
            raise OSError(number, "gone")

    async def story() -> None:
        connection, transport = Client(Door("test", GatewayConfig)), Broken()
        connection.connection_made(cast(Any, transport))
        connection.expect().pieces = (b"reply",)
        connection.flush()
        assert transport.aborted

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert caplog.records == []
