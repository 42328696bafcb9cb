"""`weft bench review`: reviews of made-up runs of several sizes and shapes, with DuckDB on the same questions in the same run."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.cli.arguments import add_master, cluster_of, whole
from weft_benchmarks import review as measured
from weft_benchmarks.commands import follow, many_runs, match_tiles, review_workers
from weft_benchmarks.runner import load, say

# What docs/benchmarks.md compares with.
AIMS = {
    "seconds, 10 M rows": 90.0,
    "growth, 1 M to 10 M": 11.0,
    "÷ DuckDB, shared questions": 4.0,
    "skewed ÷ even": 3.0,
}
SIZES = (1_000_000, 10_000_000)
LARGE = 50_000_000
FIRST = 20_000  # rows of the run with which Java and the Python workers warm up, which is measured too
EVEN = "even"
SHAPES = ("hot", "one-class", "one-box")


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("review", help="reviews of recorded runs on Spark, beside DuckDB")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--rows",
        type=whole(1000),
        action="append",
        help="rows of a run; may be repeated (default 1 M and 10 M)",
    )
    parser.add_argument("--large", action="store_true", help="also a run of 50 M rows")
    add_master(parser)
    parser.add_argument(
        "--no-skew",
        action="store_true",
        help=f"leave the skewed runs out ({', '.join(SHAPES)}), which have the smallest size",
    )
    parser.add_argument("--no-advice", action="store_true", help="audits only")
    parser.add_argument("--no-duckdb", action="store_true", help="leave DuckDB out")
    parser.add_argument(
        "--part",
        choices=("audits", "follow", "match", "runs", "workers"),
        default="audits",
        help=(
            "follow: how far a follower is behind a run that is being written; match: --rows boxes on each side, by tiles "
            "and in one process; runs: many small runs, into a lake; "
            "workers: 1, 2 and 4 local executors"
        ),
    )
    parser.add_argument(
        "--runs",
        type=whole(1),
        default=1000,
        help="how many small runs (default %(default)s), of 20,000 rows",
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
        return follow.run(arguments)
    if arguments.part == "match":
        return match_tiles.run(arguments)
    if arguments.part == "runs":
        return many_runs.run(arguments)
    if arguments.part == "workers":
        return review_workers.run(arguments)
    results = measure(arguments)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from weft.review.spark.session import Profile, spark_session

    sizes = sorted({*(arguments.rows or SIZES), *((LARGE,) if arguments.large else ())})
    results: dict[str, Any] = {"benchmark": "review", "machine": load(), "aims": AIMS}
    say("starting Spark")
    with measured.Meter() as starting:
        opened = spark_session(Profile(cluster_of(arguments), max(sizes)))
        session = opened.__enter__()
    try:
        results["session_start"] = starting.figures()
        results["first_review"] = _review(session, FIRST, EVEN, arguments, duckdb=False)
        results["sizes"] = [_review(session, size, EVEN, arguments) for size in sizes]
        if not arguments.no_skew:
            results["skew"] = _skewed(session, results["sizes"][0], arguments)
    finally:
        opened.__exit__(None, None, None)
    results |= _growth(results["sizes"])
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _growth(sizes: list[dict[str, Any]]) -> dict[str, Any]:
    if len(sizes) < 2:
        return {}
    first = sizes[0]
    return {
        "growth": [
            {name: round(size[name] / max(first[name], 0.01), 2) for name in ("rows", "seconds", "cpu_s")}
            for size in sizes[1:]
        ]
    }


def _skewed(session: Any, even: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Runs as large as the smallest even one, and how much longer they take."""
    found = {}
    for shape in SHAPES:
        one = _review(session, even["rows"], shape, arguments, duckdb=False)
        one |= {
            f"{name} ÷ even": round(one[name] / max(even[name], 0.01), 2) for name in ("seconds", "cpu_s")
        }
        found[shape] = one
    return found


def _review(
    session: Any, rows: int, shape: str, arguments: argparse.Namespace, duckdb: bool = True
) -> dict[str, Any]:
    from weft_benchmarks.testbed import synthetic

    plans = {
        EVEN: synthetic.SyntheticPlan(),
        "hot": synthetic.HOT,
        "one-class": synthetic.ONE_CLASS,
        "one-box": synthetic.ONE_BOX,
    }
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        say(f"{shape}: making a run of {rows:,} rows")
        run = synthetic.make_run(Path(name) / "run", replace(plans[shape], rows=rows))
        steps = measured.measure_review(
            session, run, lambda text: say(f"{shape}: {text}"), arguments.no_advice
        )
        theirs = measured.measure_duckdb(run, say) if duckdb and not arguments.no_duckdb else None
    return _row(steps, theirs)


def _row(steps: measured.Steps, duckdb: dict[str, dict[str, float]] | None) -> dict[str, Any]:
    """`seconds` are those of the audits, with the survey that they share."""
    audits = steps.audits
    made: dict[str, Any] = {
        "rows": steps.rows,
        "seconds": round(sum(step["seconds"] for step in audits.values()), 2),
        "cpu_s": round(sum(step["cpu_s"] for step in audits.values()), 2),
        "peak_mb": max(step["peak_mb"] for step in audits.values()),
        "audits": audits,
        "advice": steps.advice,
        "duckdb": duckdb,
    }
    if duckdb:
        shared = ("survey", *duckdb)
        for figure in ("seconds", "cpu_s"):
            ours = sum(audits[name][figure] for name in shared)
            theirs = sum(step[figure] for step in duckdb.values())
            made[f"{figure} ÷ DuckDB"] = round(ours / max(theirs, 0.01), 2)
    return made


def as_text(results: dict[str, Any]) -> str:
    machine, start, first = results["machine"], results["session_start"], results["first_review"]
    lines = [
        (
            f"{machine['cores']} cores, load {machine['load_average']:.2f} before and "
            f"{machine['load_average_after']:.2f} after, Python {machine['python']}"
        ),
        (
            f"Spark started in {start['seconds']:.1f} s; the first review, of {first['rows']:,} rows, took "
            f"{first['seconds']:.1f} s, {first['cpu_s']:.1f} CPU-s"
        ),
    ]
    for size in results["sizes"]:
        lines += ["", *_size_as_text(size)]
    for growth in results.get("growth", ()):
        lines.append(
            f"\n{growth['rows']:.1f} × the rows take {growth['seconds']:.1f} × the time, {growth['cpu_s']:.1f} × the CPU"
        )
    for shape, one in results.get("skew", {}).items():
        lines.append(
            f"{shape}: {one['seconds']:.1f} s, {one['cpu_s']:.1f} CPU-s, {one['seconds ÷ even']:.2f} × the even run"
        )
    return "\n".join(lines)


def _size_as_text(size: dict[str, Any]) -> list[str]:
    lines = [
        (
            f"{size['rows']:,} rows: {size['seconds']:.1f} s, {size['cpu_s']:.1f} CPU-s, "
            f"at most {size['peak_mb']:,.0f} MB"
        ),
        f"{'':<12}{'s':>8}{'CPU-s':>8}{'DuckDB: s':>12}{'CPU-s':>8}",
    ]
    steps = size["audits"] | ({"advice": size["advice"]} if size["advice"] else {})
    for name, figures in steps.items():
        other = (size["duckdb"] or {}).get(name)
        theirs = f"{other['seconds']:>12.1f}{other['cpu_s']:>8.1f}" if other else ""
        lines.append(f"{name:<12}{figures['seconds']:>8.1f}{figures['cpu_s']:>8.1f}{theirs}")
    if size["duckdb"]:
        lines.append(
            f"÷ DuckDB on the shared questions: {size['seconds ÷ DuckDB']:.1f} in time, {size['cpu_s ÷ DuckDB']:.1f} in CPU"
        )
    return lines
