"""Messages of a starting JVM, and everything else that goes to stderr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINES = r"""
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
26/11/18 16:40:58 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform
26/11/18 16:40:58 WARN Utils: Service 'SparkUI' could not bind on port 4040. Attempting port 4041.
Setting Spark log level to "ERROR".
26/11/18 16:40:59 ERROR SparkContext: Error initializing SparkContext.
"""

CHILD = """
import subprocess, sys, threading
from shredlake.spark.start_messages import without_start_messages

with without_start_messages():
    subprocess.run(["cat"], stdout=2, check=True)
    child = subprocess.Popen(["sh", "-c", 'read line < "$0"; echo "$line" >&2', sys.argv[1]])
    print("a message of this process", file=sys.stderr, flush=True)
with open(sys.argv[1], "w") as pipe:
    pipe.write("Setting default log level to: written after the start\\n")
child.wait()
for thread in threading.enumerate():
    if thread.daemon:
        thread.join(60)
print("the end", file=sys.stderr)
"""


def run(script: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=300, check=True, env=environment
    )


def test_known_lines_are_dropped_during_the_start_and_nothing_else_ever(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = run(CHILD, str(pipe), given=LINES.lstrip()).stderr.splitlines()
    assert said == [
        "26/11/18 16:40:59 ERROR SparkContext: Error initializing SparkContext.",
        "a message of this process",
        "Setting default log level to: written after the start",
        "the end",
    ]


@pytest.mark.slow
def test_a_session_writes_nothing_to_stderr() -> None:
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Java is missing")
    found = run(
        "from shredlake import spark as sls\n"
        "spark = sls.session(master='local[1]')\n"
        "print(spark.sql('select 1 AS one').collect())"
    )
    assert found.stdout == "[Row(one=1)]\n"
    assert found.stderr == ""
