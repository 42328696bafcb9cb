"""`weft papers`: the experiments of papers, run here and drawn.  They are in the package of the benchmarks."""

from __future__ import annotations

import argparse
from importlib import import_module

from weft.cli.bench import PACKAGE, find_benchmarks, say_what_is_missing

PAPERS = ("000", "001", "002", "003", "004")
"""Those whose experiments are here."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "papers", help="run the experiments of a paper, and draw its figures beside its claims"
    )
    parser.add_argument(
        "papers",
        nargs="*",
        metavar="PAPER",
        choices=[*PAPERS, []],
        help=f"which papers, of {', '.join(PAPERS)} (default all)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer steps and runs: about two minutes")
    parser.add_argument(
        "--namespaces",
        action="store_true",
        help="000: each federate in a network namespace of its own, with its own address (needs root)",
    )
    parser.add_argument(
        "--out",
        default="papers",
        metavar="FOLDER",
        help="where the page and its numbers go (default %(default)s)",
    )
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    if not find_benchmarks():
        return say_what_is_missing(arguments)
    code: int = import_module(f"{PACKAGE}.papers.command").run(arguments)
    return code
