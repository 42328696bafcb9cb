"""`make test-versions`: a chosen part of the tests on each Python that Weft is for, compiled and in pure Python.

    python tests/support/versions.py [3.12 3.13]

Each version has an environment of its own (.venv-3.12 …), in which Weft is installed from a source distribution, as a user has
it.  Where a version is not there that is said, and it is not counted as a failure; if none is there, it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])) or "uv"
PACKAGES = (
    "pytest",
    "pytest-timeout",
    "hypothesis",
    "numpy",
    "pyarrow",
    "rich",
    "protobuf",
    "mypy[mypyc]",
    "setuptools",
)
"""In the versions of requirements/dev.txt."""
CHOSEN = (
    "tests/fom",
    "tests/kernel/time",
    "tests/ordering",
    "tests/wire",
    "tests/federate",
    "tests/host/client",
    "tests/host/in_process",
    "tests/host/loop",
    "tests/host/server",
    "tests/host/dispatch",
    "tests/host/recording/test_recorder_fate.py",
)
"""Where what a new Python changes would be seen: services and callbacks, the wire, threads, processes, files."""


def versions() -> list[str]:
    """Return those that pyproject.toml promises."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in project["classifiers"]
    )
    return [one[1] for one in found if one is not None]


def python_of(version: str) -> str | None:
    """Return one that runs: on the path, or among those of pyenv."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *map(str, sorted(home.glob(f"{version}.*/bin/python"), reverse=True))]
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    for one in filter(None, map(shutil.which, candidates)):
        done = subprocess.run([one, "-c", probe], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return one
    return None


def sources() -> Iterator[Path]:
    for name in ("setup.py", "mypyc.ini", "hot_modules.txt", "pyproject.toml", "MANIFEST.in"):
        yield ROOT / name
    for folder in ("src/weft", "benchmarks"):
        yield from sorted(one for one in (ROOT / folder).rglob("*") if one.suffix in (".py", ".xml", ".toml"))


def digest() -> str:
    """Of all that an installed Weft is made of: a version is built again only if that has changed."""
    found = hashlib.sha256()
    for one in sources():
        found.update(one.relative_to(ROOT).as_posix().encode() + one.read_bytes())
    return found.hexdigest()


def say(text: str) -> None:
    print(f"weft: {text}", flush=True)


def run(command: Sequence[object], log: IO[str] | None = None, **environment: str) -> int:
    wanted = {name: value for name, value in os.environ.items() if name not in ("WEFT_PURE", "PYTHONPATH")}
    words, wanted = [*map(str, command)], {**wanted, **environment}
    return subprocess.run(words, cwd=ROOT, env=wanted, stdout=log, stderr=log, check=False).returncode


def set_up(version: str, python: str) -> Path | None:
    """Return the Python of its environment, with this very Weft in it; None if that cannot be made, which uv has said."""
    home = ROOT / f".venv-{version}"
    inside, stamp, now = home / "bin" / "python", home / ".built", digest()
    if stamp.exists() and stamp.read_text() == now:
        return inside
    say(f"{version}: setting up {home.name}, and building Weft there, which takes some minutes ({python})")
    install = (UV, "pip", "install", "--quiet", "--python", inside)
    made = inside.exists() or run((UV, "venv", "--quiet", "--python", python, home)) == 0
    if not made or run((*install, "--constraint", "requirements/dev.txt", *PACKAGES)):
        return None
    shutil.rmtree(home / "dist", ignore_errors=True)
    packing = f"import setuptools.build_meta as made; made.build_sdist({str(home / 'dist')!r})"
    with (home / "packing.log").open("w") as log:  # each file has its line
        if run((inside, "-c", packing), log):
            say(f"{version}: no source distribution could be made; {log.name} says why")
            return None
    (packed,) = (home / "dist").iterdir()
    if run((*install, "--no-deps", "--no-build-isolation", "--reinstall-package", "weft-rti", packed)):
        return None
    stamp.write_text(now)
    return inside


def test(version: str, python: Path, tests: Sequence[str]) -> list[str]:
    """Return which of compiled and pure fail."""
    failed = []
    probe = "import sys, weft._build; sys.exit(not weft._build.is_compiled())"
    for kind, environment in (("compiled", {}), ("pure", {"WEFT_PURE": "1"})):
        if kind == "compiled" and run((python, "-c", probe)):
            say(f"{version}: not tested compiled, as it is not: no C compiler is here, or it failed")
            continue
        say(f"{version}, {kind}")
        command = (python, "-m", "pytest", "-q", "-m", "not soak and not over_nodes", *tests)
        if run(command, None, **environment):
            failed.append(f"{version} {kind}")
    return failed


def main(asked: Sequence[str]) -> int:
    wanted = [one for one in asked if re.fullmatch(r"3\.\d+", one)] or versions()
    tests = [one for one in asked if one not in wanted] or CHOSEN
    failed, tested = [], []
    for version in wanted:
        python = python_of(version)
        if python is None:
            say(
                f"{version} is not there, so it is not tested: install it, or put python{version} on the path"
            )
            continue
        inside = set_up(version, python)
        if inside is None:
            failed.append(f"{version} (not set up)")
            continue
        failed += test(version, inside, tests)
        tested.append(version)
    say(
        f"tested on {', '.join(tested) or 'no version'}"
        + (f"; failed: {', '.join(failed)}" if failed else "")
    )
    return 1 if failed or not tested else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
