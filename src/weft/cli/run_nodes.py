"""The processes of `weft run`: nodes, and programs that go with them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from weft.host.private import private

RESTART_SECONDS = 0.5


class _Process:
    """One process; ended by its id and by nothing else."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process: asyncio.subprocess.Process | None = None

    async def _start(self, command: list[str], environment: dict[str, str]) -> asyncio.subprocess.Process:
        with open(self.log, "a", opener=private) as log:
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is for `weft run`, which stops the nodes in order.
            )
        return self.process

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)


class Child(_Process):
    """A node."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        super().__init__(log)
        self.name = name
        self.command = command
        self.state = "starting"
        self.pid = 0
        self.restarts = 0
        self.failure = ""
        self.has_ended = False
        self.status: dict[str, Any] = {}
        self.rates: dict[str, float] = {}
        self.is_ready = asyncio.Event()
        self._status_at = 0.0

    async def attend(self, restart: bool, stopping: asyncio.Event) -> None:
        while True:
            self.state = "starting"
            process = await self._start(self.command, {})
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
                self.state = "stopped" if code == 0 else f"ended ({_said(code)})"
                break
            self.state = f"died ({_said(code)})"
            if not restart:
                self.failure = self.state
                break
            self.restarts += 1
            self.status = {}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), RESTART_SECONDS)
                break
        self.has_ended = True

    def _took(self, status: dict[str, Any]) -> None:
        now = time.monotonic()
        before, self.status = self.status, status
        passed = now - self._status_at
        self._status_at = now
        self.state = "running" if status["links"] == status["neighbours"] else "linking"
        self.is_ready.set()
        if before:
            for name in ("sent", "received"):
                self.rates[name] = (status[name] - before[name]) / passed


class Command(_Process):
    """A program that goes with a node: a federate."""

    def __init__(self, node: Child, command: list[str], log: Path) -> None:
        super().__init__(log)
        self._node = node
        self._command = command

    async def attend(self, stopping: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(self._node.is_ready.wait()), asyncio.ensure_future(stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            one.cancel()
        if stopping.is_set():
            return
        environment = {"WEFT_ADDRESS": str(self._node.status["federates"]), "WEFT_NODE": self._node.name}
        process = await self._start(self._command, environment)
        assert process.stdout is not None
        with open(self.log, "ab", opener=private) as log:
            async for line in process.stdout:
                log.write(line)
                log.flush()
        await process.wait()


def _said(code: int) -> str:
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
