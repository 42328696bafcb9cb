"""`weft ddm draw`: spaces, partitions, channels and regions as a picture, from any object model and RID file (S2-22)."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from weft.cli.arguments import add_out, write_text
from weft.cli.design.ddm_channel_map import chosen_strategies
from weft.cli.design.ddm_overview import pictures
from weft.cli.design.ddm_paper import EXAMPLES
from weft.cli.design.ddm_picture import channels_text
from weft.cli.design.ddm_regions import RegionsFile, read_lines, read_regions
from weft.drawing import Graphic, stacked, style, svg
from weft.fom import Rid, merge, parse_module, parse_rid
from weft.host.files.modules import read_source
from weft.interest import STRATEGIES, Spaces, Strategy, make_strategy, read_ddm_settings
from weft.model.errors import SettingsError
from weft.model.records import Source

DEFAULT = "ddm.html"
KINDS = (".html", ".svg")
_STYLE = """
body{margin:0 auto;max-width:760px;padding:0 20px 60px;font:16px/1.5 system-ui,sans-serif}
body{background:var(--back);color:var(--text)}h1{margin:28px 0 4px;font-size:26px}
h2{margin:40px 0 8px;border-top:1px solid var(--grid);padding-top:20px}
p{color:var(--muted)}figure{margin:18px 0;overflow-x:auto}
table{border-collapse:collapse;font-size:14px}th,td{padding:3px 18px 3px 0;text-align:left;border-bottom:1px solid var(--grid)}
th{color:var(--muted);font-weight:500}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description}\n\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}".strip()
    )
    parser.add_argument("model", nargs="?", metavar="FED_OR_FOM", help="a FED file (HLA 1.3) or an OMT file")
    parser.add_argument("rid", nargs="?", metavar="RID", help="a RID file (default: a grid of one partition)")
    parser.add_argument(
        "--fom", action="append", default=[], metavar="FILE", help="a further OMT file, merged after the first; may be repeated"
    )  # fmt: skip
    add_regions(parser)
    parser.add_argument(
        "--strategy", action="append", metavar="NAME",
        help=f"draw as this strategy has it, of {', '.join(STRATEGIES)}, or all; may be repeated (default: that of the RID file)",
    )  # fmt: skip
    parser.add_argument(
        "--example", type=int, choices=EXAMPLES, metavar="N",
        help="instead of files: the example of the paper on these strategies that its figure N shows (1 to 4)",
    )  # fmt: skip
    add_out(parser, "FILE", f"FILE.html, or FILE.svg (default {DEFAULT})")


def add_regions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--regions", metavar="FILE",
        help="regions, and who subscribes and updates with them, one on each line (docs/explanation/ddm.md)",
    )  # fmt: skip
    parser.add_argument(
        "--region", action="append", default=[], metavar="'NAME=SPACE:x=LO..HI,y=LO..HI;…'",
        help="one region, likewise; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--bounds", choices=("closed", "half-open"),
        help="is HI part of the range? (default: closed for spaces of a FED file, half-open for those of a FOM)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    out = arguments.out or DEFAULT
    if Path(out).suffix.lower() not in KINDS:
        raise SettingsError(f"{out}: a picture is a page or an SVG; let the name end with .html or .svg")
    title, spaces, rid, found = _read(arguments)
    names = chosen_strategies(arguments.strategy) if arguments.strategy else [""]
    made = [_strategy(spaces, rid, name) for name in names]
    drawn = [(strategy, pictures(spaces, strategy, found)) for strategy in made]
    if Path(out).suffix.lower() == ".svg":
        whole = stacked(title, [one for _, some in drawn for one in some])
        write_text(svg(whole, standing_alone=True), out)
    else:
        write_text("\n".join(_page(title, drawn, found)), out)
    print(f"wrote {out}")
    return 0


def _read(arguments: argparse.Namespace) -> tuple[str, Spaces, Rid | None, RegionsFile]:
    if arguments.example is not None:
        if arguments.model:
            raise SettingsError(
                f"--example {arguments.example} brings its own files; leave out {arguments.model}"
            )
        example = EXAMPLES[arguments.example]
        spaces = Spaces(merge([parse_module(example.fed)]))
        found = RegionsFile({}, [])
        read_lines(example.regions, "paper.regions", spaces, None, found)
        return f"Figure {arguments.example}: {example.title}", spaces, parse_rid(example.rid), found
    if not arguments.model:
        raise SettingsError("name a FED or an OMT file, or --example 1 to 4")
    sources: list[Source] = [read_source(name) for name in (arguments.model, *arguments.fom)]
    spaces = Spaces(merge([parse_module(source) for source in sources]))
    rid = parse_rid(read_source(arguments.rid)) if arguments.rid else None
    found = read_regions(arguments.regions, arguments.region, spaces, arguments.bounds)
    named = (
        f"{Path(arguments.model).name} with {Path(arguments.rid).name}" if arguments.rid else arguments.model
    )
    return f"Data distribution: {named}", spaces, rid, found


def _strategy(spaces: Spaces, rid: Rid | None, name: str) -> Strategy:
    settings = read_ddm_settings(rid, spaces)
    return make_strategy(spaces, dataclasses.replace(settings, strategy=name) if name else settings)


# The page


def _page(title: str, drawn: Sequence[tuple[Strategy, list[Graphic]]], found: RegionsFile) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{style()}{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
    for strategy, some in drawn:
        if len(drawn) > 1:
            yield f"<h2>{escape(strategy.name)}</h2>"
        if strategy.matches_at_sender:
            yield "<p>The sender compares regions, and sends to those that overlap only.</p>"
        for one in some:
            yield f"<figure>{svg(one)}</figure>"
        if found.regions:
            yield _table(strategy, found)
    yield "</body></html>\n"


def _table(strategy: Strategy, found: RegionsFile) -> str:
    """Which channels each region has, and who uses it."""
    rows = []
    for one in found.regions.values():
        channels = channels_text(sorted(strategy.update_channels(one.space, one.region)))
        users = "; ".join(
            f"{use.federate} {use.does} {use.what}" for use in found.uses if one.name in use.regions
        )
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (one.name, one.space.name, channels, users))
        rows.append(f"<tr>{cells}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("region", "space", "channels", "used by"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
