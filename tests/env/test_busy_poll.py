"""Busy polling: awake while requests follow each other quickly, asleep otherwise."""

import asyncio

import pytest

from millstream.env import busy_poll
from millstream.env.busy_poll import BusyPoll

WINDOW_US = 100


class Story:
    """A loop whose turns are counted and take ten microseconds each; nothing else lets time pass."""

    def __init__(self, poll: BusyPoll) -> None:
        self.poll = poll
        self.now = 1000.0
        self.turns = 0

    def later(self, microseconds: float) -> None:
        self.now += microseconds / 1_000_000

    def exchange(self) -> None:
        """A request comes, and is replied to."""
        self.poll.received()
        self.poll.replied()

    async def turn_until_asleep(self) -> None:
        loop = asyncio.get_running_loop()
        asleep = loop.create_future()
        loop.call_soon(self._turn, asleep)
        await asleep

    def _turn(self, asleep: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        if not self.poll.polling:
            asleep.set_result(None)
            return
        self.turns += 1
        self.later(10)
        loop.call_soon(self._turn, asleep)


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setattr(busy_poll, "_processors", lambda: 2)
    made = Story(BusyPoll(WINDOW_US))
    monkeypatch.setattr(busy_poll, "monotonic", lambda: made.now)
    return made


async def _polls(story: Story) -> int:
    """For how many turns the loop is kept awake from here on."""
    story.turns = 0
    await story.turn_until_asleep()
    return story.turns


def test_the_first_request_after_a_rest_is_not_waited_on(story: Story) -> None:
    async def tell() -> None:
        story.exchange()
        assert await _polls(story) == 0

    asyncio.run(tell())


def test_one_that_follows_quickly_keeps_it_awake_for_the_window_and_no_longer(story: Story) -> None:
    async def tell() -> None:
        story.exchange()
        story.later(WINDOW_US - 1)
        story.exchange()
        assert 9 <= await _polls(story) <= 11
        assert await _polls(story) == 0

    asyncio.run(tell())


def test_each_reply_begins_the_window_anew(story: Story) -> None:
    async def tell() -> None:
        for _ in range(20):
            story.exchange()
            story.later(50)
        assert 4 <= await _polls(story) <= 6

    asyncio.run(tell())


def test_a_client_that_takes_its_time_is_not_waited_for(story: Story) -> None:
    async def tell() -> None:
        for _ in range(5):
            story.exchange()
            assert await _polls(story) == 0
            story.later(WINDOW_US + 1)

    asyncio.run(tell())


@pytest.mark.parametrize(("processors", "microseconds"), [(1, WINDOW_US), (2, 0)])
def test_it_never_polls_with_one_processor_or_when_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch, processors: int, microseconds: int
) -> None:
    monkeypatch.setattr(busy_poll, "_processors", lambda: processors)
    story = Story(BusyPoll(microseconds))

    async def tell() -> None:
        for _ in range(5):
            story.exchange()
            assert await _polls(story) == 0

    monkeypatch.setattr(busy_poll, "monotonic", lambda: story.now)
    asyncio.run(tell())
