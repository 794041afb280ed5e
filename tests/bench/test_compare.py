"""How many rounds there is time for."""

from collections.abc import Callable

from bench.compare import rounds_within


def rounds(most: int, seconds: float, each: Callable[[int], float]) -> int:
    """How many were begun, where round *n* takes *each(n)* seconds."""
    spent: list[float] = []
    for number in rounds_within(most, seconds, lambda: sum(spent)):
        spent.append(each(number))
    return len(spent)


def test_all_rounds_are_done_if_there_is_time() -> None:
    assert rounds(5, 50.0, lambda number: 10.0) == 5


def test_a_round_that_would_end_too_late_is_not_begun() -> None:
    assert rounds(5, 49.9, lambda number: 10.0) == 4
    assert rounds(5, 49.9, lambda number: 20.0 if number == 2 else 10.0) == 2


def test_there_is_always_one_round() -> None:
    assert rounds(5, 1.0, lambda number: 10.0) == 1
