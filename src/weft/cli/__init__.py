"""The `weft` command.  Each sub-command is a module with `register(commands)`; its function returns the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import weft
from weft.cli.examples import add_examples
from weft.cli.parsing import Parser, describe
from weft.model.errors import WeftError

_ROOMS = {
    "operate": ("demo", "serve", "run", "console", "steer", "journal", "passwd"),
    "observe": ("status", "top"),
    "analyse": ("runs", "export", "review", "tune", "timeline"),
    "design": ("fom", "domains", "ddm"),
    "reference": ("services", "errors", "prove", "doctor", "completion"),
}
_MODULES = {name: f"weft.cli.{room}.{name}" for room, names in _ROOMS.items() for name in names}
_MODULES["bench"] = "weft.cli.bench"
COMMANDS = (
    "demo", "serve", "run", "console", "runs", "export", "review", "tune", "journal", "passwd", "domains", "ddm", "fom",
    "services", "errors", "status", "steer", "top", "timeline", "bench", "prove", "doctor", "completion",
)  # fmt: skip
"""In the order of the help."""


def parser(only: str = "") -> argparse.ArgumentParser:
    """`only`: the one command that was asked for; the others need not be loaded, which takes as long as to start a server."""
    made = Parser(
        prog="weft",
        description="A run-time infrastructure (RTI) for distributed simulation. `weft COMMAND --help` says more of each.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in [only] if only else COMMANDS:
        import_module(_MODULES[name]).register(commands)
    describe(made)
    add_examples(made)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Errors of Weft end in one line on stderr and exit code 2; a traceback is a defect."""
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        only = words[0] if words and words[0] in COMMANDS else ""
        if not words:
            parser().print_help(sys.stderr)
            return 2
        chosen = parser(only).parse_args(words)
        code: int = chosen.func(chosen)
        sys.stdout.flush()
        return code
    except WeftError as error:
        print(f"weft: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("weft: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has had enough (`weft … | head`); what follows would only say so again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
