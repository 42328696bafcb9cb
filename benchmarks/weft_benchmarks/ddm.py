"""Matching of regions: many at once beside a matcher in C++, and one after the other while they move.

* One-off: so many update boxes and as many subscription boxes, of random places and unequal sides, about ten overlaps for
  each box.  Both matchers run in a process of their own, read the same file and are timed from there until all pairs are
  in memory; their pairs are compared by number and checksum.
* Moves: half update and half subscription regions in two dimensions, ten overlaps each.  One region after the other moves
  by up to its own side and gets what it gained and lost.  Beside it what comparing with all regions of the other side
  would take, in numpy.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from weft_benchmarks.runner import PURE, run_child

SPAN = (1 << 32) - 1  # a dimension of HLA 1.3
OVERLAPS = 10


# --- one-off matching ---------------------------------------------------------------------------------------------


def write_boxes(file: Path, dimensions: int, boxes: int, seed: int) -> None:
    """Both sides: all lower bounds, dimension by dimension, then all upper bounds."""
    import numpy as np

    draw = np.random.default_rng(seed)
    side = max(2, int(SPAN * (OVERLAPS / boxes) ** (1 / dimensions) / 2))
    with file.open("wb") as out:
        for _ in range(2):
            lowers = draw.integers(0, SPAN - 2 * side, (dimensions, boxes))
            lengths = draw.integers(3 * side // 4, 5 * side // 4, (dimensions, boxes), endpoint=True)
            out.write(lowers.tobytes())
            out.write((lowers + lengths).tobytes())


def compile_floor(folder: Path) -> Path | None:
    """The matcher in C++; None where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    program, source = folder / "floor_match", Path(__file__).with_name("floor_match.cpp")
    command = [compiler, "-O3", "-std=c++17", "-pthread", "-o", str(program), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return program


def measure_floor(program: Path, file: Path, dimensions: int, boxes: int, threads: int) -> dict[str, float]:
    command = [str(program), str(file), str(dimensions), str(boxes), str(boxes), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    seconds, cpu, pairs, checksum = done.stdout.split()
    return {"seconds": float(seconds), "cpu_s": float(cpu), "pairs": int(pairs), "checksum": int(checksum)}


def measure_match(file: Path, dimensions: int, boxes: int) -> dict[str, float]:
    return _child(PURE, "match", str(file), dimensions, boxes)  # numpy alone: the build makes no difference


def match_here(file: str, dimensions: int, boxes: int) -> dict[str, float]:
    import numpy as np

    from weft.interest.matching.sweep import Boxes, match_boxes

    read = np.fromfile(file, dtype=np.int64).reshape(4, dimensions, boxes)
    updates, subscriptions = Boxes(read[0], read[1]), Boxes(read[2], read[3])
    begun, worked = time.perf_counter(), time.process_time()
    found = match_boxes(updates, subscriptions)
    taken, cpu = time.perf_counter() - begun, time.process_time() - worked
    first, second = found.updates.astype(np.uint64), found.subscriptions.astype(np.uint64)
    checksum = int(((first + 1) * (2 * second + 1)).sum(dtype=np.uint64))
    return {"seconds": taken, "cpu_s": cpu, "pairs": len(found.updates), "checksum": checksum}


# --- moves --------------------------------------------------------------------------------------------------------


def measure_moves(build: str, regions: int, moves: int) -> dict[str, float]:
    return _child(build, "moves", regions, moves)


def moves_here(regions: int, moves: int) -> dict[str, float]:
    from weft.interest.matching import Overlaps

    draw = random.Random(regions)
    side = int(SPAN * math.sqrt(OVERLAPS / (regions // 2)) / 2)
    found = Overlaps(2)
    sets = (found.set_update, found.set_subscription)
    places = [(draw.randrange(SPAN - side), draw.randrange(SPAN - side)) for _ in range(regions)]
    for name, place in enumerate(places):
        sets[name % 2](name, [_square(place, side)])
    plan = []
    for _ in range(moves):
        name = draw.randrange(regions)
        x, y = (min(max(0, at + round(draw.uniform(-side, side))), SPAN - side) for at in places[name])
        places[name] = (x, y)
        plan.append((name, _square((x, y), side)))
    scan = _scan_us(places, side)
    gained = 0
    begun, worked = time.perf_counter(), time.process_time()
    for name, box in plan:
        gained += len(sets[name % 2](name, [box]).gained)
    taken, cpu = time.perf_counter() - begun, time.process_time() - worked
    return {
        "regions": regions,
        "moves_per_s": moves / taken,
        "cpu_us": cpu / moves * 1e6,
        "compare_all_cpu_us": scan,
        "gained_per_move": gained / moves,
        "overlaps_per_region": sum(len(found.of_update(name)) for name in range(0, regions, 2))
        / (regions // 2),
    }


def _square(place: tuple[int, int], side: int) -> tuple[int, int, int, int]:
    x, y = place
    return (x, y, x + side, y + side)


def _scan_us(places: Sequence[tuple[int, int]], side: int) -> float:
    """CPU to compare one box with all of the other side."""
    import numpy as np

    lowers = np.array(places[1::2]).T.copy()
    uppers = lowers + side
    turns = 50
    worked = time.process_time()
    for x, y in places[: 2 * turns : 2]:
        good = lowers[0] < x + side
        good &= lowers[1] < y + side
        good &= uppers[0] > x
        good &= uppers[1] > y
        np.flatnonzero(good)
    return (time.process_time() - worked) / turns * 1e6


def growth(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The time of a move against the number of regions: µs more for each doubling, and the exponent of a power law.

    An exponent near 0 is logarithmic growth, 1 would be linear.
    """
    doublings = [math.log2(row["regions"]) for row in rows]
    each, _ = _line(doublings, [row["cpu_us"] for row in rows])
    exponent, _ = _line(doublings, [math.log2(row["cpu_us"]) for row in rows])
    return {"us_per_doubling": each, "exponent": exponent}


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Least squares: slope and start."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    width = sum((one - mean_x) ** 2 for one in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / width if width else 0.0
    return slope, mean_y - slope * mean_x


# --- child processes ----------------------------------------------------------------------------------------------


def _child(build: str, role: str, *arguments: object) -> dict[str, float]:
    code = f"from {__name__} import main; main()"
    return run_child(f"of {role} ({build})", build, code, role, *arguments)


def main() -> None:
    role, *rest = sys.argv[1:]
    if role == "match":
        print(json.dumps(match_here(rest[0], int(rest[1]), int(rest[2]))))
    else:
        print(json.dumps(moves_here(*map(int, rest))))
