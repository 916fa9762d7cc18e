"""The user sees the error of the worker, on classic Spark and over Connect."""

from __future__ import annotations

import pytest

from shredlake.errors import MissingDependency, PipelineError, TableError
from shredlake.spark.engine import translated

CLASSIC = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1883, in invoke_udf
    work(task)
    ^^^^^^^^^^
{cause}
"""
CONNECT = """
  An exception was thrown from the Python worker. Please see the stack trace below.
[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "worker.py", line 1883, in invoke_udf
    work(task)

{cause}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:1097)
"""


@pytest.mark.parametrize("form", [CLASSIC, CONNECT], ids=["classic", "connect"])
@pytest.mark.parametrize(
    "cause",
    [
        "ValueError: first line\nsecond line",
        "PermissionError: [Errno 13] Permission denied: '/data/events/part-0.parquet'",
        "my_package.errors.Odd: it: is odd",
        "KeyboardInterrupt",
    ],
)
def test_the_cause_is_kept(form: str, cause: str) -> None:
    found = translated(RuntimeError(form.format(cause=cause)))
    assert isinstance(found, PipelineError)
    assert str(found) == f"the Spark job failed: {cause}"


@pytest.mark.parametrize("form", [CLASSIC, CONNECT], ids=["classic", "connect"])
def test_errors_of_ours_are_what_they_were(form: str) -> None:
    found = translated(RuntimeError(form.format(cause="shredlake.errors.TableError: t: is gone")))
    assert type(found) is TableError
    assert str(found) == "t: is gone"


@pytest.mark.parametrize("form", [CLASSIC, CONNECT], ids=["classic", "connect"])
def test_workers_without_shredlake(form: str) -> None:
    found = translated(RuntimeError(form.format(cause="ModuleNotFoundError: No module named 'shredlake'")))
    assert isinstance(found, MissingDependency)
    assert "Install the same version on the workers" in str(found)


def test_of_a_chain_the_last_counts() -> None:
    chain = CLASSIC.format(cause="KeyError: 'a'") + (
        "\nDuring handling of the above exception, another exception occurred:\n\n"
        + CLASSIC.partition("\n")[2].format(cause="OSError: disk full")
    )
    assert str(translated(RuntimeError(chain))) == "the Spark job failed: OSError: disk full"


def test_what_is_not_of_python_is_its_first_line() -> None:
    found = translated(RuntimeError("\n[OUT_OF_MEMORY] no more memory\n\tat org.apache"))
    assert str(found) == "the Spark job failed: [OUT_OF_MEMORY] no more memory"


def test_a_cause_is_not_a_novel() -> None:
    assert len(str(translated(RuntimeError(CLASSIC.format(cause="ValueError: " + "x" * 100_000))))) < 2100
