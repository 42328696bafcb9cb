"""Table 3 of paper 003: what it costs to find a method at run time (S3-18).

C++ knows at compile time which function a non-virtual call means; Python never does.  What comes nearest: a function of the
module, a method that was looked up beforehand, and one that is looked up at each call, on a class that inherits it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from weft.drawing import Chart, Series
from weft.model.json_types import Json
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.figures import Claim, Figure, Table, mean_of

DEPTHS = (1, 2, 4, 8)
KINDS = GLOBAL, KEPT, VIRTUAL = "global function", "non-virtual method", "virtual method"
PRINTED = Table(
    ["platform", "global", "non-virtual", "virtual", "÷ global", "÷ non-virtual"],
    [
        ["VxWorks, g++, 60 MHz Pentium", "0.300", "0.450", "0.900", "3.0", "2.0"],
        ["VxWorks, GHS, 200 MHz Pentium", "0.174", "0.358", "0.542", "3.1", "1.5"],
        ["VxWorks, GHS, 200 MHz PowerPC", "0.021", "0.021", "0.068", "3.2", "3.2"],
        ["Solaris, g++, 168 MHz UltraSPARC", "0.069", "0.061", "0.173", "2.5", "2.8"],
        ["IRIX, CC, 180 MHz Origin200", "0.061", "0.061", "0.084", "1.4", "1.4"],
        ["NT, MSVC++, 200 MHz Pentium", "0.030", "0.035", "0.035", "1.2", "1.0"],
    ],
)


class CallCosts(NamedTuple):
    """Microseconds of a call in each batch: by kind of call, and of virtual ones by the depth of inheritance."""

    kinds: dict[str, list[float]]
    depths: dict[int, list[float]]


# --- in a process of its own --------------------------------------------------------------------------------------


class _Consumer:
    def push(self, events: object) -> None:
        pass


def _global(events: object) -> None:
    pass


def _inheriting(depth: int) -> _Consumer:
    """An object whose class is so many classes away from the one that has the method."""
    kind: type[_Consumer] = _Consumer
    for number in range(depth):
        kind = type(f"Consumer{number}", (kind,), {})
    return kind()


def _time(call: Callable[[int], None], turns: int) -> float:
    before = time.thread_time_ns()
    call(turns)
    return (time.thread_time_ns() - before) / turns / 1000


def _empty(turns: int) -> None:
    for _ in range(turns):
        pass


def _globals(turns: int) -> None:
    for _ in range(turns):
        _global(None)


def _kept(turns: int) -> None:
    push = _inheriting(1).push
    for _ in range(turns):
        push(None)


def _virtual(depth: int) -> Callable[[int], None]:
    """A loop of its own for each depth: the interpreter adapts a call to the class that it sees there."""

    def calls(turns: int) -> None:
        consumer = _inheriting(depth)
        for _ in range(turns):
            consumer.push(None)

    return calls


def measure(batches: int, turns: int) -> Iterator[Json]:
    """In each batch each has its turn; the empty loop is taken off."""
    kinds = (_globals, _kept, _virtual(1))
    depths = [_virtual(depth) for depth in DEPTHS]
    for number in range(-1, batches):  # the first one warms up
        loop = _time(_empty, turns)
        of_kinds = [_time(call, turns) - loop for call in kinds]
        of_depths = [_time(call, turns) - loop for call in depths]
        if number >= 0:
            yield [of_kinds, of_depths]


# --- what is asked for, and what comes out ------------------------------------------------------------------------


def call_costs(batches: int, turns: int) -> CallCosts:
    costs = CallCosts({kind: [] for kind in KINDS}, {depth: [] for depth in DEPTHS})

    def add(kinds: list[float], depths: list[float]) -> None:
        for taken, value in zip((*costs.kinds.values(), *costs.depths.values()), kinds + depths, strict=True):
            taken.append(value)

    for _ in found_by(add, f"{__name__}:measure", batches, turns):
        pass
    return costs


def _middle(costs: CallCosts, kind: str) -> float:
    return statistics.median(costs.kinds[kind])


def table_3(costs: CallCosts) -> Figure:
    rows = [[kind, *(f"{value:.4f}" for value in _least_most_mean(costs.kinds[kind]))] for kind in KINDS]
    above = _middle(costs, VIRTUAL)
    rows += [
        ["virtual ÷ global", "", "", f"{above / _middle(costs, GLOBAL):.2f}"],
        ["virtual ÷ non-virtual", "", "", f"{above / _middle(costs, KEPT):.2f}"],
    ]
    points = [mean_of(depth, taken) for depth, taken in costs.depths.items()]
    return Figure(
        "Table 3",
        "what a method costs that is found at run time, µs",
        [
            Table(["call", "min", "max", "avg"], rows),
            Chart("a virtual call by depth of inheritance", "classes", "µs", [Series("virtual", points)]),
        ],
        [two_to_five(costs), small_penalty(costs), same_at_any_depth(costs)],
        printed=PRINTED,
        notes=[
            (
                "In Python: a function of the module, a method looked up beforehand, and one looked up at each call. The "
                "interpreter remembers at each place of a call what it found there, so looking up costs next to nothing; a "
                "method that is kept is an object of its own, and that costs as much."
            ),
            "Batches of CPU time, from which the empty loop is taken off; ratios are those of the medians.",
        ],
    )


def _least_most_mean(taken: list[float]) -> tuple[float, float, float]:
    return min(taken), max(taken), statistics.fmean(taken)


def two_to_five(costs: CallCosts) -> Claim:
    ratio = _middle(costs, VIRTUAL) / _middle(costs, GLOBAL)
    return Claim(
        "a virtual call costs 2 to 5 times one of a global function (its own table: 1.2 to 3.2)",
        2 <= ratio <= 5,
        f"{ratio:.2f} times",
    )


def small_penalty(costs: CallCosts) -> Claim:
    penalty = _middle(costs, VIRTUAL) - _middle(costs, GLOBAL)
    return Claim(
        "the penalty of a virtual call is below 0.6 µs",
        penalty < 0.6,
        f"{penalty * 1000:.1f} ns above a global function",
    )


def same_at_any_depth(costs: CallCosts) -> Claim:
    middles = {depth: statistics.median(taken) for depth, taken in costs.depths.items()}
    ratio = max(middles.values()) / min(middles.values())
    return Claim(
        "its cost is bounded whatever the depth of inheritance",
        ratio < 1.5,
        f"the dearest of depths {', '.join(map(str, middles))} costs {ratio:.2f} times the cheapest",
    )
