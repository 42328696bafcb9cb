"""`weft bench review --part match`: boxes matched tile by tile on Spark, beside `weft ddm match` in one process.

Both are the command as one types it, from files to files, in a process of their own: Spark's start is part of its time.
Pairs are compared by number and checksum.  Shapes: even; one box over all others; one in a thousand as long as the space.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft_benchmarks import review as measured
from weft_benchmarks.ddm import OVERLAPS, SPAN
from weft_benchmarks.runner import load, say

BOXES = 10_000_000
GROUP = 1 << 18
EVEN, ONE, LONG = "even", "one over all", "long"
SHAPES = (EVEN, ONE, LONG)


class MatchFigures(NamedTuple):
    boxes: int
    shape: str
    pairs: int
    here: dict[str, float] | None
    """Seconds, CPU-seconds and peak of memory; None: there was not enough memory."""
    spark: dict[str, float]


def run(arguments: argparse.Namespace) -> int:
    machine = load()
    sizes = arguments.rows or [BOXES]
    rows = [measure(size, EVEN, arguments.master) for size in sizes]
    if not arguments.no_skew:
        rows += [measure(min(sizes), shape, arguments.master) for shape in SHAPES[1:]]
    say("")
    loads = machine["load_average"], load()["load_average"]
    if arguments.json:
        told = {"cores": os.cpu_count(), "load": loads, "rows": [row._asdict() for row in rows]}
        print(json.dumps(told, indent=2))
    else:
        print(as_text(rows, *loads))
    return 0


def measure(boxes: int, shape: str, master: str) -> MatchFigures:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        folder = Path(name)
        say(f"{boxes:,} + {boxes:,} boxes, {shape}: writing")
        files = [write_side(folder, side, boxes, shape) for side in (0, 1)]
        say(f"{boxes:,} + {boxes:,} boxes, {shape}: one process")
        here = _matched(files, folder / "here.parquet")
        say(f"{boxes:,} + {boxes:,} boxes, {shape}: Spark")
        spark = _matched(files, folder / "spark", "--master", master)
        if spark is None:
            raise RuntimeError(f"{shape}: Spark could not match {boxes:,} boxes")
        found = checksum(folder / "spark")
        if here is not None and checksum(folder / "here.parquet") != found:
            raise RuntimeError(f"{shape}: tiles and one process have found different pairs")
        return MatchFigures(boxes, shape, found[0], here, spark)


def write_side(folder: Path, side: int, boxes: int, shape: str) -> Path:
    """About ten overlaps for each box, in two dimensions."""
    draw = np.random.default_rng((boxes, side))
    length = max(2, int(SPAN * math.sqrt(OVERLAPS / boxes) / 2))
    lowers = draw.integers(0, SPAN - 2 * length, (2, boxes))
    uppers = lowers + draw.integers(3 * length // 4, 5 * length // 4, (2, boxes), endpoint=True)
    if side == 0 and shape == ONE:
        lowers[:, boxes // 2], uppers[:, boxes // 2] = 0, SPAN
    if side == 0 and shape == LONG:
        lowers[0, ::1000], uppers[0, ::1000] = 0, SPAN
    columns = {"x_lower": lowers[0], "x_upper": uppers[0], "y_lower": lowers[1], "y_upper": uppers[1]}
    path = folder / f"{side}.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=GROUP)
    return path


def _matched(files: list[Path], out: Path, *more: str) -> dict[str, float] | None:
    command = [
        sys.executable,
        "-m",
        "weft",
        "ddm",
        "match",
        *map(str, files),
        "--out",
        str(out),
        "--json",
        *more,
    ]
    with measured.Meter() as meter:
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode in (-9, 137):  # the machine has no memory left
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return meter.figures()


def checksum(place: Path) -> tuple[int, int]:
    """How many pairs, and what is the same for the same pairs in whatever order."""
    files = sorted(place.glob("part-*")) if place.is_dir() else [place]
    count = total = 0
    for file in files:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(1 << 20):
                first, second = (batch.column(at).to_numpy().astype(np.uint64) for at in (0, 1))
                products = (first + np.uint64(1)) * (np.uint64(2) * second + np.uint64(1))
                total = (total + int(products.sum(dtype=np.uint64))) % 2**64
                count += len(first)
    return count, total


def as_text(rows: list[MatchFigures], before: float, after: float) -> str:
    both = "".join(f"{name + ': s':>11}{'CPU-s':>8}{'MB':>8}" for name in ("numpy", "Spark"))
    lines = [
        f"{os.cpu_count()} cores, load {before:.2f} before and {after:.2f} after",
        f"{'boxes on each side':<20}{'shape':<16}{'pairs':>14}{both}",
    ]
    for row in rows:
        here = "".join(f"{'':>{width}}" for width in (11, 8, 8)) if row.here is None else _figures(row.here)
        lines.append(f"{row.boxes:<20,}{row.shape:<16}{row.pairs:>14,}{here}{_figures(row.spark)}")
    return "\n".join(lines)


def _figures(one: dict[str, float]) -> str:
    return f"{one['seconds']:>11.1f}{one['cpu_s']:>8.1f}{one['peak_mb']:>8,.0f}"
