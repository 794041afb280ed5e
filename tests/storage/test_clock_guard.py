"""When the wall clock may be relied on to delete."""

from millstream.storage.retention import JUMP_MS, STEADY_MS, ClockGuard

_YEAR_MS = 365 * 86_400_000


def test_a_clock_is_trusted_after_it_ran_steadily_for_a_while() -> None:
    guard = ClockGuard()

    assert not guard.trusts(1000, 0)
    assert not guard.trusts(1000 + STEADY_MS - 1, STEADY_MS - 1)
    assert guard.trusts(1000 + STEADY_MS, STEADY_MS)
    assert guard.jumps == 0


def test_after_a_jump_either_way_it_is_not() -> None:
    for jump_ms in (_YEAR_MS, -_YEAR_MS):
        guard = ClockGuard()
        guard.trusts(0, 0)
        assert guard.trusts(STEADY_MS, STEADY_MS)

        assert not guard.trusts(STEADY_MS + jump_ms + 1, STEADY_MS + 1)
        assert not guard.trusts(2 * STEADY_MS + jump_ms, 2 * STEADY_MS)
        assert guard.trusts(2 * STEADY_MS + jump_ms + 1, 2 * STEADY_MS + 1)
        assert guard.jumps == 1


def test_small_corrections_are_no_jump() -> None:
    guard = ClockGuard()
    guard.trusts(0, 0)

    assert guard.trusts(STEADY_MS + JUMP_MS, STEADY_MS)
