"""A federation file started by a Python program, such as a test: `weft run` in a process of its own, its end and what it says.

with weft.run_file("harbour.toml") as run:
    observer = weft.join("Harbour", "observer", fom="harbour.xml", rti=run.address)
    ...
    assert run.wait(60) == 0, run.text
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from weft.model.errors import NotInTime, SettingsError

_FILE_AT_FAULT = 2
_PATIENCE = 60.0  # seconds that it has to end all, when the block is left


class FederationRun:
    """One run of a federation file, for a `with` block; what still runs at its end is stopped.

    `host`: only the part of this one of [hosts].  `environment`: added to that of this process.  `directory`: below which the run
    has its folder (`runs` unless the settings say otherwise).  `start`: so many seconds it may take until its nodes are ready.
    No console is started.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        host: str = "",
        environment: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        start: float = 60.0,
    ) -> None:
        self._file = os.fspath(file)
        self._host = host
        self._environment = {**os.environ, **(environment or {})}
        if directory is not None:
            self._environment["WEFT_SERVE_RUN_DIRECTORY"] = os.fspath(directory)
        self._start = start
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._news = threading.Condition()
        self._is_ready = False
        self._has_said_all = False
        self._lines: list[tuple[str, str]] = []
        self.addresses: dict[str, str] = {}
        """Where federates join: by the name of the node, or `server`."""
        self.folder = Path()
        """The run's logs."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "weft.cli", "run", self._file, "--log", "json", "--no-console"]
        command += ["--until-input-ends", *(["--host", self._host] if self._host else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", env=self._environment,
            start_new_session=True,  # Ctrl-C is for this process, which stops it in order.
        )  # fmt: skip
        self._reader.start()
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Where federates join: the server, or the first node."""
        if not self.addresses:
            raise SettingsError(f"{self._file}: no node of it runs on this machine")
        return next(iter(self.addresses.values()))

    @property
    def code(self) -> int | None:
        """The exit code, once it has ended: 0 if all ended as expected, 1 if somebody failed."""
        return None if self._process is None else self._process.poll()

    @property
    def text(self) -> str:
        """All that was said so far, by whom, in lines."""
        with self._news:
            return "\n".join(f"{who}: {line}" for who, line in self._lines)

    def said(self, who: str) -> str:
        """What one has said: a federate of the file, `server`, `node NAME`, or `run` itself."""
        with self._news:
            return "\n".join(line for name, line in self._lines if name == who)

    def wait_for_line(self, who: str, part: str, seconds: float = 60.0) -> str:
        """Until it says a line with that in it; returns the line."""
        deadline = time.monotonic() + seconds
        with self._news:
            while True:
                found = [line for name, line in self._lines if name == who and part in line]
                if found:
                    return found[0]
                left = deadline - time.monotonic()
                if left <= 0 or self._has_said_all:
                    why = "the run has ended" if self._has_said_all else f"{seconds:g} s are over"
                    raise NotInTime(f"{self._file}: {who} has not said {part!r}, and {why}{self._told()}")
                self._news.wait(left)

    def wait(self, seconds: float = 60.0) -> int:
        """Until all of it has ended; the exit code."""
        assert self._process is not None, "a run is entered first: with weft.run_file(…) as run:"
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            with self._news:
                raise NotInTime(f"{self._file}: still runs after {seconds:g} s{self._told()}") from None
        self._reader.join(seconds)
        return code

    def stop(self) -> None:
        """End all that still runs, in order."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()  # which it stops at; it ends all others by their ids
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join(_PATIENCE)
        if process.stderr is not None:
            process.stderr.close()

    # --- what it says -----------------------------------------------------------------------------------------

    def _wait_until_ready(self) -> None:
        with self._news:
            is_over = self._news.wait_for(lambda: self._is_ready or self._has_said_all, self._start)
            if not is_over:
                raise NotInTime(f"{self._file}: not ready within {self._start:g} s{self._told()}")
        if self._has_said_all and self.wait() == _FILE_AT_FAULT:
            raise SettingsError(self.said("run").removeprefix("weft: "))

    def _told(self) -> str:
        """The last lines; the lock is held."""
        return "".join(f"\n    {who}: {line}" for who, line in self._lines[-10:])

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._news:
                self._take(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._has_said_all = True
            self._news.notify_all()

    def _take(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or "event" not in entry:
            self._lines.append(("run", line))
            return
        event = entry["event"]
        if event == "run-started":
            self.folder = Path(entry["file"])
        elif event == "node-ready":
            self.addresses[entry["peer"]] = entry["address"]
        elif event == "run-ready":
            self._is_ready = True
        self._lines.append((entry["node"], entry["text"]))


run_file = FederationRun
"""As it reads in a `with` block."""
