"""Sub-commands of a command: each says what it does (and `weft.cli.examples` has its examples)."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Actions = argparse._SubParsersAction
Run = Callable[[argparse.Namespace], int]


def action(
    actions: Actions[argparse.ArgumentParser], name: str, run: Run, text: str
) -> argparse.ArgumentParser:
    made = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    made.set_defaults(func=run)
    return made
