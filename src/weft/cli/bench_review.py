"""`weft bench review`: audits of made-up runs of several sizes, with DuckDB on the same questions in the same run."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from weft.cli import bench_follow
from weft.cli.arguments import whole
from weft.cli.benchmarks import review as measured
from weft.cli.benchmarks.runner import load, say

# What docs/benchmarks.md compares with.
AIMS = {"seconds, 10 M rows": 90.0, "growth, 1 M to 10 M": 11.0, "÷ DuckDB, shared questions": 4.0}
SIZES = (1_000_000, 10_000_000)
SHAPES = ("even", "hot", "one-class", "one-box")


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("review", help="audits of recorded runs on Spark, beside DuckDB")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--rows",
        type=whole(1000),
        action="append",
        help="rows of a run; may be repeated (default 1 M and 10 M)",
    )
    parser.add_argument("--master", default="local[*]", help="where Spark runs (default %(default)s)")
    parser.add_argument(
        "--shape", choices=SHAPES, default="even", help="how messages are spread (default %(default)s)"
    )
    parser.add_argument("--no-duckdb", action="store_true", help="leave DuckDB out")
    parser.add_argument(
        "--part",
        choices=("audits", "follow"),
        default="audits",
        help="follow: how far a follower is behind a run that is being written",
    )
    parser.add_argument(
        "--rate", type=whole(100), default=20_000, help="rows a second to follow (default %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=whole(1), default=30, help="to follow for so long (default %(default)s)"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.part == "follow":
        return bench_follow.run(arguments)
    results = measure(arguments)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    sizes = sorted(arguments.rows or SIZES)
    results: dict[str, Any] = {
        "benchmark": "review",
        "machine": load(),
        "aims": AIMS,
        "shape": arguments.shape,
    }
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        runs = [_make(Path(name) / str(size), size, arguments.shape) for size in sizes]
        results["sizes"] = _measure_all(runs, arguments)
    if len(sizes) > 1:
        first, last = results["sizes"][0], results["sizes"][-1]
        results["growth"] = {
            "rows": round(last["rows"] / first["rows"], 2),
            "seconds": round(last["seconds"] / first["seconds"], 2),
        }
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _make(folder: Path, rows: int, shape: str) -> Path:
    from dataclasses import replace

    from weft.review import synthetic

    say(f"making a run of {rows:,} rows")
    plans = {
        "even": synthetic.Plan(),
        "hot": synthetic.HOT,
        "one-class": synthetic.ONE_CLASS,
        "one-box": synthetic.ONE_BOX,
    }
    return synthetic.make_run(folder, replace(plans[shape], rows=rows))


def _measure_all(runs: list[Path], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from weft.host.runs import open_run
    from weft.review.session import Profile, spark_session

    rows = [open_run(run).rows for run in runs]
    found = []
    say("starting Spark")
    with measured.Meter() as starting:
        opened = spark_session(Profile(arguments.master, max(rows)))
        session = opened.__enter__()
    try:
        for run, count in zip(runs, rows, strict=True):
            audits, violations = measured.measure_audits(session, run, say)
            if violations:
                raise RuntimeError(f"{violations} violations in a run without any")
            duckdb = None if arguments.no_duckdb else measured.measure_duckdb(run, say)
            found.append(_row(count, starting.seconds, audits, duckdb))
    finally:
        opened.__exit__(None, None, None)
    return found


def _row(
    rows: int, start: float, audits: dict[str, dict[str, float]], duckdb: dict[str, dict[str, float]] | None
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "rows": rows,
        "session_start_s": start,
        "seconds": round(sum(audit["seconds"] for audit in audits.values()), 2),
        "cpu_s": round(sum(audit["cpu_s"] for audit in audits.values()), 2),
        "peak_mb": max(audit["peak_mb"] for audit in audits.values()),
        "audits": audits,
        "duckdb": duckdb,
    }
    if duckdb:
        ours = sum(audits[name]["seconds"] for name in duckdb)
        theirs = sum(figures["seconds"] for figures in duckdb.values())
        made["ratio_to_duckdb"] = round(ours / max(theirs, 0.01), 2)
    return made


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        (
            f"{machine['cores']} cores, load {machine['load_average']:.2f} before and "
            f"{machine['load_average_after']:.2f} after, Python {machine['python']}; {results['shape']}"
        )
    ]
    for size in results["sizes"]:
        lines += [
            "",
            (
                f"{size['rows']:,} rows: {size['seconds']:.1f} s, {size['cpu_s']:.1f} CPU-s, at most {size['peak_mb']:,.0f} MB; "
                f"Spark started in {size['session_start_s']:.1f} s"
            ),
            f"{'audit':<12}{'s':>8}{'CPU-s':>8}{'DuckDB: s':>12}{'CPU-s':>8}",
        ]
        for name, figures in size["audits"].items():
            other = (size["duckdb"] or {}).get(name)
            theirs = f"{other['seconds']:>12.1f}{other['cpu_s']:>8.1f}" if other else ""
            lines.append(f"{name:<12}{figures['seconds']:>8.1f}{figures['cpu_s']:>8.1f}{theirs}")
        if "ratio_to_duckdb" in size:
            lines.append(f"÷ DuckDB on the shared questions: {size['ratio_to_duckdb']:.1f}")
    if "growth" in results:
        growth = results["growth"]
        lines.append(f"\n{growth['rows']:.1f} × the rows take {growth['seconds']:.1f} × the time")
    return "\n".join(lines)
