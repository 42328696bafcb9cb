"""`weft papers`: runs the experiments, shows how far they are, and writes the page and the numbers."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from weft.cli.papers import PAPERS
from weft.model.json_types import JsonObject
from weft_benchmarks.papers.figures import Chapter, Effort, as_json
from weft_benchmarks.papers.page import page
from weft_benchmarks.runner import load
from weft_benchmarks.testbed.hosts import NoHosts


def run(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = sorted(arguments.papers or PAPERS)
    begun = time.monotonic()
    machine: JsonObject = {
        "machine": f"{os.cpu_count()} cores, Python {sys.version.split()[0]}",
        "load before": round(os.getloadavg()[0], 2),
        "effort": "quick: fewer steps and runs" if arguments.quick else "full",
    }
    chapters: list[Chapter] = []
    for place, paper in enumerate(chosen):
        effort = Effort(arguments.quick, _progress(paper, place, len(chosen)), arguments.namespaces)
        experiment = import_module(f"weft_benchmarks.papers.paper_{paper}")
        try:
            chapters.append(experiment.run(effort))
        except NoHosts as error:
            print(f"weft papers: --namespaces: {error}", file=sys.stderr)
            return 1
        _write(folder, chapters, machine)  # what is there stays there, should a later one fail
    machine["load after"] = round(float(load()["load_average"]), 2)
    machine["took"] = f"{time.monotonic() - begun:.0f} s"
    _write(folder, chapters, machine)
    _say("")
    for chapter in chapters:
        for figure in chapter.figures:
            for claim in figure.claims:
                mark = {True: "holds", False: "FAILS", None: "-"}[claim.holds]
                print(f"{chapter.paper} {figure.number:<10} {mark:<6} {claim.says}: {claim.because}")
    print(f"\n{folder / 'papers.html'} (open it in a browser), {folder / 'papers.json'}")
    return 0


def _write(folder: Path, chapters: list[Chapter], machine: JsonObject) -> None:
    (folder / "papers.html").write_text(page(chapters, machine), "utf-8")
    data = {"machine": machine, "papers": [as_json(chapter) for chapter in chapters]}
    (folder / "papers.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")


def _progress(paper: str, place: int, of: int) -> Callable[[str, float], None]:
    def tell(what: str, share: float) -> None:
        whole = (place + min(max(share, 0.0), 1.0)) / of
        _say(f"{whole:4.0%}  paper {paper}: {what}")

    return tell


_last = ""


def _say(text: str) -> None:
    """Rewrites one line of a terminal; elsewhere a line for each thing that is begun."""
    global _last
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text and text != _last:
        print(text, file=sys.stderr, flush=True)
    _last = text
