"""Federates at three nodes of two domains that are inside this process, with real links between them.

As with the simulated ones (`support.simulated_nodes`) each call is followed by peace: nothing is under way any more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.node_processes import loopback
from support.simulated_nodes import TWO_DOMAINS
from weft.host.in_process.mesh_node import OwnConnection, OwnNode
from weft.host.settings import FabricSettings, ServeSettings, Settings
from weft.kernel import Node

WAIT = 240.0


class OwnNodes:
    """The nodes of a topology in one process; `reports` is what each of them logs."""

    def __init__(self, folder: Path, journals: bool = False, lost_seconds: float = 10.0) -> None:
        self.domains = loopback(TWO_DOMAINS)
        self.reports: dict[str, list[str]] = {name: [] for name in TWO_DOMAINS.servers}
        self.nodes: dict[str, OwnNode] = {}
        self._folder = folder
        self._journals = journals
        self._settings = Settings(
            serve=ServeSettings(run_directory=str(folder)),
            fabric=FabricSettings(lost_seconds=lost_seconds, retry_seconds=0.02, retry_most_seconds=0.1),
        )
        try:
            for name in reversed(TWO_DOMAINS.servers):  # who is dialed first, so that nobody has to try again
                self.start(name)
            self.until(self.is_whole, "all links are up")
        except BaseException:
            self.stop()
            raise

    def start(self, name: str) -> OwnNode:
        journal = self._folder / f"{name}.journal" if self._journals else None
        node = OwnNode(self.domains, name, self._settings, journal, report=self.reports[name].append)
        node.start()
        self.nodes[name] = node
        return node

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def is_whole(self) -> bool:
        others = len(self.nodes) - 1
        return all(len(node._mesh._reach._entries) == others for node in self.nodes.values())

    def is_calm(self) -> bool:
        """Has everything that was sent been received, and nobody anything left to do?"""
        nodes = list(self.nodes.values())
        with contextlib.ExitStack() as all_of_them:
            for node in nodes:
                all_of_them.enter_context(node.drive.mutex)
            if any(node._mesh.turn_due or node._keeping for node in nodes):
                return False
            return sum(node._mesh.sent - node._mesh.received for node in nodes) == 0

    def settle(self) -> None:
        self.until(self.is_calm, "peace")

    def until(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < deadline, f"not in time: {what}; {self.reports}"
            for node in self.nodes.values():
                with node.drive.mutex:
                    node.flush()
                    node.drive.until(lambda: False, 0.0)


class Peaceful:
    """A connection; nothing is under way any more when a call has ended."""

    def __init__(self, nodes: OwnNodes, connection: OwnConnection) -> None:
        self._nodes = nodes
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        try:
            return self._connection.call(service, arguments)
        finally:
            self._nodes.settle()

    def lose(self) -> None:
        self._connection.lose()
        self._nodes.settle()


class OwnSite:
    """Where one federate connects."""

    def __init__(self, nodes: OwnNodes, name: str) -> None:
        self._nodes = nodes
        self._name = name

    def kernels(self) -> list[Node]:
        return [node._node for node in self._nodes.nodes.values()]

    def connect(self) -> Any:
        return Peaceful(self._nodes, self._nodes.nodes[self._name].connect())


@contextlib.contextmanager
def sites(count: int) -> Iterator[list[OwnSite]]:
    """As `support.spread.sites`; the nodes are stopped at the end."""
    with TemporaryDirectory() as folder:
        nodes = OwnNodes(Path(folder))
        try:
            yield [OwnSite(nodes, TWO_DOMAINS.servers[-(number % 3) - 1]) for number in range(count)]
        finally:
            nodes.stop()
