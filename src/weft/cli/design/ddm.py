"""`weft ddm`: which channels regions get, which boxes overlap, and advice on how data distribution is set up."""

from __future__ import annotations

import argparse
import json

from weft.cli.arguments import Commands, add_command
from weft.cli.design import ddm_compare, ddm_draw, ddm_match
from weft.cli.design.ddm_regions import parse_region
from weft.fom import merge, parse_module, parse_rid
from weft.host.files.modules import read_source
from weft.interest import (
    DdmSettings,
    Spaces,
    StaticGridPartitioned,
    Strategy,
    make_strategy,
    read_ddm_settings,
)
from weft.interest.ddm_advice import advise


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "ddm",
        help="data distribution: channels of regions, pictures, strategies compared, overlapping boxes, advice",
    )
    actions = parser.add_subparsers(dest="ddm_command", metavar="COMMAND", required=True)
    mapped = add_command(actions, "map", run_map, "show partitions, channels and the channels of regions")
    _model(mapped)
    mapped.add_argument(
        "--region", action="append", default=[], metavar="'NAME=SPACE:x=LO..HI,y=LO..HI;…'",
        help="a region, and its extents after each other with ';'; a dimension left out has its full range; may be repeated",
    )  # fmt: skip
    mapped.add_argument(
        "--bounds", choices=("closed", "half-open"),
        help="is HI part of the range? (default: closed for spaces of a FED file, half-open for those of a FOM)",
    )  # fmt: skip
    mapped.add_argument("--json", action="store_true", help="print one JSON object")

    drawn = add_command(actions, "draw", ddm_draw.run, "draw spaces, partitions, channels and regions")
    ddm_draw.add_arguments(drawn)

    compared = add_command(
        actions,
        "compare",
        ddm_compare.run,
        "run one workload under each strategy and grid, and say what it cost",
    )
    ddm_compare.add_arguments(compared)

    found = add_command(actions, "match", ddm_match.run, "print or write all pairs of boxes that overlap")
    ddm_match.add_arguments(found)

    lint = add_command(actions, "lint", run_lint, "give advice on spaces, partitions and channels")
    _model(lint)
    lint.add_argument("--json", action="store_true", help="print one JSON object")


def _model(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("object model, one of").add_mutually_exclusive_group(required=True)
    files.add_argument("--fed", metavar="FILE", help="a FED file (HLA 1.3)")
    files.add_argument(
        "--fom", metavar="FILE", action="append", help="an OMT file; may be repeated, merged in this order"
    )
    parser.add_argument("--rid", metavar="FILE", help="a RID file (default: a grid of one partition)")


def _read(arguments: argparse.Namespace) -> tuple[Spaces, DdmSettings]:
    files = [arguments.fed] if arguments.fed else arguments.fom
    spaces = Spaces(merge([parse_module(read_source(name)) for name in files]))
    rid = parse_rid(read_source(arguments.rid)) if arguments.rid else None
    return spaces, read_ddm_settings(rid, spaces)


# map


def run_map(arguments: argparse.Namespace) -> int:
    spaces, settings = _read(arguments)
    strategy = make_strategy(spaces, settings)
    regions: dict[str, list[int]] = {}
    for text in arguments.region:
        name, space, region = parse_region(text, spaces, arguments.bounds, regions, "--region")
        regions[name] = sorted(strategy.update_channels(space, region))
    if arguments.json:
        print(json.dumps({"channels": strategy.channels, "regions": regions}))
    else:
        _print_map(spaces, strategy, regions)
    return 0


def _print_map(spaces: Spaces, strategy: Strategy, regions: dict[str, list[int]]) -> None:
    print(f"{strategy.name}: {_count(strategy.partitions, 'partition')} on {_count(strategy.channels, 'channel')}, "
          "each reliable and best effort; channel 0 for what has no space")  # fmt: skip
    if strategy.matches_at_sender:
        print("the sender compares regions and sends to those that overlap only")
    if isinstance(strategy, StaticGridPartitioned):
        for space in spaces.all:
            grid = strategy.grids[space.number]
            shape = ", ".join(
                f"{dimension.name}: {count} of {size}"
                for dimension, count, size in zip(space.dimensions, grid.counts, grid.sizes, strict=True)
            )
            print(
                f"space {space.name}: partitions {grid.first} to {grid.first + grid.count - 1} ({shape or 'no dimension'})"
            )
    else:
        for space in spaces.all:
            print(f"space {space.name}: {', '.join(one.name for one in space.dimensions) or 'no dimension'}")
    for name, channels in regions.items():
        print(f"region {name}: channels {', '.join(map(str, channels))}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


# lint


def run_lint(arguments: argparse.Namespace) -> int:
    spaces, settings = _read(arguments)
    found = advise(spaces, settings)
    if arguments.json:
        rows = [{"rule": one.rule, "place": one.place, "text": one.text} for one in found]
        print(json.dumps({"strategy": settings.strategy, "advice": rows}, indent=2))
        return 0
    for one in found:
        print(one)
    if not found:
        print(f"nothing to say about {settings.strategy} and these {len(spaces.all)} spaces")
    return 0
