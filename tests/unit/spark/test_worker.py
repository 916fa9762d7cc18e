"""A worker that Spark dismisses exits without a traceback; errors of tasks are still reported."""

from __future__ import annotations

import os
import socket
from typing import BinaryIO

import pytest

from shredlake.spark.worker import Tell, unless_disconnected


@pytest.fixture
def told() -> list[str]:
    return []


def _tell_into(told: list[str]) -> Tell:
    def tell(error: BaseException, outfile: BinaryIO) -> None:
        told.append(str(error))

    return unless_disconnected(tell)


def test_an_error_is_told_while_spark_listens(told: list[str]) -> None:
    worker, spark = socket.socketpair()
    with worker, spark, os.fdopen(os.dup(worker.fileno()), "wb") as outfile:
        _tell_into(told)(ValueError("a task failed"), outfile)
    assert told == ["a task failed"]


def test_a_closed_socket_is_not_reported(told: list[str]) -> None:
    worker, spark = socket.socketpair()
    spark.close()
    with worker, os.fdopen(os.dup(worker.fileno()), "wb") as outfile:
        _tell_into(told)(EOFError(), outfile)
        outfile.flush()  # what Spark's daemon does next
    assert told == []
