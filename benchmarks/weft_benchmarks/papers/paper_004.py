"""Paper 004, data distribution in logical time: the evaluation that its authors announce, and the scenes they draw
(S4-3, S4-13, S4-17, S4-19, S4-20, S4-22, S4-23)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from weft_benchmarks.papers import evaluation_004, scenes_004
from weft_benchmarks.papers.evaluation_004 import MODES, Runs
from weft_benchmarks.papers.figures import Chapter, Effort, Figure
from weft_benchmarks.papers.tanks import LOGICAL, SIDE, SIGHT, WALL, Drive, Found, drive

_FITTED: Final = " ".join(f"({axis} (CellBounds 5 10 15 20 25 50 75))" for axis in "XY")
CUTS: Final = (
    ("1 × 1", "(NumCells 1)"),
    ("8 × 8, equal", "(NumCells 64)"),
    ("8 × 8, smaller in the corner", f"(DimensionOptions {_FITTED})"),
    ("20 × 20, equal", "(NumCells 400)"),
)
RESTS: Final = (1, 4)


class Varied(NamedTuple):
    """What is run."""

    base: Drive
    networks: range
    lookaheads: list[int]
    cells: list[int]  # in each dimension
    delays: list[float]
    again: range  # networks of each delay
    players: list[int]

    def runs(self) -> int:
        compared = len(self.lookaheads) * len(MODES) * len(self.networks) + len(self.delays) * 2 * len(
            self.again
        )
        return compared + len(self.cells) + len(CUTS) + 1 + len(self.players) * len(RESTS)


QUICK: Final = Varied(Drive(tanks=8, end=16), range(2), [1, 4, 8], [1, 4, 16], [0.1, 1, 10], range(2), [4, 8])
FULL: Final = Varied(
    Drive(tanks=12, end=30), range(5), [1, 2, 4, 8, 16], [1, 2, 4, 8, 16, 32], [0.1, 1, 10], range(4), [4, 8, 16, 24]
)  # fmt: skip


class _Runner:
    """Runs one drive after the other, and says how far it is."""

    def __init__(self, effort: Effort, total: int) -> None:
        self._effort = effort
        self._total = total
        self._done = 0

    def one(self, what: str, how: Drive, seed: int = 0) -> Found:
        self._effort.progress(f"{what}, {how.mode}, network {seed}", 0.05 + 0.95 * self._done / self._total)
        self._done += 1
        return drive(how, seed)

    def sweep(self, what: str, modes: Sequence[str], seeds: range, plans: dict[float, Drive]) -> Runs:
        return {
            (mode, value): [self.one(f"{what} {value:g}", replace(plan, mode=mode), seed) for seed in seeds]
            for value, plan in plans.items()
            for mode in modes
        }


def run(effort: Effort) -> Chapter:
    varied = QUICK if effort.quick else FULL
    base = varied.base
    effort.progress("the paper's own scenes", 0.0)
    scenes = [
        scenes_004.figure_1(),
        scenes_004.figures_3_to_5(),
        scenes_004.figure_7(),
        scenes_004.figure_9(),
    ]
    chapter = Chapter(
        "004",
        "data distribution in logical time",
        "Tanks drive about a square. At logical time t each says where it will be, and what it will see, as of t plus "
        "lookahead, and sends its position with that time stamp. Who should have got what follows from where they said to "
        "be; lost and wrongly received messages are counted against that. Federates, kernels and causal channels are the "
        "real ones; the network between the nodes is simulated, so that its delays can be chosen.",
        {
            "tanks": f"{base.tanks}, on {base.nodes} nodes, for {base.end} steps; sight {SIGHT} on a side of {SIDE}",
            "unless it says otherwise": "lookahead 2, delays of 1 to 3 steps, 8 × 8 cells",
            "networks of each": len(varied.networks),
            "the paper": "no measurements: “performance measurements of this implementation are just beginning”",
        },
    )
    chapter.figures += [*scenes, *_evaluation(_Runner(effort, varied.runs()), varied)]
    return chapter


def _evaluation(runner: _Runner, varied: Varied) -> list[Figure]:
    base, nodes = varied.base, varied.base.nodes
    ahead: dict[float, Drive] = {
        one: replace(base, lookahead=one, end=base.end + one) for one in varied.lookaheads
    }
    by_lookahead = runner.sweep("lookahead", MODES, varied.networks, ahead)
    by_cells = [
        (count, runner.one(f"{count} × {count} cells", _cut(base, f"(NumCells {count * count})")))
        for count in varied.cells
    ]
    delays = {delay: replace(base, delay=delay) for delay in varied.delays}
    by_delay = runner.sweep("delay", (WALL, LOGICAL), varied.again, delays)
    return [
        evaluation_004.errors(by_lookahead, varied.lookaheads),
        evaluation_004.work(by_lookahead, varied.lookaheads),
        evaluation_004.by_cells(by_cells, nodes),
        evaluation_004.repeated(by_delay, varied.delays),
        _crowd(runner, base),
        _scale(runner, base, varied.players),
    ]


def _cut(how: Drive, cells: str) -> Drive:
    return replace(how, cells=f"(CellOptions {cells})")


def _crowd(runner: _Runner, base: Drive) -> Figure:
    crowd = replace(base, crowded=True)
    crowded = [(name, runner.one(f"cells {name}", _cut(crowd, cells))) for name, cells in CUTS]
    return evaluation_004.unequal(crowded, runner.one("spread out", base), base.nodes)


def _scale(runner: _Runner, base: Drive, players: list[int]) -> Figure:
    found: dict[tuple[int, int], Found] = {}
    for count in players:
        how = replace(base, tanks=count, nodes=count, end=12, side=round(SIDE * (count / 8) ** 0.5))
        for rests in RESTS:
            what = f"{count} players, move in one of {rests} steps"
            found[count, rests] = runner.one(what, replace(how, rests=rests))
    return evaluation_004.scale(found)
