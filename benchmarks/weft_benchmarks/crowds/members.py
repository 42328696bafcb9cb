"""Processes of federates that a benchmark tells when to begin, and the CPU of the server they are at.

A member prints "ready", waits for a line, prints one JSON object once it has done its part, and waits for another line.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from weft_benchmarks import fedpro
from weft_benchmarks.runner import Figures, environment


@contextlib.contextmanager
def member(build: str, module: str, *arguments: int) -> Iterator[subprocess.Popen[str]]:
    """A process that runs `main` of that module; none is left behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {module} import main; main()", *map(str, arguments)],
        env=environment(build), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def tell(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> Figures:
    """What it prints once it has done its part."""
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said:
        raise RuntimeError("federates of the benchmark failed; their error stands above")
    found: Figures = json.loads(said)
    return found


def cpu_of(pid: int) -> float:
    """CPU seconds of a server and of what it has started: exactly, where the system counts nanoseconds of each thread."""
    try:
        threads = [thread for one in fedpro.family(pid) for thread in Path(f"/proc/{one}/task").iterdir()]
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        return fedpro._cpu_of_all(pid)
