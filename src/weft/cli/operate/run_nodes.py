"""The processes of `weft run`: nodes, and programs that go with them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from weft.host.files.private import private

RESTART_SECONDS = 0.5
START_SECONDS = 60.0  # that a program may take to join before silence counts as the end of the run


class NodeStatus(TypedDict, total=False):
    """What a node prints of itself with `weft serve --status`, as far as it is shown."""

    federates: str
    joined: int
    links: int
    neighbours: int
    sent: int
    received: int
    backlog: int
    packets: int
    stamp_bytes: int
    run_directory: str


class ChildProcess:
    """One process; ended by its id, or its group's, and by nothing else.  `failure`: how it ended, if that was not to be."""

    in_group = False
    """What it has started is ended with it; a node ends its own writers, in order."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.failure = ""
        self.has_ended = False
        self.process: asyncio.subprocess.Process | None = None

    async def _start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        piped: bool,
        directory: Path | None = None,
    ) -> asyncio.subprocess.Process:
        """`piped`: what it prints is read here; else it goes to the log, between what it complains of."""
        with open(self.log, "a", opener=private) as log:
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if piped else log,
                stderr=log,
                env={**os.environ, **environment},
                cwd=directory,
                start_new_session=True,  # Ctrl-C is for `weft run`, which stops the nodes in order.
            )
        return self.process

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.in_group:
                    os.killpg(self.process.pid, number)
                else:
                    self.process.send_signal(number)

    def end_rest(self) -> None:
        """What it has started and left behind, now that it has ended itself: the group lives as long as one of them."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Child(ChildProcess):
    """A node."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        super().__init__(log)
        self.name = name
        self.command = command
        self.state = "starting"
        self.pid = 0
        self.restarts = 0
        self.programs: list[FederateProgram] = []
        self.joined = 0  # the most federates that were joined here at once
        self.status: NodeStatus = {}
        self.rates: dict[str, float] = {}
        self.is_ready = asyncio.Event()
        self._status_at = 0.0

    async def attend(self, restart: bool, stopping: asyncio.Event) -> None:
        while True:
            self.state = "starting"
            process = await self._start(self.command, {}, piped=True)
            self.pid = process.pid
            assert process.stdout is not None
            with open(self.log.with_suffix(".out"), "ab", opener=private) as printed:
                async for line in process.stdout:
                    if line.startswith(b'{"status"'):
                        self._took(json.loads(line)["status"])
                    else:  # of agents, or of an exporter of spans
                        printed.write(line)
                        printed.flush()
            code = await process.wait()
            self.rates = {}
            if stopping.is_set():
                self.state = "stopped" if code == 0 else f"ended ({code_words(code)})"
                if code in (0, -signal.SIGTERM):
                    self.failure = ""  # it was started again
                break
            self.state = self.failure = f"died ({code_words(code)})"
            if not restart:
                break
            self.restarts += 1
            self.status = {}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), RESTART_SECONDS)
                break
        self.has_ended = True

    def _took(self, status: NodeStatus) -> None:
        now = time.monotonic()
        before, self.status = self.status, status
        passed = now - self._status_at
        self._status_at = now
        self.state = "running" if status["links"] == status["neighbours"] else "linking"
        self.failure = ""
        self.joined = max(self.joined, status["joined"])
        self.is_ready.set()
        if before:
            self.rates["sent"] = (status["sent"] - before["sent"]) / passed
            self.rates["received"] = (status["received"] - before["received"]) / passed


class FederateProgram(ChildProcess):
    """A program that goes with a node: a federate."""

    in_group = True

    def __init__(self, number: int, node: Child, command: list[str], log: Path) -> None:
        super().__init__(log)
        self.number = number
        self.node = node
        self.node.programs.append(self)
        self.command = command
        self.was_stopped = False  # by us, while it still ran
        self._started_at = 0.0

    async def attend(self, stopping: asyncio.Event) -> None:
        try:
            await self._attend(stopping)
        finally:
            self.has_ended = True

    async def _attend(self, stopping: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(self.node.is_ready.wait()), asyncio.ensure_future(stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            one.cancel()
        if stopping.is_set():
            return
        environment = {
            "WEFT_ADDRESS": str(self.node.status["federates"]),
            "WEFT_NODE": self.node.name,
            # Else Python keeps what it prints until it ends, behind what it complains of.
            "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
        }
        self._started_at = time.monotonic()
        try:
            process = await self._start(self.command, environment, piped=False)
        except OSError as error:
            self.failure = not_started(self.command[0], error)
            return
        code = await process.wait()
        self.was_stopped = stopping.is_set()
        if code and not self.was_stopped:
            self.failure = f"ended with {code_words(code)}"

    @property
    def is_starting(self) -> bool:
        """It may not have joined yet, as far as its node tells: to begin may take long on a busy machine."""
        if self.has_ended or time.monotonic() - self._started_at > START_SECONDS:
            return False
        return sum(not one.has_ended for one in self.node.programs) > self.node.joined


def not_started(program: str, error: OSError, directory: Path = Path()) -> str:
    missing = isinstance(error, FileNotFoundError) and not (directory / program).exists()
    why = "there is no such program" if missing else error.strerror or str(error)
    return f"could not be started: {program}: {why}"


def code_words(code: int) -> str:
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
