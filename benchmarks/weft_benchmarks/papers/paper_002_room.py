"""What the measured figures of paper 002 share: how runs are made and told of, and what becomes of their numbers.

Exact counts are from real kernels over a network without delay (`Room.counted`); CPU, latency and bytes of links from nodes that
are processes (`Room.play`).  Where a run is repeated, settings take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.cli.design.ddm_compare import cells, median_of
from weft.cli.design.ddm_nodes import Nodes
from weft.cli.design.ddm_runs import RunCost, Setting, play_simulated
from weft.cli.design.ddm_workload import PlaneWorld, Workload
from weft.drawing import ChartPoint, Series
from weft.fom import merge, parse_module
from weft.interest import Spaces
from weft_benchmarks.papers.figures import Effort, Table

SIMPLE, SPACE, GRID, EXACT = "Simple", "StaticSpacePartitioned", "StaticGridPartitioned", "Exact"


def federates(effort: Effort) -> int:
    return effort.choose(4, 6)


def repeats(effort: Effort) -> int:
    return effort.choose(1, 5)


class Room(NamedTuple):
    """What a figure may use."""

    effort: Effort
    nodes: Nodes
    begin: float
    share: float

    def part(self, begin: float, end: float) -> Room:
        """So much of it."""
        return self._replace(begin=self.begin + self.share * begin, share=self.share * (end - begin))

    def tell(self, what: str, done: float) -> None:
        self.effort.progress(what, self.begin + self.share * done)

    def counted(self, what: str, plays: Sequence[tuple[Workload, Setting]]) -> list[RunCost]:
        """Exactly."""
        found = []
        for number, (workload, one) in enumerate(plays):
            self.tell(f"{what}: {one.label}", number / len(plays))
            found.append(play_simulated(workload, one))
        return found

    def play(self, what: str, plays: Sequence[tuple[Workload, Setting]], least: int = 1) -> list[RunCost]:
        """By processes, several times; medians of what is timed."""
        times = max(least, repeats(self.effort))
        samples: list[list[RunCost]] = [[] for _ in plays]
        for repeat in range(times):
            for number, (workload, one) in enumerate(plays):
                done = (repeat + number / len(plays)) / times
                self.tell(f"{what}: {one.label}, run {repeat + 1} of {times}", done)
                samples[number].append(self.nodes.play(workload, one))
        return [median_of(some) for some in samples]


def plane_of(effort: Effort, kind: str = "fixed") -> PlaneWorld:
    return PlaneWorld(kind, federates(effort), effort.choose(8, 10), effort.choose(10, 40))


def spaces_of(workload: Workload) -> Spaces:
    return Spaces(merge([parse_module(source) for source in workload.model]))


def short(label: str) -> str:
    """In one line of a table."""
    return label.replace(SPACE, "Space").replace(GRID, "Grid").replace(" ", "\N{NO-BREAK SPACE}")


def full_table(rows: Sequence[RunCost]) -> Table:
    heads = ["", "channels", "messages", "bytes", "kept", "dropped", "callbacks", "CPU", "latency", "95 %"]
    return Table(heads, [[short(one.label), *cells(one)[1:]] for one in rows])


HOW_TO_READ = (
    "Kept: not sent to so many federates; dropped: came to a federate, and led to no callback. CPU: µs of all nodes for each "
    "update; latency: median, and 95 of 100, in ms from the update to the callback."
)


def series(name: str, x: Sequence[float], y: Sequence[float]) -> Series:
    return Series(name, [ChartPoint(at, value, value, value) for at, value in zip(x, y, strict=True)])


def latency_ms(one: RunCost) -> float:
    return (one.latency_us or 0.0) / 1000
