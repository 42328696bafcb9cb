"""Runs measurements in child processes: alternately, several times, and takes the median.

Machines are shared and noisy, so a figure means little without its floor: every child also measures something trivial
in the same seconds, and results are given as ratios to that as well.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

COMPILED = "compiled"
PURE = "pure"

Figures = dict[str, float]
"""What was measured, by name."""

Results = dict[str, Any]
"""What a benchmark prints as JSON."""

_FOLDER = Path(__file__).parents[1]


def measure_here(measurement: Callable[[], dict[str, float]]) -> None:
    """In the child: print what was measured."""
    from weft._build import is_compiled

    print(json.dumps({"compiled": is_compiled(), **measurement()}))


def measure_there(function: str, build: str) -> dict[str, Any]:
    """Run a function "module:name" in a child with compiled or pure modules."""
    module, name = function.split(":")
    code = f"from {module} import {name}; from {__name__} import measure_here; measure_here({name})"
    return run_child(f"{function} ({build})", build, code)


def run_child(what: str, build: str, code: str, *arguments: object, timeout: float = 900) -> dict[str, Any]:
    """Run code in a child; returns the JSON object that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment(build),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the measurement {what} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def environment(build: str = "") -> dict[str, str]:
    """Return the environment of a child process: WEFT_PURE as the build asks (without one: as here).

    In a source checkout nothing has installed this package, so PYTHONPATH says where it is.
    """
    found = dict(os.environ)
    if build:
        found.pop("WEFT_PURE", None)
    if build == PURE:
        found["WEFT_PURE"] = "1"
    if _FOLDER.name == "benchmarks":
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_FOLDER), found.get("PYTHONPATH"))))
    return found


def nothing() -> dict[str, float]:
    """Measures nothing: the child only says whether it runs compiled."""
    return {}


def can_run_compiled() -> bool:
    return bool(measure_there(f"{__name__}:nothing", COMPILED)["compiled"])


def builds(pure: bool) -> list[str]:
    """The compiled build, where there is one, and pure Python, if it is wanted or all there is."""
    found = [COMPILED] if can_run_compiled() else []
    return [*found, PURE] if pure or not found else found


def machine_line(results: Results) -> str:
    """Where it was measured, and beside what."""
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    return f"{machine['cores']} cores, {loads}, Python {machine['python']}"


def alternate(
    functions: list[str], builds: list[str], repeats: int
) -> dict[tuple[str, str], dict[str, float]]:
    """The median of each figure, over rounds in which every function and build has its turn."""
    samples: dict[tuple[str, str], list[Figures]] = {}
    turns = [(function, build) for function in functions for build in builds]
    for round_number in range(1, repeats + 1):
        for turn, (function, build) in enumerate(turns, 1):
            say(
                f"round {round_number}/{repeats}, {turn}/{len(turns)}: {function.rsplit(':', 1)[-1]}, {build}"
            )
            samples.setdefault((function, build), []).append(measure_there(function, build))
    say("")
    return {
        key: {name: statistics.median(sample[name] for sample in taken) for name in taken[0]}
        for key, taken in samples.items()
    }


def say(text: str) -> None:
    """Progress, on one line of a terminal; silent elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def cpu_per_turn(turn: Callable[[], None], turns: int, batches: int = 7) -> float:
    """CPU seconds for one turn: the median over batches, after one batch to warm up."""
    for _ in range(max(1, turns // 5)):
        turn()
    taken = []
    for _ in range(batches):
        before = time.process_time()
        for _ in range(turns):
            turn()
        taken.append((time.process_time() - before) / turns)
    return statistics.median(taken)


class Machine(TypedDict, total=False):
    """Where a benchmark ran."""

    cores: int | None
    load_average: float
    load_average_after: float
    python: str


def load() -> Machine:
    return {"cores": os.cpu_count(), "load_average": os.getloadavg()[0], "python": sys.version.split()[0]}
