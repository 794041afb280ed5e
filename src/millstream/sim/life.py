"""Which node is running, and whether it still lives."""

import asyncio
from contextvars import ContextVar
from typing import Any, Final, final


@final
class Life:
    """One node from its start to its crash. What belongs to a dead life is never run again."""

    __slots__ = ("_prune_at", "alive", "node", "number", "parked", "paused", "tasks")

    def __init__(self, node: str, number: int) -> None:
        self.node = node
        self.number = number
        self.alive = True
        self.paused = False
        self.parked: list[asyncio.Handle] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._prune_at = 64

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold on to *task*: were it collected after a crash, its `finally` blocks would run."""
        self.tasks.append(task)
        if len(self.tasks) >= self._prune_at:
            self.prune()
            self._prune_at = 64 + 2 * len(self.tasks)

    def prune(self) -> None:
        """Let go of tasks that are done."""
        self.tasks = [task for task in self.tasks if not task.done()]


HERE: Final[ContextVar[Life | None]] = ContextVar("here", default=None)


def here() -> str:
    """The name of the node whose code is running; `outside` for the simulation's own."""
    life = HERE.get()
    return life.node if life is not None else "outside"
