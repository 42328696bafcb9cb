"""Builds the hot modules with mypyc where a C compiler is at hand; otherwise Weft installs as pure Python.

The choice never fails an install: no compiler, no mypy, or WEFT_PURE=1 in the environment mean "pure", and
`weft doctor` says which of the two is running.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
HOT = [line.split("#")[0].strip() for line in (ROOT / "hot_modules.txt").read_text().splitlines()]

LIBRT = "librt>=0.16"  # compiled modules read and write bytes by it; pure Python does without
SMALL = ["-g0", "-fno-asynchronous-unwind-tables", "-falign-jumps=1", "-falign-loops=1", "-falign-labels=1"]
"""Of wheels, which others install and nobody debugs: half the size."""
SMALL_LINKED = ["-Wl,-s", "-Wl,-z,noseparate-code", "-Wl,--gc-sections"]
BUILDS_NOTHING = {"egg_info", "dist_info", "sdist"}  # commands that ask only for what the package is


def say(text: str) -> None:
    print(f"weft: {text}", file=sys.stderr)


class OptionalBuild(build_ext):
    """A failed compilation is reported in one line and leaves the pure modules in place."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._clear()
            say(f"going on in pure Python, the compiled build failed: {error}")

    def build_extension(self, ext: Extension) -> None:
        """The C files of one extension on all cores: setuptools itself compiles them one after the other."""
        if not self.inplace and sys.platform == "linux":
            ext.extra_compile_args = [*ext.extra_compile_args, *SMALL]
            ext.extra_link_args = [*ext.extra_link_args, *SMALL_LINKED]
        one_file = self.compiler._compile
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            begun: list[Future[None]] = []
            self.compiler._compile = lambda *job: begun.append(workers.submit(one_file, *job))
            compile_all = self.compiler.compile

            def compile_and_wait(*arguments: Any, **settings: Any) -> list[str]:
                objects: list[str] = compile_all(*arguments, **settings)
                for job in begun:
                    job.result()
                return objects

            self.compiler.compile = compile_and_wait
            try:
                super().build_extension(ext)
            finally:
                self.compiler._compile, self.compiler.compile = one_file, compile_all

    def _clear(self) -> None:
        """Some modules may be in place already, and half of them would be worse than none."""
        if self.inplace:
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)

    def get_outputs(self) -> list[str]:
        return [path for path in super().get_outputs() if Path(path).exists()]


class BuildWithBenchmarks(build_py):
    """A wheel has the benchmarks too, from their folder beside `src`.

    They are not among the packages of pyproject.toml: with two roots an editable install would map packages by name, and
    would not find the compiled modules' common library, which lies in `src` itself.  There `weft bench` finds the folder.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        found = find_packages("benchmarks")
        self.packages = [*self.packages, *found]
        self.package_dir = {
            **self.package_dir,
            **{name: f"benchmarks/{name.replace('.', '/')}" for name in found},
        }
        self.package_data = {**self.package_data, "weft_benchmarks": ["*.c", "*.cpp"]}


def why_pure() -> str:
    """Empty if there is all that it takes to compile."""
    if os.environ.get("WEFT_PURE"):
        return "going on in pure Python, as WEFT_PURE asks"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not any(map(shutil.which, (compiler, "cc", "gcc", "clang"))):
        return f"going on in pure Python: no C compiler ({compiler}) found"
    if find_spec("mypyc") is None:
        return "going on in pure Python: mypyc is not installed"
    return ""


def extensions() -> list[Extension]:
    if BUILDS_NOTHING.intersection(sys.argv):  # each takes mypyc a minute to read
        return []
    if why := why_pure():
        say(why)
        return []
    from mypyc.build import mypycify

    os.chdir(ROOT)
    modules = [name for name in HOT if name]
    try:
        found: list[Extension] = mypycify(
            ["--config-file", "mypyc.ini", *modules], opt_level="3", multi_file=True
        )
    except SystemExit:
        say("going on in pure Python: mypyc refused the hot modules, its reasons stand above")
        return []
    if os.name == "posix":
        for extension in found:  # calls from one C file to another need not go through the linker's table
            extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden"]
    return found


setup(
    ext_modules=extensions(),
    install_requires=[] if why_pure() else [LIBRT],
    cmdclass={"build_ext": OptionalBuild, "build_py": BuildWithBenchmarks},
)
