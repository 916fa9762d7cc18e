"""The source distribution installs where there is no C compiler."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/shredlake/shredlake"


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def installer() -> list[str]:
    """The command that installs: pip, or uv where the environment has no pip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    return [uv, "pip", "install", "--python", sys.executable]


@pytest.mark.slow
def test_installs_without_a_compiler(tmp_path: Path) -> None:
    pytest.importorskip("Cython")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src"):
        (source / name).symlink_to(ROOT / name)
    run(sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", tmp_path, cwd=source)
    (archive,) = tmp_path.glob("shredlake-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = packed.getnames()
        description = next(
            packed.extractfile(name) for name in names if name.count("/") == 1 and name.endswith("PKG-INFO")
        )
        page = description.read().decode()
    kinds = {Path(name).suffix for name in names}
    assert {".pyx", ".pxd", ".py", ".css"} <= kinds
    assert not kinds & {".c", ".so", ".o"}
    links = re.findall(r'\]\(([^)]+)\)|src="([^"]+)"', page)
    relative = [link or picture for link, picture in links if not (link or picture).startswith("https://")]
    assert links
    assert not relative
    assert f'src="{REPOSITORY}/raw/main/docs/query-benchmark.svg"' in page
    assert f"]({REPOSITORY}/blob/main/docs/tutorial.md)" in page
    where = tmp_path / "installed"
    options = ["--verbose", "--no-build-isolation", "--no-deps", "--no-index"]
    said = run(*installer(), *options, "--target", where, archive, cwd=tmp_path, CC="/bin/false")
    assert "no C compiler works here" in said.stdout + said.stderr
    assert not list(where.glob("shredlake/kernels/**/*.so"))
    code = "import shredlake as sl; print(sl.__file__); print(sl.Variant.from_json('[1]').to_json())"
    printed = run(sys.executable, "-W", "ignore", "-c", code, cwd=tmp_path, PYTHONPATH=str(where))
    assert printed.stdout.split() == [str(where / "shredlake" / "__init__.py"), "[1]"]

    (tmp_path / "events.ndjson").write_text('{"kind": "buy", "n": 1}\n{"kind": "view", "n": 2}\n')
    command = partial(run, sys.executable, "-m", "shredlake", cwd=tmp_path, PYTHONPATH=str(where))
    ingested = command("ingest", "events.ndjson", "events")
    assert "2 rows" in ingested.stdout
    assert ingested.stderr.count("runs without its compiled kernels") == 1
    assert ingested.stderr.count("\n") == 1
    rows = command("query", "events", "v:kind::string AS kind", "--where", "v:n::int = 2", "--json")
    assert rows.stdout == '{"kind": "view"}\n'
