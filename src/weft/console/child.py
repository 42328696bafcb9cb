"""The console as a child of `weft serve` and `weft run`: started, told of nodes, ended.

The parent opens the socket, so the address is known before the child is there, and hands it over.  Keys and tokens go by
the child's input and nowhere else.  A console that dies is reported and not missed by the nodes; at the end it is waited
for only a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.console.security import ConsoleGuard, Tokens, is_loopback
from weft.host import system
from weft.host.files.private import private
from weft.host.settings import ConsoleSettings as ConsoleSettings
from weft.model.errors import SettingsError
from weft.model.extras import lacking
from weft.model.json_types import Json, JsonObject

NEEDS = ("starlette", "uvicorn", "websockets")
MOMENT = 1.0  # seconds that it has to end by itself


def is_installed() -> bool:
    return not lacking(*NEEDS)


@dataclass(frozen=True)
class ConsoleStart:
    """What a console is told before anything else: the first line of its input."""

    host: str
    port: int
    operator: str
    reader: str
    fd: int  # the socket that listens already; -1: to be opened there
    cert: str
    key: str
    names: list[str]
    recordings: str
    nodes: list[JsonObject]

    def __repr__(self) -> str:
        return f"ConsoleStart({self.host}:{self.port})"

    def guard(self) -> ConsoleGuard:
        tokens = Tokens(self.operator, self.reader)
        return ConsoleGuard(tokens, self.host, self.port, bool(self.cert), frozenset(self.names))


def start_of(
    settings: ConsoleSettings,
    guard: ConsoleGuard,
    recordings: str,
    nodes: Sequence[Mapping[str, Json]],
    fd: int = -1,
) -> ConsoleStart:
    return ConsoleStart(
        guard.host,
        guard.port,
        guard.tokens.operator,
        guard.tokens.reader,
        fd,
        settings.cert,
        settings.key,
        sorted(guard.names),
        str(Path(recordings).absolute()) if recordings else "",
        [dict(node) for node in nodes],
    )


class ConsoleChild:
    def __init__(self, settings: ConsoleSettings, report: Callable[[str], None], log: Path | None) -> None:
        """Listens at once; SettingsError if it cannot.  `log`: where the child's own words go."""
        self._settings = settings
        self._report = report
        self._log = log
        self._socket = listen(settings)
        self.guard = guard_of(settings, self._socket)
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopping = False
        self._told: dict[str, str] = {}

    @property
    def greeting(self) -> list[str]:
        tokens = self.guard.tokens
        return [
            f"  console   {self.guard.url(tokens.operator)}",
            f"  to look   {self.guard.url(tokens.reader)}",
        ]

    async def start(self, nodes: Sequence[Mapping[str, Json]], recordings: str) -> None:
        fd = self._socket.fileno() if system.HANDED_SOCKETS else -1
        start = asdict(start_of(self._settings, self.guard, recordings, nodes, fd))
        if fd < 0:
            self._socket.close()
        try:
            self._process = await self._spawn()
        except OSError as error:
            self._report(
                f"the console could not be started: {error.strerror or error}; federates are not concerned"
            )
            return
        finally:
            self._socket.close()
        self._write(start)
        self._watch = asyncio.get_running_loop().create_task(self._attend(self._process))

    async def _spawn(self) -> asyncio.subprocess.Process:
        with open(self._log or os.devnull, "a", opener=private) as errors:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "weft.console",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(self._socket.fileno(),) if system.HANDED_SOCKETS else (),
                start_new_session=True,  # Ctrl-C is for whoever started it
            )

    def tell(self, node: str, **facts: Json) -> None:
        """Of a node, if it is not what was said before."""
        text = json.dumps(facts, sort_keys=True)
        if self._told.get(node) != text:
            self._told[node] = text
            self._write({"node": node, **facts})

    def _write(self, said: Mapping[str, Json]) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                process.stdin.write(json.dumps(said).encode() + b"\n")

    async def _attend(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if not self._stopping:
            where = "" if self._log is None else f"; see {self._log}"
            self._report(f"the console has ended (exit code {code}); federates are not concerned{where}")

    async def stop(self) -> None:
        self._stopping = True
        self._socket.close()
        process, watch = self._process, self._watch
        if process is None or watch is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        await asyncio.wait([watch], timeout=MOMENT)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.wait([watch], timeout=MOMENT)


def listen(settings: ConsoleSettings) -> socket.socket:
    check(settings)
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise SettingsError(
            f"the console cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; "
            "choose another port (--console-port), or leave it out (--no-console)"
        ) from error


def check(settings: ConsoleSettings) -> None:
    """Before anything listens; off this machine only encrypted, or where somebody has said that it need not be."""
    if bool(settings.cert) != bool(settings.key):
        raise SettingsError("console.cert and console.key: both, or neither")
    if settings.cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.cert, settings.key)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"console.cert {settings.cert}, console.key {settings.key}: {error}"
            ) from error
    elif not is_loopback(settings.host) and not settings.insecure:
        raise SettingsError(
            f"the console would listen on {settings.host} for other machines, and the token cross the network in the clear: "
            "give it console.cert and console.key, or say --console-insecure"
        )


def guard_of(settings: ConsoleSettings, listening: socket.socket) -> ConsoleGuard:
    names = {name.strip().lower() for name in settings.names.split(",") if name.strip()}
    if not is_loopback(settings.host):
        names.add(socket.gethostname().lower())
    port: int = listening.getsockname()[1]
    return ConsoleGuard(Tokens.make(), settings.host, port, bool(settings.cert), frozenset(names))
