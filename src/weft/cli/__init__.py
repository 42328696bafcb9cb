"""The `weft` command.  Each sub-command is a module with `register(commands)`; its function returns the exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

import weft
from weft.cli.examples import add_examples, parsers
from weft.model.errors import WeftError
from weft.model.extras import told

_ROOMS = {
    "operate": ("demo", "serve", "run", "console", "steer", "journal", "passwd"),
    "observe": ("status", "top"),
    "analyse": (
        "runs",
        "runs upload",
        "runs compact",
        "export",
        "review",
        "sql",
        "compare",
        "trend",
        "lake",
        "package",
        "tune",
        "timeline",
    ),
    "design": ("fom", "domains", "ddm", "schedule"),
    "reference": ("services", "errors", "prove", "doctor", "completion"),
}
_MODULES = {
    name: f"weft.cli.{room}.{name.replace(' ', '_')}" for room, names in _ROOMS.items() for name in names
}
_MODULES |= {name: f"weft.cli.{name}" for name in ("bench", "papers")}
COMMANDS = (
    "demo", "serve", "run", "console", "runs", "runs upload", "runs compact", "export", "review", "sql", "compare", "trend",
    "lake", "tune", "package", "journal", "passwd", "domains", "ddm", "schedule", "fom", "services", "errors", "status", "steer",
    "top", "timeline", "bench", "papers", "prove", "doctor", "completion",
)  # fmt: skip
"""In the order of the help."""


class Parser(argparse.ArgumentParser):
    """What it refuses it refuses with a hint."""

    def error(self, message: str) -> NoReturn:
        """Usage, and one line as of any other mistake."""
        self.print_usage(sys.stderr)
        self.exit(2, f"weft: {self._with_hint(message)}\n")

    def _with_hint(self, message: str) -> str:
        if found := re.search(r"invalid choice: '([^']*)'", message):
            commands = [one for one in self._actions if isinstance(one, argparse._SubParsersAction)]
            if commands:
                close = get_close_matches(found[1], commands[0].choices, 1)
                hint = f"did you mean `{self.prog} {close[0]}`? " if close else ""
                return f"there is no command `{self.prog} {found[1]}`; {hint}`{self.prog} --help` lists all"
            known = [str(choice) for action in self._actions for choice in action.choices or ()]
        elif found := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            actions = [action for one in parsers(self) for action in one._actions]
            shown = [action for action in actions if action.help != argparse.SUPPRESS]
            known = [name for action in shown for name in action.option_strings]
        else:
            return message
        close = get_close_matches(found[1], known, 1)
        return f"{message}; did you mean {close[0]}?" if close else message


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
    _describe(made)
    add_examples(made)
    return made


def _describe(parser: argparse.ArgumentParser) -> None:
    """Where a command has no description, it is what the one above it lists it with."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                below = action.choices[choice.dest]
                if below.description is None and choice.help:
                    below.description = f"{choice.help[0].upper()}{choice.help[1:]}."
                _describe(below)


def main(arguments: Sequence[str] | None = None) -> int:
    """Errors of Weft end in one line on stderr and exit code 2; a traceback is a defect."""
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        if " ".join(words[:2]) in COMMANDS:
            words[:2] = [" ".join(words[:2])]
        only = words[0] if words and words[0] in COMMANDS else ""
        if not words:
            parser().print_help(sys.stderr)
            return 2
        chosen = parser(only).parse_args(words)
        code: int = chosen.func(chosen)
        sys.stdout.flush()
        return code
    except WeftError as error:
        if _was_interrupted(error):
            print("weft: interrupted", file=sys.stderr)
            return 130
        print(f"weft: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        missing = told(error)
        if missing is None:
            raise
        print(f"weft: {missing}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("weft: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has had enough (`weft … | head`); what follows would only say so again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _was_interrupted(error: BaseException) -> bool:
    """Was it raised while a Ctrl-C was being handled?  Spark says of the job that this ended that it has failed."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


if __name__ == "__main__":
    sys.exit(main())
