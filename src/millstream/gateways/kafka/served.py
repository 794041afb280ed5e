"""Which APIs this door serves: those that have a handler, and work."""

from typing import Final

from millstream.wire.apis import APIS

# Known to the wire, but not served: AlterReplicaLogDirs, DescribeQuorum, UpdateFeatures.
_NOT_SERVED: Final = frozenset({34, 55, 57})


def served() -> list[int]:
    """The keys of all APIs we answer, in order."""
    return [key for key in sorted(APIS) if key not in _NOT_SERVED]
