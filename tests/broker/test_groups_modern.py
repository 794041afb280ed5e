"""Groups of the newer protocol over a log: what is told is written, what is not written did not happen."""

import asyncio
from typing import Any

import pytest
from tests.broker.group_helpers import MemoryLog, simulated, started

from millstream.broker.groups import Groups
from millstream.errors import ErrorCode, Refused
from millstream.groups.modern_changes import Share
from millstream.groups.outcomes import Beat, Reconciled, State

T = (1).to_bytes(16, "big")


def beat(member: str, epoch: int, **changes: Any) -> Beat:
    joining: dict[str, Any] = {
        "topics": frozenset({"t"}),
        "rebalance_timeout_ms": 60_000,
        "owned": frozenset(),
    }
    return Beat(member_id=member, epoch=epoch, **((joining if epoch == 0 else {}) | changes))


def share(*indexes: int) -> Share:
    return frozenset((T, index) for index in indexes)


async def settled(groups: Groups) -> None:
    """Two members, two partitions each."""
    await groups.hear("g", beat("m1", 0))
    await groups.hear("g", beat("m2", 0))
    await groups.hear("g", beat("m1", 1))
    await groups.hear("g", beat("m1", 1, owned=share(0, 1)))
    assert (await groups.hear("g", beat("m2", 2))).assigned == share(2, 3)


def test_a_group_is_found_again_as_it_was() -> None:
    async def main() -> None:
        log = MemoryLog()
        before = await started(log)
        await settled(before)
        described = before.describe_modern("g")
        before.stop()

        after = await started(log)
        assert after.describe_modern("g") == described
        assert described.state is State.STABLE
        assert await after.hear("g", beat("m2", 2)) == Reconciled("m2", 2, 5_000)
        assert [(each.name, each.type) for each in after.listed()] == [("g", "consumer")]
        after.stop()

    simulated(main)


def test_nobody_is_told_what_is_not_committed() -> None:
    async def main() -> None:
        log = MemoryLog(delay=lambda: None)
        groups = await started(log)
        told = groups.hear("g", beat("m1", 0))
        await asyncio.sleep(1)
        assert not told.done()
        log.commit()
        assert (await told).assigned == share(0, 1, 2, 3)
        groups.stop()

    simulated(main)


def test_what_could_not_be_written_did_not_happen() -> None:
    async def main() -> None:
        log = MemoryLog()
        groups = await started(log)
        await settled(groups)
        before = groups.describe_modern("g")
        log.refusal = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "no")
        with pytest.raises(Refused, match="COORDINATOR_NOT_AVAILABLE"):
            await groups.hear("g", beat("m3", 0))
        with pytest.raises(Refused, match="COORDINATOR_NOT_AVAILABLE"):
            await groups.hear("new", beat("m3", 0))
        assert groups.describe_modern("g") == before
        assert len(groups) == 1
        log.refusal = None
        assert (await groups.hear("g", beat("m3", 0))).epoch == 3
        groups.stop()

    simulated(main)


def test_after_a_lost_write_the_log_decides() -> None:
    async def main() -> None:
        delays: list[float | None] = [0.0] * 100
        log = MemoryLog(delay=lambda: delays.pop())
        groups = await started(log)
        await settled(groups)
        before = groups.describe_modern("g")
        delays.append(None)
        told = groups.hear("g", beat("m1", -1))
        log.lose(OSError(5, "gone"))
        with pytest.raises(Refused):
            await told
        assert groups.describe_modern("g") == before
        groups.stop()

    simulated(main)


def test_who_is_silent_is_given_up() -> None:
    async def main() -> None:
        groups = await started(MemoryLog())
        await settled(groups)
        await asyncio.sleep(30)
        await groups.hear("g", beat("m1", 2))
        await asyncio.sleep(16)
        assert [each.id for each in groups.describe_modern("g").members] == ["m1"]
        assert (await groups.hear("g", beat("m1", 2))).assigned == share(0, 1, 2, 3)
        await asyncio.sleep(46)
        assert groups.describe_modern("g").state is State.EMPTY
        groups.stop()

    simulated(main)
