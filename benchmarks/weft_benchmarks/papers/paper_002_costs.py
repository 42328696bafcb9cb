"""What paper 002 says of the cost of strategies, measured: by strategy, by grid and by type of channels (S2-22)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.cli.design.ddm_channel_map import chosen_strategies
from weft.cli.design.ddm_compare import all_settings, cells
from weft.cli.design.ddm_runs import RunCost, Setting, setting
from weft.cli.design.ddm_workload import Workload, plane_workload
from weft.drawing import Chart, Series
from weft.interest.ddm_settings import CHANNEL_TYPES
from weft_benchmarks.papers.figures import Claim, Figure, Table
from weft_benchmarks.papers.paper_002_room import (
    GRID,
    HOW_TO_READ,
    SIMPLE,
    SPACE,
    Room,
    full_table,
    latency_ms,
    plane_of,
    series,
    short,
    spaces_of,
)

ABOUT_THE_SAME = 1.3
"""CPU of two runs that differ by less: what else the machine does makes as much."""
PARTITIONS = "partitions of each dimension"


# Comparing performance


def comparing(room: Room) -> Figure:
    workload = plane_workload(plane_of(room.effort))
    grids = [1, 2, 4, 8] if room.effort.quick else [1, 2, 4, 8, 16, 32]
    settings = all_settings(spaces_of(workload), chosen_strategies(None), grids, 65535)
    counted = _same_and_reused(room.part(0, 0.1), workload)
    rows = room.part(0.1, 1).play("strategies compared", [(workload, one) for one in settings])
    return Figure(
        "Comparing Performance",
        "one federation under each strategy and grid",
        [full_table(rows), *_by_grid(settings, rows, grids)],
        [*_filtered({one.label: one for one in rows}, f"{GRID} {grids[-1]}"), *counted],
        notes=[
            f"{workload.title}.",
            HOW_TO_READ,
            "All nodes share this machine's cores, so a message that somebody drops also delays those that are wanted.",
            "The paper complains that a federation cannot see what was filtered where: Weft counts it (`weft status --json`).",
        ],
    )


def _by_grid(settings: Sequence[Setting], rows: Sequence[RunCost], grids: Sequence[int]) -> list[Chart]:
    shown: list[tuple[str, str, Callable[[RunCost], float]]] = [
        ("messages between nodes", "messages", lambda one: one.messages),
        ("bytes on links", "bytes", lambda one: one.bytes),
        ("CPU of all nodes", "µs for each update", lambda one: one.cpu_us),
        ("median latency", "ms", latency_ms),
    ]
    return [
        Chart(f"{what}, by grid", PARTITIONS, unit, _lines(settings, rows, grids, value))
        for what, unit, value in shown
    ]


def _lines(
    settings: Sequence[Setting],
    rows: Sequence[RunCost],
    grids: Sequence[int],
    value: Callable[[RunCost], float],
) -> list[Series]:
    """One for each strategy; one that has no grid has the same value for each."""
    found: dict[str, dict[float, float]] = {}
    for one, row in zip(settings, rows, strict=True):
        found.setdefault(one.label.split()[0], {})[one.grid] = value(row)
    made = []
    for name, by_grid in found.items():
        x, y = list(by_grid), list(by_grid.values())
        made.append(series(short(name), x, y) if len(x) > 1 else series(short(name), grids, y * len(grids)))
    return made


def _filtered(rows: Mapping[str, RunCost], finest_label: str) -> list[Claim]:
    simple, spaces, finest = rows[SIMPLE], rows[SPACE], rows[finest_label]
    wanted = sorted({one.wanted for one in rows.values()})
    return [
        Claim(
            "a federate cannot tell strategies apart: callbacks are the same",
            len(wanted) == 1,
            f"{' or '.join(map(str, wanted))} callbacks under {len(rows)} settings",
        ),
        Claim(
            "Simple does no filtering at the sender; the others do",
            simple.filtered_sender == 0 < finest.filtered_sender,
            f"kept at senders: {simple.filtered_sender} under Simple, {finest.filtered_sender} with the finest grid",
        ),
        *_saved(simple, spaces, finest),
    ]


def _saved(simple: RunCost, spaces: RunCost, finest: RunCost) -> list[Claim]:
    return [
        Claim(
            "what is filtered at the sender saves network bandwidth, and processing at sender and receiver",
            finest.bytes < simple.bytes and finest.cpu_us < simple.cpu_us,
            f"{short(finest.label)} ÷ Simple: bytes {finest.bytes / simple.bytes:.2f}, CPU {finest.cpu_us / simple.cpu_us:.2f}",
        ),
        Claim(
            "used wisely, a grid adds filtering at the sender to that by spaces",
            finest.filtered_receiver < spaces.filtered_receiver,
            f"dropped at receivers: {spaces.filtered_receiver} by spaces, {finest.filtered_receiver} with the finest grid",
        ),
    ]


def _same_and_reused(room: Room, workload: Workload) -> list[Claim]:
    settings = [setting(SPACE, 1), setting(GRID, 1), setting(GRID, 8), setting(GRID, 8, max_channels=8)]
    spaces, one, many, few = room.counted("counted", [(workload, chosen) for chosen in settings])
    same = [(row.sent, row.messages, row.received, row.bytes, row.filtered_sender) for row in (spaces, one)]
    return [
        Claim(
            "a grid of one partition is functionally equivalent to StaticSpacePartitioned",
            same[0] == same[1],
            f"{spaces.messages} and {one.messages} messages, {spaces.bytes} and {one.bytes} bytes",
        ),
        Claim(
            "using channels again may result in additional receiver-side filtering",
            few.filtered_receiver > many.filtered_receiver,
            f"64 partitions: {many.filtered_receiver} messages dropped with as many channels, {few.filtered_receiver} with 8",
        ),
    ]


# A federation that uses no regions


def without_regions(room: Room) -> Figure:
    workload = plane_workload(plane_of(room.effort, "whole"))
    settings = all_settings(spaces_of(workload), (SIMPLE, SPACE, GRID), [1])
    rows = room.play("no regions", [(workload, one) for one in settings], 3)  # it is about small differences
    return Figure(
        "The No Thinking Approach",
        "a federation that uses no regions",
        [full_table(rows)],
        _no_difference(rows),
        notes=[f"{workload.title}."],
    )


def _no_difference(rows: Sequence[RunCost]) -> list[Claim]:
    cpu = [one.cpu_us for one in rows]
    kept = [one.filtered_sender for one in rows]
    return [
        Claim(
            "the default grid performs about the same as Simple and StaticSpacePartitioned",
            len({one.messages for one in rows}) == 1 and max(cpu) / min(cpu) < ABOUT_THE_SAME,
            f"{rows[0].messages} messages under each; the largest CPU ÷ the smallest {max(cpu) / min(cpu):.2f}",
        ),
        Claim(
            "if a federation performs equally under Simple, it takes no advantage of sender-side filtering",
            not any(kept),
            f"everybody is interested in everything: kept at senders {', '.join(map(str, kept))}",
        ),
    ]


# Finer is not better


def finer(room: Room) -> Figure:
    grids = [1, 2, 8] if room.effort.quick else [1, 2, 4, 8, 16, 32]
    settings = [setting(GRID, grid, best_effort="UDPmulticast") for grid in grids]
    found: dict[str, list[RunCost]] = {}
    for place, (name, near) in enumerate({"small": 0.02, "large": 0.3}.items()):
        plane = plane_of(room.effort, "moving")._replace(near=near, speed=0.0001, steps=10, best_effort=True)
        workload = plane_workload(plane)
        part = room.part(place / 2, (place + 1) / 2)
        found[name] = part.counted(f"{name} regions", [(workload, one) for one in settings])
    return Figure(
        "StaticGridPartitioned Uses",
        "finer is not better",
        [
            Chart(
                "datagrams to multicast groups, by grid",
                PARTITIONS,
                "datagrams",
                [series(f"{name} regions", grids, [one.datagrams for one in found[name]]) for name in found],
            ),
            Chart(
                "messages over links, by grid",
                PARTITIONS,
                "messages",
                [series(f"{name} regions", grids, [one.messages for one in found[name]]) for name in found],
            ),
        ],
        _too_fine(found["small"], found["large"], grids[-1]),
        notes=[
            "Update regions have 0.02 and 0.3 of the side of the plane.",
            "A datagram is sent to the group of each channel that somebody listens to.",
            "Over links (TCP, or a datagram to each node) a node that listens to several of the channels gets one copy.",
            "There a finer grid costs no messages, only channels to keep account of.",
        ],
    )


def _too_fine(small: Sequence[RunCost], large: Sequence[RunCost], finest: int) -> list[Claim]:
    growth = [large[at].datagrams / max(1, small[at].datagrams) for at in (0, -1)]
    return [
        Claim(
            "if partitioning is too fine, more network traffic is generated than with one partition",
            large[-1].datagrams > large[0].datagrams,
            f"large regions: {large[0].datagrams} datagrams with one partition, {large[-1].datagrams} with {finest}²",
        ),
        Claim(
            "larger regions cause more network traffic, especially as the number of partitions grows",
            growth[1] > growth[0] and large[-1].datagrams > small[-1].datagrams,
            f"datagrams of large ÷ small regions: {growth[0]:.2f} with one partition, {growth[1]:.2f} with {finest}²",
        ),
    ]


# Types of channels


def channel_types(room: Room) -> Figure:
    workload = plane_workload(plane_of(room.effort)._replace(best_effort=True))
    settings = [
        setting(name, grid, best_effort=kind)._replace(label=f"{short(name)}, {kind}")
        for name, grid in ((SIMPLE, 1), (GRID, 4))
        for kind in CHANNEL_TYPES
    ]
    rows = room.play("types of channels", [(workload, one) for one in settings])
    by_tcp = next(one.wanted for one in rows if one.label.endswith("TCP"))
    multicast = [one for one in rows if one.label.endswith("UDPmulticast")]
    return Figure(
        "BestEffortChannelType",
        "the same best-effort updates by TCP, datagrams and multicast",
        [_channel_table(rows, by_tcp)],
        [_multicast_works(by_tcp, [one.wanted for one in multicast])],
        notes=[
            "On the loopback interface of this machine.",
            f"Simple: {multicast[0].datagrams} datagrams to the group were received {multicast[0].received} times.",
            "TCP is what reliable messages take: nothing is lost, and each waits for those before it.",
        ],
    )


def _multicast_works(by_tcp: int, by_multicast: Sequence[int]) -> Claim:
    return Claim(
        "setting the type to TCP and running again sheds light on whether multicast is set up properly",
        all(by_tcp - wanted < by_tcp / 10 for wanted in by_multicast),
        f"with TCP {by_tcp} callbacks, with multicast {', '.join(map(str, by_multicast))}: "
        "it is set up properly here if these are about as many",
    )


def _channel_table(rows: Sequence[RunCost], expected: int) -> Table:
    heads = ["", "messages", "to groups", "bytes", "callbacks", "lost", "CPU", "latency", "95 %"]
    return Table(
        heads,
        [
            [one.label, f"{one.messages:,}", f"{one.datagrams:,}", f"{one.bytes:,}", f"{one.wanted:,}",
             str(expected - one.wanted), *cells(one)[-3:]]
            for one in rows
        ],
    )  # fmt: skip
