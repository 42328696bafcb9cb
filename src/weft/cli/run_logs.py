"""What the nodes of `weft run` report, in one stream: their files are followed, and each line names its node.

Nodes write to files of the run directory and not to this process, so that what a node says last is kept whatever becomes of
this one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from weft.cli.run_nodes import Child
from weft.host.log import JSON, Log
from weft.model.log_text import ERROR, LogText

RUN: Final = "run"
"""As which `weft run` itself speaks in JSON."""
_MOST: Final = 1 << 20
"""Bytes of a file at a time, so that no node keeps the others from being heard."""


class NodeLogs:
    """Of all nodes; without a form nothing is shown here, and the files alone have it."""

    def __init__(self, children: Sequence[Child], form: str | None, out: TextIO | None = None) -> None:
        self.form = form
        self._out = out or sys.stderr
        self._own = Log(RUN, JSON, self._out)
        self._files = [_Followed(child.name, child.log) for child in children] if form else []

    def say(self, text: str) -> None:
        """Of `weft run` itself."""
        if self.form == JSON:
            self._own(text)
        else:
            print(f"weft: {text}", file=self._out, flush=True)

    def failed(self, child: Child) -> None:
        text = f"node {child.name} {child.failure}; see {child.log}"
        self.say(LogText(text, "node-died", ERROR, peer=child.name, file=str(child.log)))

    def show(self, last: bool = False) -> None:
        """What has come since.  `last`: the nodes have ended, so a line without an end is one, too."""
        for followed in self._files:
            for line in followed.lines(last):
                self._show(followed.name, line)
        self._out.flush()

    def _show(self, name: str, line: str) -> None:
        if self.form != JSON:
            self._out.write(f"{name}: {line}\n")
        elif line.startswith("{"):
            self._out.write(f"{line}\n")
        else:  # not of the log, such as a traceback
            Log(name, JSON, self._out)(line)


class _Followed:
    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self, last: bool) -> list[str]:
        """Whole ones."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                data = file.read(-1 if last else _MOST)
        except FileNotFoundError:  # the node has not been started yet
            return []
        self._at += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if last and self._rest:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode("utf-8", "replace") for line in whole if line]
