"""How long to wait before trying again."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.sdk import Rejected, Retry
from millstream.sdk.call import Attempts, Call


@given(st.integers(1, 12), st.floats(0.001, 3), st.floats(0.001, 9), st.integers())
def test_waits_double_up_to_a_bound_and_differ_by_chance(
    attempts: int, first: float, most: float, seed: int
) -> None:
    delays = list(Retry(attempts, first, most).delays(Random(seed)))

    assert len(delays) == attempts - 1
    for number, delay in enumerate(delays):
        whole = min(first * 2**number, most)
        assert whole / 2 <= delay <= whole


def test_there_is_a_first_attempt() -> None:
    with pytest.raises(ValueError, match="at least one attempt"):
        Retry(attempts=0)


def test_a_broker_may_ask_for_more_patience_but_not_for_ever() -> None:
    attempts = Attempts(Call("GET", "/"), Retry(first_delay=0.1), Random(1))

    assert attempts.answered(503, b"", "2.5") == 2.5
    assert attempts.answered(429, b"", "100000") == 60.0
    assert 0.1 < (attempts.answered(503, b"", "Wed, 21 Oct 2026 07:28:00 GMT") or 0) <= 0.4
    assert (attempts.answered(503, b"", "-5") or 0) <= 0.8
    with pytest.raises(Rejected) as problem:
        attempts.answered(503, b'{"error": "the disk is full"}', None)
    assert "the disk is full" in str(problem.value)
