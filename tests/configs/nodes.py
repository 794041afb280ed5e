"""A whole node with its doors, for what a broker alone cannot show."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from tests.broker.support import SESSION
from tests.configs.showing import Stage, Way, played

from millstream.broker.configs import Change, Operation
from millstream.broker.topics import NewTopic
from millstream.sim.history import History
from millstream.sim.host import BROKER, PORT, Host
from millstream.sim.loop import SimLoop

T = TypeVar("T")


def serving(
    way: Way,
    values: Mapping[str, str],
    look: Callable[[Stage], Awaitable[T]],
    besides: Mapping[str, str] | None = None,
) -> T:
    """What *look* sees of a node, with topics t and u, to which *values* were given in this way.

    It is started with *besides* whatever the way.
    """

    async def story(loop: SimLoop) -> T:
        settings = {
            "listeners": f"PLAINTEXT://{BROKER}:{PORT}",
            "log.dir.ballast.bytes": 4096,
            **(besides or {}),
            **(values if way is Way.STARTED else {}),
        }
        host = Host(loop, 1, settings, History())
        host.up()
        while host.node is None:  # noqa: ASYNC110  # it has no event, and this time is free
            await asyncio.sleep(0.01)
        stage = Stage(host.node.broker, host.clock, host.disk)
        await stage.broker.create_topics(SESSION, [NewTopic("t"), NewTopic("u")])
        if way is Way.CHANGED and values:
            changes = [Change(name, Operation.SET, value) for name, value in values.items()]
            await stage.broker.change_broker_configs(SESSION, changes, False)
        return await look(stage)

    return played(story)
