"""Meshes of several nodes in one event loop, with sockets and journals like real ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any

from weft.fabric import Domains
from weft.host.carrier import Port
from weft.host.links.link import Link
from weft.host.mesh.mesh import Mesh
from weft.host.settings import FabricSettings

QUICK = FabricSettings(lost_seconds=0.6, retry_seconds=0.02, retry_most_seconds=0.1, queue_bytes=1 << 20)
PATIENCE = 240.0


class Guest:
    """A resident that notes what happens."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.news: list[tuple[str, str, Any]] = []

    def received(self, sender: str, payload: bytes, now: float) -> None:
        self.heard.append((sender, payload))

    def lost(self, node: str, why: str, now: float) -> None:
        self.news.append(("lost", node, why))

    def found(self, node: str, restarted: bool, now: float) -> None:
        self.news.append(("found", node, restarted))

    def said(self) -> list[bytes]:
        return [payload for _, payload in self.heard]


class Mute:
    """A transport that writes nothing; all else is done by the real one."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def write(self, data: bytes) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def mute(link: Link) -> None:
    """What is sent over its present connection is lost."""
    line: Any = link.line
    line._transport = Mute(line._transport)


class Meshes:
    def __init__(
        self, domains: Domains, folder: Path, settings: FabricSettings = QUICK, certificates: Path = Path()
    ) -> None:
        self.domains = domains
        self.folder = folder
        self.settings = settings
        self.certificates = certificates
        self.meshes: dict[str, Mesh] = {}
        self.guests: dict[str, Guest] = {}
        self.logs: dict[str, list[str]] = {name: [] for name in domains.topology.servers}

    async def start(self, *names: str, domains: Domains | None = None) -> None:
        for name in names or self.domains.topology.servers:
            mesh = Mesh(
                domains or self.domains,
                name,
                self.logs.setdefault(name, []).append,
                self.settings,
                self.folder / f"{name}.journal",
                self.certificates,
            )
            self.meshes[name] = mesh
            self.guests[name] = Guest()
            mesh.settle(Port.FEDERATIONS, self.guests[name])
            await mesh.start()

    async def crash(self, name: str) -> None:
        """As if the process were killed: nothing is said, nothing more is committed."""
        mesh = self.meshes.pop(name)
        mesh._started = False
        for link in mesh.links.links.values():
            link.up = False
        await mesh.links.stop()
        assert mesh.journal is not None
        mesh.journal.close()

    async def stop(self) -> None:
        for mesh in self.meshes.values():
            await mesh.stop()

    def is_whole(self) -> bool:
        return all(link.up for mesh in self.meshes.values() for link in mesh.links.links.values())

    async def whole(self) -> None:
        await until(self.is_whole, "all links are up")
        names = self.meshes
        await until(
            lambda: all(
                m._reach.is_reachable(m.nodes.index(n)) for m in names.values() for n in names if n != m.name
            ),
            "all nodes are found",
        )


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        await asyncio.sleep(0.002)  # between two looks at a condition


LOOPS = ["asyncio", "uvloop"]


def run(work: Coroutine[Any, Any, None], loop: str = "asyncio") -> None:
    """On that event loop."""
    factory = None if loop == "asyncio" else import_module(loop).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)
