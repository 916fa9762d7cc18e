"""A driver in a process of its own, for tests that kill it, or that need another Spark than theirs.

python tests/pipeline_driver.py ingest --master local[2,4] SOURCE TABLE

With `-` as the table, the driver takes tables from its standard input, one per line, because starting Spark
takes longer than the work.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import waiting
from shredlake.spark import ingest, optimize, session, sql, stream
from streams import changes_to_b, files_to_a

BEGINS = b"the work begins"
DONE = b"the work is done"
FROM_INPUT = "-"


class Driver:
    """A driver process, the head of a process group of its own."""

    def __init__(
        self,
        verb: str,
        *arguments: object,
        command: Sequence[str] = (sys.executable,),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has ended
        self._tables = int(FROM_INPUT not in arguments)
        self.process = subprocess.Popen(
            [*command, __file__, verb, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **(environment or {})},
        )

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def begin(self, table: Path) -> None:
        """Gives a table to a driver that takes them from its input. Returns when the work begins."""
        assert self.process.stdin is not None
        self._tables += 1
        with suppress(BrokenPipeError):  # it has ended
            self.process.stdin.write(f"{table}\n".encode())
            self.process.stdin.flush()
        waiting.wait_until(lambda: self.works or not self.runs)

    @property
    def works(self) -> bool:
        """Whether its Spark is up and the work has begun, so that what happens now happens to the work."""
        return self.said.count(BEGINS) >= max(self._tables, 1)

    @property
    def busy(self) -> bool:
        """Whether it is still there, and has not done all of its work."""
        return self.runs and self.said.count(DONE) < max(self._tables, 1)

    @property
    def said(self) -> bytes:
        return os.pread(self._said.fileno(), 1 << 26, 0)

    def finish(self, seconds: float = 300) -> dict[str, Any]:
        """The driver's last line; the driver must end without an error."""
        try:
            self.process.communicate(timeout=seconds)
        finally:
            self.kill()
        said = self.said.decode()
        assert self.process.returncode == 0, said
        answer: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
        return answer

    def kill(self) -> None:
        """Ends the driver, its JVM and its workers, whatever of them is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


VERBS = ("ingest", "optimize", "stream", "source-write", "source-stream", "chain")

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "200ms",
}


def write_source(spark: Any, source: str, table: str, marks: str | None = None) -> None:
    """Lines of text to a table, once, by `df.write`. With `marks`, the first attempt of a task is slow."""
    frame = spark.read.text(source).selectExpr("value AS v").repartition(8)
    if marks is not None:
        frame = frame.mapInArrow(slow_at_first(marks), "v string")
    writing = frame.write.format("shredlake").mode("append").options(txnAppId="job", txnVersion=1)
    writing.save(table)


def slow_at_first(marks: str) -> Any:
    """Passes rows on. Attempts leave marks; the first task's last rows wait for another attempt."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(waiting)  # workers can't import it

    def passed(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        name = f"{context.partitionId()}-{context.attemptNumber()}"
        Path(marks, name).touch()
        yield from batches
        if name == "0-0":
            waiting.wait_until(Path(marks, "0-1").exists, 60)  # Spark starts a copy of a task that is slow

    return passed


def copy_table(spark: Any, source: str, table: str) -> None:
    """A table to another one, file by file, by `readStream` and `writeStream`."""
    frame = spark.readStream.format("shredlake").option("maxFilesPerTrigger", 1).load(source)
    writing = frame.writeStream.format("shredlake").option("checkpointLocation", f"{table}_state")
    writing.trigger(availableNow=True).start(table).awaitTermination()


def work(spark: Any, given: argparse.Namespace, table: str) -> int:
    """Does the work that the command line names; returns the number of rows, as far as the verb tells it."""
    if given.verb == "ingest":
        return int(ingest(spark, given.source, table, task_bytes=given.task_bytes).rows)
    if given.verb == "optimize":
        return int(optimize(spark, table, sort_by="v:time_us::bigint", file_bytes=1 << 20).rows)
    if given.verb == "source-write":
        write_source(spark, given.source, table, given.speculation)
    elif given.verb == "source-stream":
        copy_table(spark, given.source, table)
    elif given.verb == "chain":
        files_to_a(spark, Path(given.source), Path(table))
        changes_to_b(spark, Path(table))
    else:
        stream(spark, given.source, table, f"{table}_state", files_per_batch=1).awaitTermination()
    return 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("source")
    parser.add_argument("table")
    parser.add_argument("--master")
    parser.add_argument("--remote")
    parser.add_argument("--task-bytes", type=int, default=1 << 20)
    parser.add_argument("--query", action="store_true")
    parser.add_argument("--speculation", help="a folder for the marks of tasks that ran")
    given = parser.parse_args()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    if given.speculation:
        settings |= SPECULATION
    spark = session(master=given.master, remote=given.remote, settings=settings)
    rows = 0
    for line in sys.stdin if given.table == FROM_INPUT else [given.table]:
        print(BEGINS.decode(), flush=True)
        rows = work(spark, given, line.rstrip("\n"))
        print(DONE.decode(), flush=True)
    answer: dict[str, Any] = {"rows": rows, "version": spark.version}
    answer["master"] = spark.conf.get("spark.master")
    if given.query:
        query = "SELECT count(*) AS n FROM t WHERE v:time_us::bigint > 0"
        answer["counted"] = sql(spark, query, t=given.table).collect()[0]["n"]
    spark.stop()
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
