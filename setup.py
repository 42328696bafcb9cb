"""Builds the hot modules with mypyc where a C compiler is at hand; otherwise Weft installs as pure Python.

The choice never fails an install: no compiler, no mypy, or WEFT_PURE=1 in the environment mean "pure", and
`weft doctor` says which of the two is running.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
HOT = [line.split("#")[0].strip() for line in (ROOT / "hot_modules.txt").read_text().splitlines()]


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

    def _clear(self) -> None:
        """Some modules may be in place already, and half of them would be worse than none."""
        if self.inplace:
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)

    def get_outputs(self) -> list[str]:
        return [path for path in super().get_outputs() if Path(path).exists()]


def extensions() -> list[Extension]:
    if os.environ.get("WEFT_PURE"):
        say("going on in pure Python, as WEFT_PURE asks")
        return []
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not any(map(shutil.which, (compiler, "cc", "gcc", "clang"))):
        say(f"going on in pure Python: no C compiler ({compiler}) found")
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        say("going on in pure Python: mypyc is not installed")
        return []
    os.chdir(ROOT)
    modules = [name for name in HOT if name]
    try:
        return mypycify(["--config-file", "mypyc.ini", *modules], opt_level="3", multi_file=False)
    except SystemExit:
        say("going on in pure Python: mypyc refused the hot modules, its reasons stand above")
        return []


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuild})
