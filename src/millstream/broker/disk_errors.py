"""What a disk's refusal means: a full one is a mood, anything else ends the node."""

import errno
from collections.abc import Callable, Mapping
from typing import Final, final

from millstream.broker.unhurried import to_the_end
from millstream.env.disk import DiskFailed
from millstream.env.registry import Item, Registry
from millstream.errors import ErrorCode, Refused
from millstream.storage.space import Space, is_want_of_space

_MOODS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE})

Failed = Callable[[OSError], None]


def refusal_of(error: OSError, failed: Failed) -> Refused:
    """What to tell the client; *failed* is called if the disk cannot be trusted any more."""
    if isinstance(error, DiskFailed) or error.errno not in _MOODS:
        failed(error)
    return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"could not write: {error.strerror}")


@final
class GuardedRegistry(Registry):
    """The node's registry, for a broker that must end when the disk below it fails.

    It is told even if the client that asked for the change has gone. A full
    disk gives up its reserve for it: the change may be what frees the disk.
    """

    def __init__(self, registry: Registry, space: Space, failed: Failed) -> None:
        self._registry = registry
        self._space = space
        self._failed = failed

    async def start(self) -> None:
        await self._registry.start()

    async def range(self, prefix: str) -> list[Item]:
        return await self._registry.range(prefix)

    async def change(self, values: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        return await to_the_end(self._change(values, expect))

    async def stop(self) -> None:
        await self._registry.stop()

    async def _change(self, values: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        try:
            try:
                return await self._registry.change(values, expect)
            except OSError as error:
                if not is_want_of_space(error):
                    raise
                self._space.drop_ballast()
                return await self._registry.change(values, expect)
        except OSError as error:
            raise refusal_of(error, self._failed) from error
