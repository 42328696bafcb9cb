"""All that nodes and programs of a run say, in one view: each line with the name of who says it.

On a terminal names have colours; elsewhere lines are plain.  In JSON there is an object for each line, on standard error
(docs/how-to/logs.md).  Of nodes, people are shown what is at least a warning, unless they ask for more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from weft.cli.operate.run_logs import RUN
from weft.host.log import JSON, Log
from weft.model.log_text import ERROR, INFO, LogText

_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
_RED, _DIM = 31, 2


class RunView:
    def __init__(self, names: Sequence[str], form: str | None, plain: bool = False) -> None:
        self.form = form
        self._names = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(names)}
        self._width = max(map(len, [RUN, *names]))
        self._colours = form != JSON and not plain and sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str) -> None:
        """Of the run itself."""
        self._tell(RUN, text, sys.stdout)

    def fail(self, text: str) -> None:
        """What is to be read though nobody reads the rest."""
        if self.form == JSON:
            self._tell(RUN, text, sys.stderr)
        else:
            sys.stdout.flush()
            shown = f"\x1b[{_RED}m{text}\x1b[0m" if self._colours and sys.stderr.isatty() else text
            print(f"weft: {shown}", file=sys.stderr, flush=True)

    def line(self, name: str, text: str) -> None:
        """Of a program."""
        self._tell(name, text, sys.stdout)

    def node_line(self, name: str, line: str, entry: dict[str, object] | None) -> None:
        """`entry`: what the line says, if it is one of a log in JSON."""
        if self.form == JSON:
            if entry is None:
                self._tell(name, line, sys.stderr)
            else:
                print(line, file=sys.stderr, flush=True)
        elif entry is None or self.form is not None or _is_for_people(entry):
            self._tell(name, line if entry is None else str(entry.get("text", "")), sys.stdout)

    def _tell(self, name: str, text: str, out: TextIO) -> None:
        if self.form == JSON:
            Log(name, JSON, sys.stderr)(text)
        elif self._colours:
            colour = self._names.get(name, _DIM)
            print(f"\x1b[{colour}m{name:>{self._width}} |\x1b[0m {text}", file=out, flush=True)
        else:
            print(f"{name}: {text}", file=out, flush=True)


def _is_for_people(entry: dict[str, object]) -> bool:
    """A call that was refused is the federate's affair: it has the exception."""
    return entry.get("level", INFO) != INFO and entry.get("event") != "refused"


def entry_of(line: str) -> dict[str, object] | None:
    """A line of a node's log, if it is one."""
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def failed(text: str, program: str, file: str) -> LogText:
    return LogText(text, "federate-failed", ERROR, peer=program, file=file)
