"""Choosing the engine of a verb: Spark, or threads of this process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import typer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shredlake.jobs.engine import LocalEngine
    from shredlake.spark.engine import SparkEngine

EngineName = Literal["auto", "spark", "local"]

LARGE_INPUT = 20 << 30
"""Inputs of at least this many bytes are worth starting Spark for."""

ENGINE = typer.Option(
    "auto", "--engine", help="auto chooses Spark for more than 20 GB, or if --master or --remote is given."
)
MASTER = typer.Option(
    None, "--master", metavar="URL", help="The Spark master: local[4], spark://host:7077, yarn, k8s://..."
)
REMOTE = typer.Option(None, "--remote", metavar="URL", help="A Spark Connect server, e.g. sc://host:15002.")


@contextmanager
def running(
    name: EngineName, size: int, master: str | None = None, remote: str | None = None
) -> Iterator[LocalEngine | SparkEngine]:
    """Yields the engine for an input of this size. A Spark session started for it is stopped at the end."""
    asked = master is not None or remote is not None or "PYSPARK_GATEWAY_PORT" in os.environ
    if name == "local" or (name == "auto" and not asked and size < LARGE_INPUT):
        from shredlake.jobs.engine import LocalEngine

        yield LocalEngine()
        return
    from shredlake.spark.engine import SparkEngine  # not needed by threads

    spark = quiet_session(master, remote)
    try:
        yield SparkEngine(spark)
    finally:
        spark.stop()


def quiet_session(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Starts a session without the JVM's start-up messages; they are shown if it fails to start."""
    from shredlake.spark.session import session

    with tempfile.TemporaryFile() as said:
        own = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            return session(master=master, remote=remote, settings=settings)
        except Exception:
            said.seek(0)
            os.write(own, said.read())
            raise
        finally:
            os.dup2(own, 2)
            os.close(own)
