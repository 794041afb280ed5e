"""Spark's pages of traceback in a line."""

from millstream.pipeline.failures import cause, may_pass

PYTHON = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred. Reason: Traceback:
  File "x.py", line 1, in call
    raise e
millstream.spark.plan.DataLoss: some of what was to be read is gone:
  orders-3: offsets 100 to 4999 are gone
SQLSTATE: 39000"""


def test_the_python_exception_is_what_counts() -> None:
    assert cause(PYTHON) == "some of what was to be read is gone:\n  orders-3: offsets 100 to 4999 are gone"


def test_an_expectation_that_fails_speaks_for_itself() -> None:
    text = "Aborted\nx: [USER_RAISED_EXCEPTION] orders-0 offset 7: not as expected: a > 0 SQLSTATE: P1\n"

    assert cause(text) == "orders-0 offset 7: not as expected: a > 0"


def test_otherwise_the_first_line_is_told() -> None:
    assert cause("\nboom\n  at x") == "boom"
    assert "does not say why" in cause("")


def test_only_a_slow_start_is_worth_another_try() -> None:
    assert may_pass("x: Python worker failed to connect back.")
    assert not may_pass(PYTHON)
