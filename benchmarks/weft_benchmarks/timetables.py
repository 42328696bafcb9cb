"""What a step of logical time costs the kernel of one node, as the number of federates grows: no sockets, no processes."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

from weft.kernel import Node
from weft.model.time import HLAfloat64Interval, HLAfloat64Time
from weft_benchmarks.steps import FOM, NAME

COUNTS = (2, 4, 8, 16, 32, 64)
STEPS = 200
ROUNDS = 5


def growth() -> dict[str, Any]:
    """CPU of a step in which every federate asks once and is granted; with a straight line fitted, and a power.

    Each round goes through all counts, so that a machine whose speed drifts does so for all of them.
    """
    rounds = [[_step_us(count) for count in COUNTS] for _ in range(ROUNDS)]
    medians = [statistics.median(of_one) for of_one in zip(*rounds, strict=True)]
    rows = [
        {"federates": count, "step_us": round(median, 2)}
        for count, median in zip(COUNTS, medians, strict=True)
    ]
    xs = [float(row["federates"]) for row in rows]
    ys = [float(row["step_us"]) for row in rows]
    each, base, r2 = line(xs, ys)
    power, _, _ = line([math.log(x) for x in xs], [math.log(y) for y in ys])
    return {"rows": rows, "base_us": base, "each_us": each, "r2": r2, "power": power}


def line(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Slope, intercept and R² of the least squares."""
    slope, intercept = statistics.linear_regression(xs, ys)
    return slope, intercept, statistics.correlation(xs, ys) ** 2


def _step_us(count: int) -> float:
    node = Node()
    sessions = [node.open_session() for _ in range(count)]
    node.call(sessions[0], 1, "create_federation_execution", (NAME, (FOM,), None, ""), 0.0)
    for number, session in enumerate(sessions):
        node.call(session, 2, "join_federation_execution", (NAME, "steps", f"federate {number}", ()), 0.0)
        node.call(session, 3, "enable_time_regulation", (HLAfloat64Interval(0.1),), 0.0)
        node.call(session, 4, "enable_time_constrained", (), 0.0)
    before = time.process_time()
    for step in range(1, STEPS + 1):
        granted = 0
        for session in sessions:
            effects = node.call(session, 5, "time_advance_request", (HLAfloat64Time(float(step)),), 0.0)
            granted += len(effects) - 1
        if granted != count:
            raise RuntimeError(f"{granted} of {count} were granted step {step}")
    return (time.process_time() - before) / STEPS * 1e6
