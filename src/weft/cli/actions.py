"""Sub-commands of a command: each says what it does, and its help ends with examples that work."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Actions = argparse._SubParsersAction
Run = Callable[[argparse.Namespace], int]


def examples(*commands: str) -> str:
    return "\n".join(["examples:", *(f"  {command}" for command in commands)])


def action(
    actions: Actions[argparse.ArgumentParser], name: str, run: Run, text: str, *shown: str
) -> argparse.ArgumentParser:
    made = actions.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=examples(*shown),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.set_defaults(func=run)
    return made
