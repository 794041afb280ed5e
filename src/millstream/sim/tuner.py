"""A simulated operator who changes configs of topics while they are in use, and looks whether they stay."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Final, final

from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.sim.history import History
from millstream.sim.link import FAILURES, Later, Link
from millstream.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsRequestResource,
    DescribeConfigsResponse,
)
from millstream.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestConfig,
    IncrementalAlterConfigsRequestResource,
    IncrementalAlterConfigsResponse,
)

_TOPIC: Final = 2
_SET: Final = 0


@final
class Tuner:
    """Changes one config after the other until told to `finish`.

    *choices* are values by config, by topic. What was acknowledged must be
    seen ever after; where no answer came either value may be, and what is seen
    next is what it is.
    """

    def __init__(
        self,
        link: Link,
        history: History,
        random: Random,
        choices: Mapping[str, Mapping[str, tuple[str, ...]]],
    ) -> None:
        self.changes = 0
        self._link = link
        self._history = history
        self._random = random
        self._choices = choices
        self._known: dict[tuple[str, str], str] = {}
        self._finishing = False

    def finish(self) -> None:
        self._finishing = True

    async def run(self) -> None:
        while not self._finishing:
            topic = self._random.choice(list(self._choices))
            try:
                await self._check(topic)
                await self._change(topic)
            except FAILURES as failure:
                if isinstance(failure, Unreachable):
                    self._link.drop()
            await asyncio.sleep(self._random.uniform(0.2, 2.0))

    async def check_all(self) -> None:
        for topic in self._choices:
            while True:
                try:
                    await self._check(topic)
                    break
                except FAILURES:
                    await asyncio.sleep(0.1)

    async def _change(self, topic: str) -> None:
        name = self._random.choice(list(self._choices[topic]))
        value = self._random.choice(self._choices[topic][name])
        self._known.pop((topic, name), None)  # until an answer comes
        change = IncrementalAlterConfigsRequestConfig(name, _SET, value)
        resource = IncrementalAlterConfigsRequestResource(_TOPIC, topic, [change])
        said = await self._link.ask(
            IncrementalAlterConfigsRequest([resource]), IncrementalAlterConfigsResponse
        )
        self._judge(topic, said.responses[0].error_code)
        self._known[topic, name] = value
        self.changes += 1

    async def _check(self, topic: str) -> None:
        asked = DescribeConfigsRequestResource(_TOPIC, topic, list(self._choices[topic]))
        said = await self._link.ask(DescribeConfigsRequest([asked]), DescribeConfigsResponse)
        self._judge(topic, said.results[0].error_code)
        for config in said.results[0].configs:
            known = self._known.get((topic, config.name))
            if known is not None and _plain(known) != _plain(config.value or ""):
                self._history.complain(
                    "config-lost", topic, f"{config.name} is {config.value}, though {known} was acknowledged"
                )

    def _judge(self, topic: str, code: int) -> None:
        named = error_code(code)
        if named is ErrorCode.NONE:
            return
        if not named.retriable or named is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._history.complain("refused-change", topic, f"{named.name} to configs")
        raise Later(named.name)


def _plain(value: str) -> str:
    """*value* without what makes no difference: 1 and 1.0 are the same."""
    return value.removesuffix(".0")
