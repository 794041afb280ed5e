"""The cluster's shared memory: small values under keys, changed all together or not at all.

It holds what must be agreed on – topics, configs, blocks of producer ids –
never records. A change names the revisions it was decided on, so that a
decision made on old news is turned down rather than applied.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

ABSENT: Final = 0
"""The revision of a key that is not there."""


@final
@dataclass(frozen=True)
class Item:
    key: str
    value: bytes
    revision: int


class Registry(ABC):
    @abstractmethod
    async def start(self) -> None:
        """Read what is there; to be called once, before anything else."""

    @abstractmethod
    async def range(self, prefix: str) -> list[Item]:
        """Every item whose key starts with *prefix*, by key."""

    @abstractmethod
    async def change(self, values: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        """Set *values* (None deletes) if every key of *expect* still has that revision.

        The new revision of these keys, once it is durable; ABSENT if nothing was changed.
        """

    @abstractmethod
    async def stop(self) -> None: ...
