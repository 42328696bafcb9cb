"""`weft bench`: measurements, with their floor from the same run.  `docs/benchmarks.md` holds the last honest table.

The benchmarks are a package of their own, `weft_benchmarks`, in `benchmarks/` at the top of the repository.  A wheel brings
it along; an editable install does not, so that here it is looked for beside `src`.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from weft.cli.arguments import Commands
from weft.model.errors import WeftError
from weft.model.extras import EXTRAS, lacking, require

PACKAGE = "weft_benchmarks"
_CHECKOUT = Path(__file__).resolve().parents[3] / "benchmarks"


def register(commands: Commands) -> None:
    parser = commands.add_parser("bench", help="measure, with the floor in the same run")
    if lacking(*EXTRAS["record"]) or not find_benchmarks():
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.set_defaults(func=say_what_is_missing)
        return
    kinds = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    import_module(f"{PACKAGE}.commands").register(kinds)


def find_benchmarks(checkout: Path = _CHECKOUT) -> bool:
    """Return whether the benchmarks can be imported; those of a source checkout are put on the path."""
    if find_spec(PACKAGE) is not None:
        return True
    if not (checkout / PACKAGE / "__init__.py").is_file():
        return False
    sys.path.append(str(checkout))
    return True


def say_what_is_missing(arguments: argparse.Namespace) -> int:
    require("weft bench", "record", *EXTRAS["record"])
    raise WeftError(
        f"the benchmarks are not installed: there is no package {PACKAGE}, and no folder {_CHECKOUT}; "
        "run `weft bench` in a checkout of the repository, or install Weft from a wheel"
    )
