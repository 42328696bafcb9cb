"""`weft timeline RUN`: suppliers and consumers over time, with laxity and misses, as a page or a PNG (S3-14, S3-15)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from weft.cli.arguments import RUN_HELP, Commands, add_out, real
from weft.host.event_channel.run import RunRows, read_run
from weft.host.storage import place_of
from weft.model.errors import SettingsError
from weft.model.json_types import JsonObject
from weft.recorder.timeline import (
    Figures,
    TimelineLane,
    TimeWindow,
    cut,
    endings,
    extent,
    figures,
    figures_by_priority,
    html_page,
    lanes,
    picture,
    share_processor,
)
from weft.recorder.timeline.figures import laxity_texts, laxity_unit, priority_text

DEFAULT = "timeline.html"
NANO = 10**9


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "timeline",
        help="draw suppliers and consumers of a recorded run over time, with laxity and misses",
        description="Draws the suppliers and consumers of a recorded run over time, with deadlines, laxity and misses, and "
        "prints their figures.  Exits with 0 also where deadlines were missed: it is a picture, not a judgement.",
    )
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--from", dest="begin", type=real(0), metavar="S", help="seconds after the first push or dispatch"
    )
    parser.add_argument("--to", dest="end", type=real(0), metavar="S", help="likewise")
    parser.add_argument("--names", metavar="A,B", help="only these suppliers and consumers")
    add_out(parser, "FILE", f"FILE.html, or FILE.png, which needs Pillow (default {DEFAULT})")
    parser.add_argument(
        "--one-processor", action="store_true",
        help="the consumers of a machine share one processor: whoever began last runs, and the others wait",
    )  # fmt: skip
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; a picture only where --out names it"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    out = arguments.out or (None if arguments.json else DEFAULT)
    if out is not None and Path(out).suffix.lower() not in (".html", ".png"):
        raise SettingsError(f"{out}: a time line is a page or a PNG; let the name end with .html or .png")
    read = read_run(arguments.run, _progress if sys.stderr.isatty() else None)
    found = lanes(read.rows)
    whole = extent(found)
    if whole is None:
        raise SettingsError(_nothing(arguments.run, read))
    if arguments.one_processor:
        share_processor(found)
    window = _window(whole, arguments.begin, arguments.end)
    chosen = _named(found, arguments.names)
    if out is not None:
        _draw(arguments, out, chosen, window, whole.begin, _troubles(read))
    shown = [lane for lane in (cut(lane, window) for lane in chosen) if lane.pushes or lane.consumes]
    if arguments.json:
        print(json.dumps(_as_json(arguments.run, shown, window, whole.begin, read), indent=2))
    else:
        for line in [*_lines(shown, window), *_troubles(read)]:
            print(line)
        print(f"wrote {out}")
    return 0


def _draw(
    arguments: argparse.Namespace,
    out: str,
    chosen: list[TimelineLane],
    window: TimeWindow,
    origin: int,
    notes: list[str],
) -> None:
    path = place_of(arguments.run)
    title = (
        f"Time line of {path.parent.name}/{path.name}" if path.parent.name else f"Time line of {path.name}"
    )
    made = picture(title, chosen, window, origin, notes, arguments.one_processor)
    if Path(out).suffix.lower() == ".png":
        from weft.cli.analyse.timeline_png import png

        data = png(made)
    else:
        data = html_page(made).encode()
    try:
        Path(out).write_bytes(data)
    except OSError as error:
        raise SettingsError(f"{out}: cannot be written: {error.strerror or error}") from None


# What was asked for


def _window(whole: TimeWindow, begin: float | None, end: float | None) -> TimeWindow:
    first = whole.begin if begin is None else whole.begin + round(begin * NANO)
    last = whole.end if end is None else whole.begin + round(end * NANO)
    length = whole.length / NANO
    if first > whole.end:
        raise SettingsError(f"--from {begin:g}: the record ends after {length:g} s")
    if last <= first and (begin is not None or end is not None):
        raise SettingsError(f"--to {(last - whole.begin) / NANO:g} must be after --from {begin or 0:g}")
    return TimeWindow(first, min(last, whole.end) if end is not None else last)


def _named(found: list[TimelineLane], names: str | None) -> list[TimelineLane]:
    if names is None:
        return found
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {lane.name for lane in found}
    for name in wanted:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known)[:20])}"
            raise SettingsError(f"--names: the run has no supplier or consumer {name}{hint}")
    if not wanted:
        raise SettingsError("--names: name at least one supplier or consumer")
    return [lane for lane in found if lane.name in wanted]


def _nothing(run: str, read: RunRows) -> str:
    return (
        f"{run}: none of its {read.total:,} rows is a push or a dispatch. They come from event channels with a record "
        "(docs/how-to/timeline.md) and from federates that have deadlines; record such a run"
    )


def _troubles(read: RunRows) -> list[str]:
    found = list(read.troubles)
    for one in endings(read.rows):
        if one.dropped:
            found.append(
                f"node {one.node} could not keep {one.dropped:,} rows: what is shown of it is not all there was"
            )
        if one.stopped is False:
            found.append(f"node {one.node} did not say that it stopped: it crashed, or still runs")
    return found


def _progress(read: int, files: int) -> None:
    if files >= 20 and (read % 10 == 0 or read == files):
        end = "\r\x1b[K" if read == files else ""
        print(f"\rreading {read} of {files} files{end}", end="", file=sys.stderr, flush=True)


# Figures


def _lines(shown: Sequence[TimelineLane], window: TimeWindow) -> list[str]:
    known = [(lane, figures(lane, window)) for lane in shown]
    unit = laxity_unit(one for _, one in known)
    header = ("name", "priority", "pushes", "runs", "no end", "misses", "overruns", f"laxity min ({unit.name})", "avg",
              "max", "utilisation")  # fmt: skip
    cells = [header]
    for lane, one in known:
        cells.append(
            (
                lane.name, priority_text(lane.priority), str(one.pushes), str(one.runs), str(one.unfinished),
                str(one.misses), str(one.overruns), *laxity_texts(one.laxity, unit),
                f"{one.utilisation:.1%}" if lane.consumes else "",
            )
        )  # fmt: skip
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]
    misses = sum(one.misses for _, one in known)
    runs = sum(one.runs for _, one in known)
    return [*lines, f"{runs:,} runs in {window.length / NANO:.6g} s, {misses:,} misses"]


def _as_json(
    run: str, shown: Sequence[TimelineLane], window: TimeWindow, origin: int, read: RunRows
) -> JsonObject:
    by_priority = figures_by_priority(shown, window)
    return {
        "run": str(run),
        "from_s": (window.begin - origin) / NANO,
        "to_s": (window.end - origin) / NANO,
        "lanes": [
            {
                "name": lane.name, "node": lane.node, "role": lane.role, "operations": lane.operations,
                "priority": lane.priority, **_figures_json(figures(lane, window)),
            }
            for lane in shown
        ],
        "priorities": [{"priority": priority, **_figures_json(one)} for priority, one in by_priority.items()],
        "troubles": _troubles(read),
    }  # fmt: skip


def _figures_json(one: Figures) -> JsonObject:
    laxity = one.laxity
    return {
        "pushes": one.pushes,
        "runs": one.runs,
        "unfinished": one.unfinished,
        "misses": one.misses,
        "overruns": one.overruns,
        "given_up": one.drops,
        "laxity_us": None
        if laxity is None
        else {"min": laxity.least / 1000, "avg": laxity.average / 1000, "max": laxity.most / 1000},
        "busy_us": one.busy / 1000,
        "utilisation": one.utilisation,
    }
