"""The part of `weft serve` that makes it a node of a fabric: `--node S3 --domains FILE`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from weft.fabric import Domains
from weft.host.mesh.agents import load_agent
from weft.host.mesh.journal import set_aside
from weft.host.mesh.node import FabricNode, read_domains
from weft.host.settings import FabricSettings, MeshDdmSettings, Settings
from weft.model.errors import SettingsError


@dataclass(frozen=True)
class NodePlan:
    """What the command line asked for."""

    name: str
    domains: Domains
    folder: Path
    settings: FabricSettings
    ddm: MeshDdmSettings
    journal: Path | None
    agents: tuple[str, ...] = ()
    status: float | None = None
    born: int = field(default_factory=os.getpid)

    def make(self, report: Callable[[str], None]) -> FabricNode:
        agents = dict(load_agent(one) for one in self.agents)
        return FabricNode(
            self.domains, self.name, report, self.settings, self.journal, self.folder, agents, self.ddm
        )

    async def attend(
        self,
        node: FabricNode,
        stopping: asyncio.Event,
        listeners: list[tuple[str, str, int]],
        run_directory: Path,
        joined: Callable[[], int],
    ) -> int:
        """Until it is to stop, or cannot go on; the exit code.  `joined`: how many federates are, here."""
        failed = node.mesh.failed
        assert failed is not None
        asked = asyncio.ensure_future(stopping.wait())
        _, host, port = listeners[0]
        while True:
            if self.status is not None:
                place = {"federates": f"{host}:{port}", "run_directory": str(run_directory.absolute())}
                print_status({**node.status(), "pid": self.born, "joined": joined(), **place})
            both: list[asyncio.Future[Literal[True]] | asyncio.Future[str]] = [asked, failed]
            await asyncio.wait(both, timeout=self.status, return_when=asyncio.FIRST_COMPLETED)
            if failed.done() or asked.done():
                asked.cancel()
                return 1 if failed.done() else 0


def print_status(status: Mapping[str, object]) -> None:
    print(json.dumps({"status": status}), flush=True)


def node_plan(arguments: argparse.Namespace, settings: Settings) -> NodePlan | None:
    """None without --node: a node by itself."""
    if arguments.node is None and arguments.domains is None:
        asked = (arguments.agents, arguments.journal, arguments.no_journal, arguments.new_journal)
        if any(asked) or arguments.status:
            raise SettingsError(
                "--agents, --journal, --no-journal, --new-journal and --status need --node and --domains"
            )
        return None
    if arguments.node is None or arguments.domains is None:
        raise SettingsError("a node of a fabric needs both: --node NAME and --domains FILE")
    domains, folder = read_domains(arguments.domains)
    if arguments.node not in domains.topology.numbers:
        known = ", ".join(domains.topology.servers)
        raise SettingsError(f"{arguments.domains}: there is no server {arguments.node!r}; there are {known}")
    journal = None
    if not arguments.no_journal:
        home = Path(arguments.journal or Path(settings.serve.run_directory) / "journal")
        journal = home / f"{arguments.node}.journal"
        if arguments.new_journal:
            set_aside(journal)
    return NodePlan(
        arguments.node,
        domains,
        folder,
        settings.fabric,
        settings.ddm,
        journal,
        tuple(arguments.agents),
        arguments.status,
    )
