"""The parser of the `weft` command: what it refuses it refuses with a hint, and every help begins with a sentence."""

from __future__ import annotations

import argparse
import re
import sys
from difflib import get_close_matches
from typing import NoReturn

from weft.cli.examples import parsers


class Parser(argparse.ArgumentParser):
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
            known = [name for one in parsers(self) for name in _shown(one)]
        else:
            return message
        close = get_close_matches(found[1], known, 1)
        return f"{message}; did you mean {close[0]}?" if close else message


def _shown(parser: argparse.ArgumentParser) -> list[str]:
    return [
        name
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for name in action.option_strings
    ]


def describe(parser: argparse.ArgumentParser) -> None:
    """Where a command has no description, it is what the one above it lists it with."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                below = action.choices[choice.dest]
                if below.description is None and choice.help:
                    below.description = f"{choice.help[0].upper()}{choice.help[1:]}."
                describe(below)
