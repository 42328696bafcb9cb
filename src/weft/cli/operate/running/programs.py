"""The processes of federates: what they are told, how they are started, and how they end, with all that they have started."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from weft.cli.operate.run_nodes import ChildProcess, code_words, not_started
from weft.cli.operate.running.plan import FederationPlan, Program


def environment_of(plan: FederationPlan, program: Program, address: str) -> dict[str, str]:
    """What `weft.join()` reads, and programs in other languages may (docs/how-to/run-file.md)."""
    host, _, port = address.rpartition(":")
    client = f"connect.hostname={host},connect.port={port}"
    settings = [client, *filter(None, [os.environ.get("FEDPRO_CLIENT_SETTINGS")])]
    told = {
        "WEFT_ADDRESS": address,
        "WEFT_FEDERATION": plan.name,
        "WEFT_FEDERATE": program.joins[0],
        "WEFT_FEDERATE_TYPE": program.entry,
        "WEFT_FOM": os.pathsep.join(plan.fom),
        "WEFT_TIME": plan.time,
        "WEFT_NODE": program.node,
        # Of clients in C++ and Java that connect without an address.
        "FEDPRO_CLIENT_SETTINGS": ",".join(settings),
        "PATH": search_path(),
        # Else Python keeps what it prints until it ends.
        "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
    }
    own = {name: with_address(value, address) for name, value in program.environment.items()}
    return {**{name: value for name, value in told.items() if value}, **own}


def with_address(text: str, address: str) -> str:
    """What a command and its environment say in braces: where to join."""
    host, _, port = address.rpartition(":")
    return text.replace("{address}", address).replace("{host}", host).replace("{port}", port)


def search_path() -> str:
    """`python` is the one that runs this."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


class ProgramProcess(ChildProcess):
    """One start of a program."""

    in_group = True

    def __init__(self, program: Program, address: str, environment: Mapping[str, str], log: Path) -> None:
        super().__init__(log)
        self.program = program
        self._command = [with_address(word, address) for word in program.command]
        self._environment = environment

    async def attend(self, started: Callable[[int], None]) -> tuple[int, str]:
        """Until it ends: the exit code, and in words; below 0 for a signal.  OSError: it cannot be started."""
        process = await self._start(
            self._command, self._environment, piped=False, directory=self.program.directory
        )
        started(process.pid)
        code = await process.wait()
        self.end_rest()
        return code, code_words(code)

    def why_not_started(self, error: OSError) -> str:
        return not_started(self._command[0], error, self.program.directory)


async def ended_in_time(
    tasks: list[asyncio.Task[None]], processes: list[ChildProcess], patience: float
) -> None:
    """End all, and kill those that do not end."""
    for one in processes:
        one.terminate()
    pending = {task for task in tasks if not task.done()}
    if pending:
        _, pending = await asyncio.wait(pending, timeout=patience)
    if pending:
        for one in processes:
            one.kill()
        await asyncio.wait(pending, timeout=patience)
