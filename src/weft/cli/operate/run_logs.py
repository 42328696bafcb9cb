"""What the nodes of `weft run` report, in one stream: their files are followed, and each line names its node.

Nodes write to files of the run directory and not to this process, so that what a node says last is kept whatever becomes of
this one.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from weft.cli.operate.run_nodes import Child, FederateProgram
from weft.host.log import JSON, Log
from weft.model.log_text import ERROR, LogText

RUN: Final = "run"
"""As which `weft run` itself speaks in JSON."""
_MOST: Final = 1 << 20
"""Bytes of a file at a time, so that no node keeps the others from being heard."""
_LAST_LINES: Final = 5


class NodeLogs:
    """Of all nodes; without a form nothing is shown here, and the files alone have it."""

    def __init__(self, children: Sequence[Child], form: str | None, out: TextIO | None = None) -> None:
        self.form = form
        self._given = out
        self._told: set[str] = set()
        self._files = [Followed(child.name, child.log) for child in children] if form else []

    @property
    def _out(self) -> TextIO:
        """Asked each time: a table that lives takes the place of standard error meanwhile, to keep lines above it."""
        return self._given or sys.stderr

    def say(self, text: str) -> None:
        """Of `weft run` itself."""
        if self.form == JSON:
            Log(RUN, JSON, self._out)(text)
        else:
            print(f"weft: {text}", file=self._out, flush=True)

    def failed(self, child: Child) -> None:
        text = f"node {child.name} {child.failure}{end_of(child.log)}"
        self._once(LogText(text, "node-died", ERROR, peer=child.name, file=str(child.log)))

    def federate_failed(self, command: FederateProgram) -> None:
        text = f"federate {command.number} ({shlex.join(command.command)}, at {command.node.name}) {command.failure}"
        if command.process is not None:
            text += end_of(command.log)
        self._once(LogText(text, "federate-failed", ERROR, peer=command.node.name, file=str(command.log)))

    def _once(self, text: LogText) -> None:
        """A node that is started again and again, and dies of the same each time, has said it."""
        plain = re.sub(r"\d\d:\d\d:\d\d ", "", text)
        if plain not in self._told:
            self._told.add(plain)
            self.say(text)

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


def end_of(log: Path) -> str:
    """What a process said last."""
    said: list[str] = []
    with contextlib.suppress(FileNotFoundError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        said = file.read().decode("utf-8", "replace").splitlines()
    last = [line.rstrip() for line in said if line.strip()][-_LAST_LINES:]
    if not last:
        return f"; it said nothing ({log} is empty)"
    return f"; {log} ends with:\n" + "\n".join(f"    {line}" for line in last)


class Followed:
    """A file that grows."""

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
