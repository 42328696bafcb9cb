"""`weft ddm compare`: one workload under each strategy and grid, and what it cost (S2-22).

Each federate is a process and a node of its own on this machine.  The workload is that of a regions file, or a plane on which
entities wander.  With --simulated nodes are real kernels in one process: counts are exact and no clock is
looked at, so there is no latency, and bytes are those of messages without what links add.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from weft.cli.arguments import real, whole
from weft.cli.design.ddm_channel_map import chosen_strategies
from weft.cli.design.ddm_draw import add_regions
from weft.cli.design.ddm_nodes import Nodes
from weft.cli.design.ddm_regions import UPDATES, read_regions
from weft.cli.design.ddm_runs import RunCost, Setting, play_simulated, setting
from weft.cli.design.ddm_workload import KINDS, PlaneWorld, Workload, plane_workload, workload_of
from weft.fom import merge, parse_module, parse_rid
from weft.host.files.modules import read_source
from weft.interest import STRATEGIES, DdmSettings, Spaces, make_strategy, read_ddm_settings
from weft.interest.ddm_settings import CHANNEL_TYPES
from weft.interest.strategy import ADAPTIVE
from weft.model.errors import SettingsError

GRIDS = "2,4,8"
MAX_CHANNELS = 64


class Compared(NamedTuple):
    workload: Workload
    simulated: bool
    rows: list[RunCost]
    # Of the same steps without updates: news of regions goes to everybody, under any strategy.
    news_bytes: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{parser.description}\n\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}"
    parser.add_argument(
        "model",
        nargs="?",
        metavar="FED_OR_FOM",
        help="a FED or OMT file, with --regions (default: the plane)",
    )
    add_regions(parser)
    parser.add_argument(
        "--strategy", action="append", metavar="NAME",
        help=f"only this one, of {', '.join(STRATEGIES)}; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--grid", default=GRIDS, metavar="N,N,…", help="partitions of each dimension (default %(default)s)"
    )
    parser.add_argument(
        "--rid", action="append", default=[], metavar="FILE", help="also as this RID file has it; may be repeated"
    )  # fmt: skip
    parser.add_argument(
        "--max-channels", type=whole(1), default=MAX_CHANNELS, metavar="N",
        help="MaxNumberOfDataChannelsToUse (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--best-effort", choices=CHANNEL_TYPES, metavar="TYPE",
        help=f"updates of the plane are best effort, by channels of this type: {', '.join(CHANNEL_TYPES)}",
    )  # fmt: skip
    parser.add_argument(
        "--step-ms", type=real(0), default=10.0, metavar="MS", help="from step to step (default %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=whole(1), default=1, metavar="N", help="runs to take the median of (default %(default)s)"
    )  # fmt: skip
    parser.add_argument(
        "--simulated", action="store_true", help="count exactly, in one process, without a clock"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    _add_plane(parser.add_argument_group("the plane"))


def _add_plane(group: argparse._ArgumentGroup) -> None:
    ready = PlaneWorld()
    group.add_argument(
        "--workload", choices=KINDS, default=ready.kind,
        help="what regions do: move with entities, stay fixed, or are not used (default %(default)s)",
    )  # fmt: skip
    for name, least, default, text in (
        ("federates", 2, ready.federates, "nodes"),
        ("entities", 1, ready.entities, "of each federate"),
        ("steps", 1, ready.steps, "in each of which all entities move and are updated"),
        ("extents", 1, ready.extents, "of what a federate subscribes to"),
    ):
        group.add_argument(
            f"--{name}", type=whole(least), default=default, metavar="N", help=f"{text} (default {default})"
        )
    for name, share, text in (
        ("sight", ready.sight, "the side of what a federate sees"),
        ("speed", ready.speed, "how far an entity goes in a step, at most"),
    ):
        group.add_argument(
            f"--{name}", type=real(0.0001), default=share, metavar="SHARE",
            help=f"{text}, as a share of the side of the plane (default {share})",
        )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    workload = _workload(arguments)
    settings = chosen_settings(arguments, workload)
    found = compare(
        workload, settings, arguments.simulated, arguments.step_ms, arguments.repeats, _progress()
    )
    if arguments.json:
        print(json.dumps(as_json(found), indent=2))
    else:
        print("\n".join(as_text(found)))
    return 0


# What is compared


def _workload(arguments: argparse.Namespace) -> Workload:
    if arguments.model:
        source = read_source(arguments.model)
        spaces = Spaces(merge([parse_module(source)]))
        found = read_regions(arguments.regions, arguments.region, spaces, arguments.bounds)
        if not any(use.does == UPDATES for use in found.uses):
            raise SettingsError(
                f"nobody updates anything: name a file with --regions in which lines say so, as in "
                f"'field updates Tank.place near 10 times'; {arguments.model} has the spaces: {', '.join(spaces.by_name)}"
            )
        return workload_of(spaces, found, [source])
    if arguments.regions or arguments.region:
        raise SettingsError("regions are those of an object model: name a FED or an OMT file before them")
    return plane_workload(
        PlaneWorld(
            kind=arguments.workload,
            federates=arguments.federates,
            entities=arguments.entities,
            steps=arguments.steps,
            sight=arguments.sight,
            extents=arguments.extents,
            speed=arguments.speed,
            best_effort=arguments.best_effort is not None,
        )
    )


def chosen_settings(arguments: argparse.Namespace, workload: Workload) -> list[Setting]:
    try:
        grids = [int(text) for text in arguments.grid.split(",")]
    except ValueError:
        raise SettingsError(
            f"--grid {arguments.grid}: whole numbers, separated by commas, as in {GRIDS}"
        ) from None
    spaces = Spaces(merge([parse_module(source) for source in workload.model]))
    made = all_settings(
        spaces,
        chosen_strategies(arguments.strategy),
        grids,
        arguments.max_channels,
        arguments.best_effort or "",
    )
    for file in arguments.rid:
        rid = read_source(file)
        strategy = make_strategy(spaces, read_ddm_settings(parse_rid(rid), spaces))
        made.append(Setting(f"{file} ({strategy.name})", rid, strategy.channels))
    return made


def all_settings(
    spaces: Spaces,
    names: Sequence[str],
    grids: Sequence[int],
    max_channels: int = MAX_CHANNELS,
    best_effort: str = "",
) -> list[Setting]:
    """Every strategy, and those whose partitions depend on it with each grid; also strategies that somebody has added."""
    made = []
    for name in names:
        two, three = (
            make_strategy(spaces, DdmSettings(strategy=name, partitions=n)).partitions for n in (2, 3)
        )
        for grid in grids if two != three else [1]:
            strategy = make_strategy(
                spaces, DdmSettings(strategy=name, partitions=grid, max_channels=max_channels)
            )
            made.append(setting(name, grid, strategy.channels, best_effort, max_channels))
    return made


# Comparing


def compare(
    workload: Workload,
    settings: Sequence[Setting],
    simulated: bool,
    step_ms: float = 10.0,
    repeats: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> Compared:
    """Settings take turns, so that what else the machine does falls on all of them."""
    samples: dict[int, list[RunCost]] = {}
    if simulated:
        for number, one in enumerate(settings):
            tell(f"{number + 1} of {len(settings)}: {one.label}")
            samples[number] = [play_simulated(workload, one)]
        tell("")
        rows = [samples[number][0] for number in range(len(settings))]
        return Compared(workload, True, rows, max((row.news_bytes or 0 for row in rows), default=0))
    with Nodes(len(workload.parts)) as nodes:
        tell("news of regions" if workload.moves else "the processes warm up")
        first = nodes.play(workload.silent() if workload.moves else workload, settings[0], step_ms)
        for repeat in range(repeats):
            for number, one in enumerate(settings):
                tell(f"round {repeat + 1} of {repeats}, {number + 1} of {len(settings)}: {one.label}")
                samples.setdefault(number, []).append(nodes.play(workload, one, step_ms))
    tell("")
    rows = [median_of(samples[number]) for number in range(len(settings))]
    return Compared(workload, False, rows, first.bytes if workload.moves else 0)


def median_of(samples: Sequence[RunCost]) -> RunCost:
    """Of what is timed; what is counted is that of the first."""
    first = samples[0]
    late = [one.latency_us for one in samples if one.latency_us is not None]
    later = [one.latency_95_us for one in samples if one.latency_95_us is not None]
    return first._replace(
        cpu_us=statistics.median(one.cpu_us for one in samples),
        latency_us=statistics.median(late) if late else None,
        latency_95_us=statistics.median(later) if later else None,
    )


# What is shown


def as_json(found: Compared) -> dict[str, object]:
    return {
        "workload": found.workload.title,
        "simulated": found.simulated,
        "federates": len(found.workload.parts),
        "updates": found.workload.updates,
        "moves": found.workload.moves,
        "news_bytes": found.news_bytes,
        "strategies": [one._asdict() for one in found.rows],
    }


HEADS = (
    "strategy", "channels", "messages", "bytes", "kept at sender", "dropped at receiver", "callbacks", "CPU", "latency", "95 %",
)  # fmt: skip


def as_text(found: Compared) -> Iterator[str]:
    yield f"{found.workload.title}: {found.workload.updates} updates, {found.workload.moves} moves of regions"
    rows = [cells(one) for one in found.rows]
    table = [HEADS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))]
    for row in table:
        first, *others = (text.ljust(width) if at == 0 else text.rjust(width)
                          for at, (text, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        yield "  ".join([first, *others]).rstrip()
    if found.news_bytes:
        yield f"news of regions: {found.news_bytes:,} of the bytes, to all nodes, under any strategy"
    yield "CPU: µs of all nodes for each update; latency: ms from the update to the callback"
    if any(one.label.startswith(ADAPTIVE) for one in found.rows):
        here = (
            "which --simulated has not" if found.simulated else "--steps and --step-ms say how long this is"
        )
        yield f"{ADAPTIVE} begins with one partition and goes over to others after seconds of traffic; {here}"
    least = min(found.rows, key=lambda one: (one.bytes, one.messages), default=None)
    if least is not None and len(found.rows) > 1:
        yield f"fewest bytes: {least.label}"


def cells(one: RunCost) -> tuple[str, ...]:
    return (
        one.label,
        str(one.channels),
        f"{one.messages:,}",
        f"{one.bytes:,}",
        f"{one.filtered_sender:,}",
        f"{one.filtered_receiver:,}",
        f"{one.wanted:,}",
        f"{one.cpu_us:.0f}",
        _milliseconds(one.latency_us),
        _milliseconds(one.latency_95_us),
    )


def _milliseconds(microseconds: float | None) -> str:
    if microseconds is None:
        return "-"
    return f"{microseconds / 1000:.2f}" if microseconds < 10_000 else f"{microseconds / 1000:.0f}"


def _progress() -> Callable[[str], None]:
    if not sys.stderr.isatty():
        return lambda text: None
    return lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
