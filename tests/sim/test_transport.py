import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.sim.loop import SimLoop


class Collector(asyncio.Protocol):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.told: list[str] = []
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> None:
        self.told.append("eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(type(exc).__name__ if exc else "lost")

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")


class BufferedCollector(asyncio.BufferedProtocol):
    """Reads into a buffer of its own, of a size that fits nothing well."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.told: list[str] = []
        self._buffer = bytearray(97)
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]
        self._buffer.extend(b"!")  # possible only if nobody holds on to it

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(type(exc).__name__ if exc else "lost")


Far = Collector | BufferedCollector


def connected(
    seed: int,
    story: Callable[[SimLoop, Collector, Far], Coroutine[Any, Any, None]],
    far: type[Far] = Collector,
) -> None:
    """Run *story* with a connection from node `a` to node `b`."""
    loop = SimLoop(seed)
    made: list[Far] = []

    def accept() -> Far:
        made.append(far())
        return made[-1]

    async def serve() -> None:
        await loop.create_server(accept, "b", 1)

    async def connect() -> Collector:
        _, protocol = await loop.create_connection(Collector, "b", 1)
        assert isinstance(protocol, Collector)
        return protocol

    async def main() -> None:
        await loop.spawn("b", serve())
        near = await loop.spawn("a", connect())
        await asyncio.sleep(0.1)
        await story(loop, near, made[0])

    loop.run_until_complete(main())
    assert loop.mishaps == []
    loop.close()


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 300_000)),
        st.tuples(st.just("sleep"), st.integers(0, 300)),
        st.tuples(st.just("cut"), st.just(0)),
        st.tuples(st.just("heal"), st.just(0)),
        st.tuples(st.just("pause node"), st.just(0)),
        st.tuples(st.just("resume node"), st.just(0)),
        st.tuples(st.just("pause reading"), st.just(0)),
        st.tuples(st.just("resume reading"), st.just(0)),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32), steps=steps, far=st.sampled_from([Collector, BufferedCollector]))
def test_bytes_arrive_all_and_in_order_whatever_happens(
    seed: int, steps: list[tuple[str, int]], far: type[Far]
) -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        loop.network.weather.split_chance = 0.5
        loop.network.weather.tail_chance = 0.3
        sent = bytearray()
        for what, size in steps:
            match what:
                case "write":
                    piece = loop.random.randbytes(size)
                    sent += piece
                    near.transport.writelines([piece[: size // 2], memoryview(piece)[size // 2 :]])
                case "sleep":
                    await asyncio.sleep(size / 1000)
                case "cut":
                    loop.network.cut("a", "b", both=False)
                case "heal":
                    loop.network.heal()
                case "pause node":
                    loop.pause("b")
                case "resume node":
                    loop.resume("b")
                case "pause reading":
                    far.transport.pause_reading()
                case "resume reading":
                    far.transport.resume_reading()
            assert sent.startswith(far.received)
        loop.network.heal()
        loop.resume("b")
        far.transport.resume_reading()
        near.transport.close()
        await asyncio.sleep(60)
        assert far.received == sent
        assert far.told == (["eof", "lost"] if isinstance(far, Collector) else ["lost"])
        assert near.told[-1] == "lost"

    connected(seed, story, far)


def test_a_reader_that_stops_makes_the_writer_pause() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        near.transport.set_write_buffer_limits(high=1000, low=10)
        far.transport.pause_reading()
        written = 0
        while "pause" not in near.told:
            near.transport.write(bytes(10_000))
            written += 10_000
            await asyncio.sleep(0.01)
        assert loop.network.weather.window_bytes < written < loop.network.weather.window_bytes + 20_000
        assert near.transport.get_write_buffer_size() == written - loop.network.weather.window_bytes
        await asyncio.sleep(10)
        assert near.told == ["pause"]
        assert not far.received

        far.transport.resume_reading()
        await asyncio.sleep(10)
        assert near.told == ["pause", "resume"]
        assert len(far.received) == written

    connected(1, story)


def test_a_crash_loses_what_was_unsent_and_resets_the_peer() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        far.transport.pause_reading()
        near.transport.write(bytes(1_000_000))
        await asyncio.sleep(1)
        loop.crash("a")
        far.transport.resume_reading()
        await asyncio.sleep(1)
        assert 0 < len(far.received) <= loop.network.weather.window_bytes
        assert far.told == ["ConnectionResetError"]
        assert near.told == ["pause"]

    connected(1, story)


def test_after_a_silent_crash_the_peer_waits_long() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        loop.crash("a", silent=True)
        await asyncio.sleep(0.4)
        assert far.told == []
        await asyncio.sleep(9)
        assert far.told == ["ConnectionResetError"]

    connected(1, story)


def test_a_cut_holds_even_the_end_and_the_reset() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        loop.network.cut("a", "b")
        near.transport.write(b"last words")
        near.transport.close()
        await asyncio.sleep(5)
        assert (bytes(far.received), far.told) == (b"", [])
        loop.network.heal()
        await asyncio.sleep(1)
        assert (bytes(far.received), far.told) == (b"last words", ["eof", "lost"])

    connected(1, story)


def test_a_one_way_cut_lets_the_other_way_through() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        loop.network.cut("a", "b", both=False)
        near.transport.write(b"ping")
        far.transport.write(b"pong")
        await asyncio.sleep(1)
        assert (bytes(far.received), bytes(near.received)) == (b"", b"pong")

    connected(1, story)


def test_abort_resets_and_drops() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        near.transport.write(bytes(1_000_000))
        near.transport.abort()
        near.transport.write(b"ignored")
        await asyncio.sleep(1)
        assert near.told[-1] == "lost"
        assert near.transport.is_closing()
        assert far.told == ["ConnectionResetError"]
        assert len(far.received) < 1_000_000

    connected(1, story)


def test_what_is_written_after_closing_is_ignored() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        near.transport.write(b"before")
        near.transport.close()
        near.transport.write(b"after")
        await asyncio.sleep(1)
        assert far.received == b"before"

    connected(1, story)


def test_a_reset_link_breaks_both_ends() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        assert loop.network.reset("b") == 1
        await asyncio.sleep(1)
        assert near.told == far.told == ["ConnectionResetError"]

    connected(1, story)


def test_writing_to_a_reset_connection_ends_it_even_if_nobody_reads() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        far.transport.pause_reading()
        near.transport.abort()
        await asyncio.sleep(1)
        assert far.told == []
        far.transport.write(b"anyone there?")
        await asyncio.sleep(1)
        assert far.told == ["ConnectionResetError"]

    connected(1, story)


def test_closing_with_unread_bytes_resets() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        far.transport.pause_reading()
        near.transport.write(b"unread")
        await asyncio.sleep(1)
        far.transport.close()
        await asyncio.sleep(1)
        assert near.told == ["ConnectionResetError"]

    connected(1, story)


def test_a_buffer_changed_before_it_was_sent_shows() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        far.transport.pause_reading()
        near.transport.write(bytes(loop.network.weather.window_bytes))
        reused = bytearray(b"before")
        near.transport.write(reused)
        reused[:] = b"after!"
        far.transport.resume_reading()
        await asyncio.sleep(1)
        assert far.received.endswith(b"after!")

    connected(1, story)


def test_addresses_are_node_names() -> None:
    async def story(loop: SimLoop, near: Collector, far: Far) -> None:
        assert near.transport.get_extra_info("peername") == ("b", 1)
        assert far.transport.get_extra_info("sockname") == ("b", 1)
        assert far.transport.get_extra_info("peername") == near.transport.get_extra_info("sockname")
        assert far.transport.get_extra_info("peername")[0] == "a"
        assert near.transport.get_extra_info("socket") is None

    connected(1, story)


def test_connecting_waits_for_a_cut_and_is_refused_where_nobody_listens() -> None:
    loop = SimLoop(1)

    async def node() -> None:
        server = await loop.create_server(Collector, port=0)
        host, port = server.sockets[0].getsockname()
        assert host == "a"
        with pytest.raises(OSError, match="in use"):
            await loop.create_server(Collector, "a", port)
        await loop.create_connection(Collector, "localhost", port)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                loop.network.cut("a", "b")
                await loop.create_connection(Collector, "b", 1)
        loop.network.heal()
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Collector, "b", 1)
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Collector, "a", port)

    async def main() -> None:
        await loop.spawn("a", node())

    loop.run_until_complete(main())
    loop.close()


def test_a_failing_protocol_is_cut_off_and_reported() -> None:
    loop = SimLoop(1)

    class Bad(Collector):
        def data_received(self, data: bytes) -> None:
            raise ValueError("bug")

    async def serve() -> None:
        await loop.create_server(Bad, "b", 1)

    async def connect() -> None:
        _, protocol = await loop.create_connection(Collector, "b", 1)
        assert isinstance(protocol, Collector)
        protocol.transport.write(b"x")
        await asyncio.sleep(1)
        assert protocol.told == ["ConnectionResetError"]

    async def main() -> None:
        await loop.spawn("b", serve())
        await loop.spawn("a", connect())

    loop.run_until_complete(main())
    loop.close()
    assert [(m.node, repr(m.error)) for m in loop.mishaps] == [("b", "ValueError('bug')")]
