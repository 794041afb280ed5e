"""Spark's pages of traceback in a line."""

import pytest

from millstream.pipeline.failures import BatchFailed, briefly, cause, may_pass

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


def test_a_failure_in_java_is_told_without_its_stack() -> None:
    py4j = pytest.importorskip("py4j.protocol", reason="it comes with pyspark")

    class Told(py4j.Py4JJavaError):  # type: ignore[misc, name-defined]  # py4j is untyped
        def __init__(self) -> None:
            pass

        def __str__(self) -> str:
            said = [
                "An error occurred while calling o83.parquet.",
                ": org.apache.spark.SparkException: Job aborted",
            ]
            stack = ["\tat org.apache.spark.Some.where(Some.scala:1)"] * 1000
            return "\n".join(
                [*said, *stack, "Caused by: java.io.IOException: no space", *stack, "\t... 9 more"]
            )

    def each(batch: object, number: int) -> None:
        raise Told

    with pytest.raises(BatchFailed) as failed:
        briefly(each)(None, 1)
    assert str(failed.value).splitlines() == [
        "An error occurred while calling o83.parquet.",
        ": org.apache.spark.SparkException: Job aborted",
        "Caused by: java.io.IOException: no space",
    ]
