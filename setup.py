"""Builds the Cython kernels; everything else is in pyproject.toml.

One wheel per platform serves every Python from 3.11 on (the limited API). Without a C compiler the kernels
are left out, and a much slower pure-Python version is used in their place. The build reports that, and
shredlake reports it when it is first used; SHREDLAKE_REQUIRE_KERNELS=1 makes it an error.
SHREDLAKE_SKIP_KERNELS=1 compiles nothing, for an editable install whose kernels are built by
`build_ext --inplace`. SHREDLAKE_SANITIZE=1 builds with AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

LIMITED_API = "0x030B0000"  # Python 3.11
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-w"]  # without debug information and warnings of generated C
if os.environ.get("SHREDLAKE_SANITIZE") == "1":
    FLAGS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    FLAGS += ["-fno-omit-frame-pointer"]

# These kernels are measurably faster at -O2, and others, such as get, at -O3: see decision 0006.
AT_O2 = {"unshred"}

LINK = re.compile(r'(\]\(|src=")(?!https?:)([^)"]+)')
"""A relative link or picture in the README: `](docs/sql.md`, `src="docs/plot.svg`."""

OPTIONAL = os.environ.get("SHREDLAKE_REQUIRE_KERNELS") != "1"


def for_the_package_index(readme: str) -> str:
    """The README with absolute links: the page of a package index has no files beside it, and no anchors.

    Pictures need the file itself, links the page that shows it.
    """
    repository = "https://github.com/shredlake/shredlake"

    def absolute(link: re.Match[str]) -> str:
        opening, path = link.groups()
        if path.startswith("#"):
            return f"{opening}{repository}{path}"
        kind = "raw" if path.endswith((".svg", ".png")) else "blob"
        return f"{opening}{repository}/{kind}/main/{path}"

    return LINK.sub(absolute, readme)


def compiles() -> bool:
    """Whether a C compiler and Python's headers are there, found by compiling a line."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "line.c"
        source.write_text("#include <Python.h>\n")
        headers = f"-I{sysconfig.get_path('include')}"
        try:
            subprocess.run([*compiler, headers, "-c", source], cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


wanted = os.environ.get("SHREDLAKE_SKIP_KERNELS") != "1"
if wanted and OPTIONAL and not compiles():
    wanted = False
    print(
        "shredlake: no C compiler works here, so the kernels are not built, and a much slower pure-Python "
        "version is used. Install a wheel (pip install --only-binary shredlake shredlake), or a compiler "
        "(Debian: apt-get install gcc libc6-dev) and then shredlake again with pip install --no-cache-dir.",
        file=sys.stderr,
    )


def size(source: Path) -> int:
    """The largest kernels are compiled first, so that all cores finish at about the same time."""
    return source.stat().st_size


kernels = [
    Extension(
        f"shredlake.kernels.compiled.{source.stem}",
        [str(source)],
        extra_compile_args=[*FLAGS, *(["-O2"] if source.stem in AT_O2 and "-O3" in FLAGS else [])],
        extra_link_args=[flag for flag in FLAGS if flag.startswith("-fsanitize")],
        define_macros=[("Py_LIMITED_API", LIMITED_API), ("CYTHON_LIMITED_API", "1")],
        py_limited_api=True,
    )
    for source in sorted(Path("src/shredlake/kernels/compiled").glob("*.pyx"), key=size, reverse=True)
    if wanted
]


class AbiWheel(bdist_wheel):
    """Tags the wheel cp311-abi3: built once, good for 3.11 and up."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp311"
        super().finalize_options()


translated = cythonize(
    kernels,
    nthreads=os.cpu_count() or 1,
    build_dir="build/cython",
    compiler_directives={
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
        "embedsignature": True,
    },
)
for kernel in translated:
    kernel.optional = OPTIONAL  # cythonize() makes new extensions and forgets it

setup(
    long_description=for_the_package_index(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    ext_modules=translated,
    cmdclass={"bdist_wheel": AbiWheel},
)
