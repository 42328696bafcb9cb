"""What paper 002 says of the cost of regions, measured: extents, regions that stay and regions that move (S2-17, S2-22)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from weft.cli.design.ddm_runs import RunCost, play_simulated, setting
from weft.cli.design.ddm_workload import Workload, plane_workload
from weft.drawing import Chart, ChartPoint, Series
from weft.fom import parse_rid
from weft.interest import Extent, Region, make_strategy, read_ddm_settings
from weft_benchmarks.papers.figures import Claim, Figure, Table, mean_of
from weft_benchmarks.papers.paper_002_room import (
    EXACT,
    GRID,
    SIMPLE,
    Room,
    latency_ms,
    plane_of,
    series,
    spaces_of,
)
from weft_benchmarks.runner import cpu_per_turn

SLOW = 0.001
"""Of the side of the plane in a step: an object that takes sixty steps through a fixed region, at least."""
FAST = 0.02
"""An aircraft rather than a tank."""


# Extents


def extents(room: Room) -> Figure:
    counts = [1, 4, 16] if room.effort.quick else [1, 2, 4, 8, 16, 32, 64]
    alone = _comparisons(room.part(0, 0.3), counts)
    rows = _with_extents(room.part(0.3, 1), counts)
    ratios = {name: some[-1].cpu_us / some[0].cpu_us for name, some in rows.items()}
    told = ", ".join(f"{name} {ratio:.2f} × with {counts[-1]} extents" for name, ratio in ratios.items())
    return Figure(
        "Regions",
        "the cost of intersection by the number of extents",
        [
            Chart(
                "comparing two regions that do not overlap",
                "extents of each",
                "µs",
                [Series("each with each", alone)],
                log_x=True,
                log_y=True,
            ),
            Chart(
                "CPU of all nodes, regions that move",
                "extents of each subscription",
                "µs for each update",
                [series(name, counts, [one.cpu_us for one in some]) for name, some in rows.items()],
            ),
        ],
        [
            Claim(
                "computing region intersection becomes more expensive as the number of extents increases",
                alone[-1].y > 2 * alone[0].y,
                f"{alone[0].y:.2f} µs for one extent, {alone[-1].y:.1f} µs for {counts[-1]}",
            )
        ],
        notes=[
            f"In the whole federation: {told}.",
            "What a federate subscribes to is the same square, cut into more and more strips, and moves in each step.",
            "Under Simple receivers compare; under Exact senders do, by an index where regions are many.",
        ],
    )


def _comparisons(room: Room, counts: Sequence[int]) -> list[ChartPoint]:
    found = []
    for place, count in enumerate(counts):
        room.tell(f"regions of {count} extents", place / len(counts))
        found.append(mean_of(count, [_compare_us(count) for _ in range(3)]))
    return found


def _compare_us(count: int) -> float:
    """CPU of comparing two regions of so many extents, of which none overlaps another."""
    first, second = (
        Region(Extent({1: (4 * at + off, 4 * at + off + 1), 2: (0, 10)}) for at in range(count))
        for off in (0, 2)
    )
    return cpu_per_turn(lambda: _compared(first, second), max(5, 20_000 // count**2), 3) * 1e6


def _compared(first: Region, second: Region) -> None:
    assert not first.overlaps(second)


def _with_extents(room: Room, counts: Sequence[int]) -> dict[str, list[RunCost]]:
    rows: dict[str, list[RunCost]] = {SIMPLE: [], EXACT: []}
    for place, count in enumerate(counts):
        workload = plane_workload(plane_of(room.effort, "moving")._replace(extents=count, steps=10))
        for name, some in rows.items():
            room.tell(f"{count} extents, {name}", place / len(counts))
            some.append(play_simulated(workload, setting(name, 1)))
    return rows


# Fixed and moving regions


def moving_and_fixed(room: Room) -> Figure:
    speeds = [SLOW, 0.01, 0.03] if room.effort.quick else [0.0003, SLOW, 0.003, 0.01, 0.03, 0.1]
    crowds = [2, 5, 8] if room.effort.quick else [2, 4, 8, 12, 16]
    news = _news_by_speed(room.part(0, 0.3), speeds)
    by_crowd = _news_by_crowd(room.part(0.3, 0.5), crowds)
    rows = _both_kinds(room.part(0.5, 1))
    return Figure(
        "Fixed Regions",
        "regions that stay, and regions that move",
        [
            _news_table(rows),
            Chart(
                "news of regions, by how fast entities are",
                "share of the plane's side in a step, at most",
                "bytes",
                [series(kind, speeds, some) for kind, some in news.items()],
                log_x=True,
            ),
            Chart(
                "news of one step of a federate whose regions move",
                "federates",
                "bytes",
                [series("moving", crowds, by_crowd)],
            ),
        ],
        [_broadcast(crowds, by_crowd), _fixed_help(rows)],
        notes=[
            f"In the table entities go {SLOW:g} of the plane's side in a step, at most; the grid has 4² partitions.",
            "A federate that moves commits all its regions at once, in one piece of news.",
            "An entity that comes into another fixed square takes two: fast ones can cost more than regions that move.",
        ],
    )


def _news_by_speed(room: Room, speeds: Sequence[float]) -> dict[str, list[int]]:
    news: dict[str, list[int]] = {"moving": [], "fixed": []}
    for place, speed in enumerate(speeds):
        for kind, some in news.items():
            room.tell(f"{kind} regions, speed {speed:g}", place / len(speeds))
            workload = plane_workload(plane_of(room.effort, kind)._replace(speed=speed))
            some.append(play_simulated(workload.silent(), setting(EXACT, 1)).bytes)
    return news


def _news_by_crowd(room: Room, crowds: Sequence[int]) -> list[float]:
    found = []
    for place, crowd in enumerate(crowds):
        room.tell(f"{crowd} federates move", place / len(crowds))
        plane = plane_of(room.effort, "moving")._replace(federates=crowd, entities=4, steps=5)
        cost = play_simulated(plane_workload(plane).silent(), setting(EXACT, 1))
        found.append(cost.bytes / (crowd * 5))
    return found


def _both_kinds(room: Room) -> list[tuple[str, RunCost, RunCost]]:
    """Each with the same run without updates, which leaves the news."""
    kinds = ("moving", "fixed")
    workloads = [plane_workload(plane_of(room.effort, kind)._replace(speed=SLOW)) for kind in kinds]
    plays = [(one, setting(GRID, 4)) for one in workloads]
    plays += [(one.silent(), setting(GRID, 4)) for one in workloads]
    rows = room.play("fixed and moving", plays)
    return list(zip(kinds, rows[:2], rows[2:], strict=True))


def _news_table(rows: Sequence[tuple[str, RunCost, RunCost]]) -> Table:
    return Table(
        ["regions", "messages", "bytes on links", "of these news of regions", "CPU", "latency"],
        [
            [kind, f"{one.messages:,}", f"{one.bytes:,}", f"{silent.bytes:,}", f"{one.cpu_us:.0f}",
             f"{latency_ms(one):.2f}"]
            for kind, one, silent in rows
        ],
    )  # fmt: skip


def _broadcast(crowds: Sequence[int], by_crowd: Sequence[float]) -> Claim:
    """Half of proportional growth would be enough: what belongs to a message does not grow with who gets it."""
    return Claim(
        "as regions change, information must be broadcast to the entire federation",
        by_crowd[-1] / by_crowd[0] > (crowds[-1] - 1) / (crowds[0] - 1) / 2,
        f"news of one federate's step: {by_crowd[0]:.0f} bytes among {crowds[0]}, {by_crowd[-1]:.0f} among {crowds[-1]}",
    )


def _fixed_help(rows: Sequence[tuple[str, RunCost, RunCost]]) -> Claim:
    (_, moving, moving_news), (_, fixed, fixed_news) = rows
    return Claim(
        "regions that move with objects are expensive; fixed ones help",
        fixed_news.bytes < moving_news.bytes and fixed.cpu_us < moving.cpu_us,
        f"news: {moving_news.bytes:,} bytes moving, {fixed_news.bytes:,} fixed; "
        f"CPU {moving.cpu_us:.0f} and {fixed.cpu_us:.0f} µs for each update",
    )


# Boundaries


def boundaries(room: Room) -> Figure:
    """What the strategy says of each region of the workload, without a run."""
    grids = [1, 2, 4, 8, 16] if room.effort.quick else [1, 2, 4, 8, 16, 32]
    found: dict[float, list[tuple[float, float]]] = {}
    for place, sight in enumerate((0.1, 0.4)):
        room.tell(f"boundaries, sight {sight:g}", place / 2)
        workload = plane_workload(plane_of(room.effort, "moving")._replace(sight=sight, speed=FAST))
        found[sight] = [_partitions_of_moves(workload, grid) for grid in grids]
    finest = {sight: some[-1] for sight, some in found.items()}
    return Figure(
        "Fixed Regions, boundaries",
        "regions that cross the boundaries of partitions",
        [
            Chart(
                what,
                "partitions of each dimension",
                unit,
                [
                    series(f"sees {sight:g}", grids, [one[column] for one in some])
                    for sight, some in found.items()
                ],
            )
            for column, (what, unit) in enumerate(
                (
                    ("partitions that a region is in at once", "partitions"),
                    ("moves after which a federate listens to other channels", "% of moves"),
                )
            )
        ],
        [
            _crossed(found[0.4][0][1], finest[0.4][1], grids[-1]),
            _occupied(finest[0.1][0], finest[0.4][0], grids[-1]),
        ],
    )


def _crossed(with_one: float, with_many: float, grid: int) -> Claim:
    return Claim(
        "in a highly partitioned space regions that move tend to cross partition boundaries",
        with_many > with_one == 0,
        f"{with_many:.0f} % of moves with {grid} partitions in a dimension, {with_one:.0f} % with one",
    )


def _occupied(small: float, large: float, grid: int) -> Claim:
    return Claim(
        "the larger the region, the more partitions it occupies at the same time",
        large > small,
        f"{large:.0f} for a side of 0.4, {small:.0f} for 0.1, of {grid}²",
    )


def _partitions_of_moves(workload: Workload, grid: int) -> tuple[float, float]:
    """How many partitions a subscription is in, and the percentage of its moves that change them."""
    spaces = spaces_of(workload)
    strategy = make_strategy(spaces, read_ddm_settings(parse_rid(setting(GRID, grid).rid), spaces))
    space = spaces.all[0]
    numbers = {f"{space.name}.{one.name}": one.number for one in space.dimensions}
    counts: list[int] = []
    changed: list[bool] = []
    for part in workload.parts:
        before = None
        for boxes in [part.wishes[0].extents, *(turn.looks[0][1] for turn in part.turns)]:
            region = Region(Extent({numbers[name]: at for name, at in box.items()}) for box in boxes)
            now = strategy.update_channels(space, region)
            counts.append(len(now))
            if before is not None:
                changed.append(now != before)
            before = now
    return statistics.fmean(counts), 100 * statistics.fmean(changed)
