"""The parts of `weft bench channel` that need threads, processes and a clock (S3-14, S3-15, S3-16, S3-17)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft_benchmarks.channel import CONSUMERS, LOCAL, SUPPLIERS
from weft_benchmarks.realtime import ALL, HOSTED, PERIODS_US
from weft_benchmarks.runner import COMPILED, PURE, alternate, can_run_compiled, measure_there, say

_REALTIME = "weft_benchmarks.realtime"
_UTILISATION = "weft_benchmarks.utilisation"
_WORDS = ("min", "median", "p99", "max")

# The last two: the part of a core that consumers are to get, of one channel and of two processes.
AIMS = {"single_us": 30.0, "periodic_p99_us": 300.0, "single": 0.95, "federated": 0.92}

Found = dict[str, Any]


def measure(parts: Iterable[str], repeats: int) -> dict[str, Any]:
    """What of each part goes into the results, by key."""
    wanted = [part for part in PARTS if part in parts]
    results: dict[str, Any] = {}
    if wanted:
        build = COMPILED if can_run_compiled() else PURE
        for part in wanted:
            results |= PARTS[part](build, repeats)
    return results


def _median(function: str, build: str, repeats: int) -> Found:
    name = f"{_REALTIME}:{function}"
    return dict(alternate([name], [build], repeats)[name, build])


def _once(function: str, build: str) -> Found:
    say(f"{function}, {build}")
    found = measure_there(f"{_UTILISATION}:{function}", build)
    del found["compiled"]
    say("")
    return found


def _spread(found: Found, name: str) -> dict[str, float]:
    return {word: round(found[f"{name} {word}"], 3) for word in _WORDS}


def _latency(build: str, repeats: int) -> dict[str, Any]:
    found = _median("hosted_latency", build, repeats)
    rows = [
        {
            "build": build,
            "suppliers": suppliers,
            "consumers": consumers,
            "where": LOCAL,
            "dispatch": dispatch,
            "hosted": True,
            "fifo": bool(found["fifo"]),
            "first_us": _spread(found, f"latency {suppliers} {consumers} {LOCAL} {dispatch} first"),
            "last_us": _spread(found, f"latency {suppliers} {consumers} {LOCAL} {dispatch} last"),
            "floor_us": _spread(found, "floor hosted"),
        }
        for dispatch in HOSTED
        for suppliers in SUPPLIERS
        for consumers in CONSUMERS
    ]
    return {"latency": rows}


def _periodic(build: str, repeats: int) -> dict[str, Any]:
    found = _median("periodic", build, repeats)
    floor = _spread(found, "periodic floor")
    rows = [
        {
            "build": build,
            "dispatch": "single" if dispatch == "ordinary" else dispatch,
            "fifo": bool(found["fifo"]) and dispatch != "ordinary",
            "late_us": _spread(found, f"periodic {dispatch}"),
            "floor_us": floor,
        }
        for dispatch in (*HOSTED, "ordinary")
    ]
    return {"periodic": rows}


def _spacing(build: str, repeats: int) -> dict[str, Any]:
    found = _median("spacing", build, repeats)
    rows = [
        {
            "build": build,
            "dispatch": dispatch,
            "fifo": bool(found["fifo"]),
            "ratio": {str(period): round(found[f"spacing {dispatch} {period}"], 4) for period in PERIODS_US},
        }
        for dispatch in ALL
    ]
    return {"spacing": rows}


def _time_line(build: str, repeats: int) -> dict[str, Any]:
    found = _once("time_line", build)
    return {
        "timeline": [{"build": build, "dispatch": name, **found[name]} for name in ("single", "preemptive")]
    }


def _utilisation(build: str, repeats: int) -> dict[str, Any]:
    return {"utilisation": [{"build": build, **_once("utilisation", build)}]}


PARTS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "hosts": _latency,
    "periodic": _periodic,
    "spacing": _spacing,
    "timeline": _time_line,
    "utilisation": _utilisation,
}


def as_text(results: dict[str, Any]) -> str:
    lines: list[str] = []
    for key, show in _TEXTS.items():
        rows = results.get(key)
        if rows:
            fifo = "SCHED_FIFO" if any(row["fifo"] for row in rows) else "best effort, no SCHED_FIFO"
            lines += ["", *show(rows, f"{rows[0]['build']}, {fifo}")]
    return "\n".join(lines)


def _latency_text(rows: list[dict[str, Any]], how: str) -> list[str]:
    floor = rows[0]["floor_us"]
    lines = [
        (
            f"Latency through threads and processes ({how}), in µs: median (p99); a byte to another process takes "
            f"{floor['median']:.1f} ({floor['p99']:.1f}); aim for single, one to one: {AIMS['single_us']:.0f}"
        ),
        f"{'dispatch':<14}{'suppliers':>9}{'consumers':>11}{'first':>20}{'last':>22}",
    ]
    for row in rows:
        first, last = (
            f"{row[word]['median']:.1f} ({row[word]['p99']:.1f})" for word in ("first_us", "last_us")
        )
        lines.append(f"{row['dispatch']:<14}{row['suppliers']:>9}{row['consumers']:>11}{first:>20}{last:>22}")
    return lines


def _periodic_text(rows: list[dict[str, Any]], how: str) -> list[str]:
    lines = [
        f"Lateness of a 1 kHz interval ({how}), in µs; aim with SCHED_FIFO: p99 at most {AIMS['periodic_p99_us']:.0f}",
        f"{'dispatch':<14}{'':<12}{'min':>10}{'median':>10}{'p99':>10}{'max':>10}",
    ]
    kinds = [(row["dispatch"], "SCHED_FIFO" if row["fifo"] else "ordinary", row["late_us"]) for row in rows]
    for name, kind, late in [("bare sleep", kinds[0][1], rows[0]["floor_us"]), *kinds]:
        lines.append(f"{name:<14}{kind:<12}" + "".join(f"{late[word]:>10.1f}" for word in _WORDS))
    return lines


def _spacing_text(rows: list[dict[str, Any]], how: str) -> list[str]:
    lines = [
        f"Effective as a part of the expected rate, 500 events at a period ({how})",
        f"{'dispatch':<14}" + "".join(f"{f'{period} µs':>10}" for period in rows[0]["ratio"]),
    ]
    lines += [
        f"{row['dispatch']:<14}" + "".join(f"{ratio:>10.3f}" for ratio in row["ratio"].values())
        for row in rows
    ]
    return lines


def _time_line_text(rows: list[dict[str, Any]], how: str) -> list[str]:
    lines = [
        f"Time line: 40, 20 and 10 Hz on one core, 82 % of it ({how}); laxity in ms: least (mean)",
        f"{'dispatch':<14}{'missed':>8}{'attempts':>10}{'40 Hz':>18}{'20 Hz':>18}{'10 Hz':>18}",
    ]
    for row in rows:
        cells = [f"{one['min']:.1f} ({one['mean']:.1f})" for one in row["laxity_ms"].values()]
        lines.append(
            f"{row['dispatch']:<14}{row['misses']:>8}{row['attempts']:>10}"
            + "".join(f"{cell:>18}" for cell in cells)
        )
    return lines


def utilisation_text(rows: list[dict[str, Any]], how: str) -> list[str]:
    lines = []
    for row in rows:
        lines += [
            (
                f"Utilisation of one core without a missed deadline, {row['channels']} ({how}): {row['utilisation']:.0%}, "
                f"aim {AIMS[row['channels']]:.0%}; laxity in ms: least, mean, most"
            ),
            f"{'level':<8}{'missed':>8}{'attempts':>10}{'high priority':>28}{'low priority':>28}",
        ]
        for level in row["levels"]:
            high, low = (
                ", ".join(f"{value:.1f}" for value in level[f"{name}_laxity_ms"].values())
                for name in ("high", "low")
            )
            lines.append(
                f"{level['level']:<8.2f}{level['misses']:>8}{level['attempts']:>10}{high:>28}{low:>28}"
            )
    return lines


_TEXTS: dict[str, Callable[[list[dict[str, Any]], str], list[str]]] = {
    "latency": _latency_text,
    "periodic": _periodic_text,
    "spacing": _spacing_text,
    "timeline": _time_line_text,
    "utilisation": utilisation_text,
}
