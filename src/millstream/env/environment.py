"""Everything a node needs from outside, in one value."""

from dataclasses import dataclass
from random import Random
from typing import final

from millstream.env.clock import Clock
from millstream.env.disk import Disk
from millstream.env.registry import Registry


@final
@dataclass(frozen=True)
class Env:
    """There is no other way out of a node: what is not here or on the loop does not exist for it."""

    clock: Clock
    disk: Disk
    registry: Registry
    random: Random
