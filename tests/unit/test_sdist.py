"""The source distribution installs where there is no C compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_installs_without_a_compiler(tmp_path: Path) -> None:
    pytest.importorskip("Cython")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src"):
        (source / name).symlink_to(ROOT / name)
    run(sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", tmp_path, cwd=source)
    (archive,) = tmp_path.glob("shredlake-*.tar.gz")
    where = tmp_path / "installed"
    install = ["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    run(sys.executable, *install, "--target", where, archive, cwd=tmp_path, CC="/bin/false")
    assert not list(where.glob("shredlake/kernels/*.so"))
    code = "import shredlake as sl; print(sl.__file__); print(sl.Variant.from_json('[1]').to_json())"
    printed = run(sys.executable, "-W", "ignore", "-c", code, cwd=tmp_path, PYTHONPATH=str(where))
    assert printed.split() == [str(where / "shredlake" / "__init__.py"), "[1]"]
