"""Interrupted commands end with one line, and commit nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import command, documents
from waiting import wait_until


def test_ctrl_c_while_the_library_is_loaded() -> None:
    script = (
        "import os, signal, threading\nfrom shredlake.__main__ import main\n"
        "threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, "query", "nowhere"], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"shredlake: interrupted\n")


@pytest.mark.slow
def test_an_interrupted_query_ends_with_one_line(large: Path) -> None:
    process = command("query", str(large / "t"), "-f", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline(), "it is under way, and waits for its reader"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"shredlake: interrupted\n")


@pytest.mark.slow
def test_an_interrupted_ingest_commits_nothing(tmp_path: Path) -> None:
    source = documents(tmp_path / "a.ndjson", *(json.dumps({"n": n, "t": "x" * 500}) for n in range(60_000)))
    process = command("ingest", str(source), str(tmp_path / "t"), "--engine", "local", stderr=subprocess.PIPE)
    wait_until(lambda: (tmp_path / "t").exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before")
    assert (process.returncode, err) == (130, b"shredlake: interrupted\n")
    assert not list(tmp_path.glob("t/_delta_log/*.json"))


@pytest.mark.parametrize("stream", ["0<&-", "1>&-", "2>&-"])
def test_a_standard_stream_that_is_closed(tmp_path: Path, stream: str) -> None:
    """Its number must not go to a file of data, and Python must not lack it."""
    script = (
        "import os, sys\nfrom shredlake.__main__ import main\nsys.argv[1:] = ['--version']\nmain()\n"
        f"assert os.open({str(tmp_path / 'data')!r}, os.O_CREAT) > 2\n"
        "assert all((sys.stdin, sys.stdout, sys.stderr))\n"
    )
    ran = subprocess.run(
        ["sh", "-c", f'exec {stream}; "$0" -c "$1"', sys.executable, script], capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"shredlake") is not stream.startswith("1")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_the_version_on_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        process = command("--version", stdout=full, stderr=subprocess.PIPE)
        assert process.communicate()[1] == b"shredlake: no space left on device\n"
    assert process.returncode == 1
