"""The nodes of a federation file: the commands that start them, and where federates join."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from weft.cli.operate.run_nodes import Child
from weft.cli.operate.running.mesh_table import domains_text, free_ports
from weft.cli.operate.running.plan import FederationPlan, MeshPlan, NodeOptions, Program, ServerPlan
from weft.host.files.private import private

SERVER = "server"
_STATUS_SECONDS = "0.5"


def options_of(options: NodeOptions) -> list[str]:
    """As flags of `weft serve`."""
    flags = ["--no-console", "--log", "json", "--status", _STATUS_SECONDS]
    for name in ("settings", "rid", "schedule", "modules"):
        if value := getattr(options, name):
            flags += [f"--{name}", value]
    if options.record is False:
        flags.append("--no-record")
    elif isinstance(options.record, str):
        flags += ["--record", options.record]
    return flags


def nodes_of(plan: FederationPlan, host: str, folder: Path) -> list[Child]:
    """The nodes of this machine; `folder` has their logs, and a domains file if one has to be written."""
    serve = [sys.executable, "-m", "weft.cli", "serve"]
    nodes = plan.nodes
    extra = options_of(nodes.options)
    if isinstance(nodes, ServerPlan):
        if not plan.nodes_of(host):
            return []
        where = nodes.listen or (plan.hosts[nodes.host] if host else "127.0.0.1")
        return [
            Child(
                SERVER,
                [*serve, "--host", where, "--port", str(nodes.port), *extra],
                folder / "node-server.log",
            )
        ]
    file = nodes.file or _domains_file(nodes, bool(plan.hosts) and not host, folder)
    extra += ["--journal", nodes.journal] if nodes.journal else ["--no-journal"]
    made = []
    for place, name in enumerate(nodes.domains.topology.servers):
        port = nodes.first_port + place if nodes.first_port else 0
        command = [*serve, "--node", name, "--domains", file, "--port", str(port), *extra]
        made.append(Child(name, command, folder / f"node-{name}.log"))
    here = plan.nodes_of(host)
    return [one for one in made if one.name in here]


def _domains_file(nodes: MeshPlan, all_here: bool, folder: Path) -> str:
    """`all_here`: what the file has for several machines is tried on one, at any free ports."""
    text = nodes.text
    if all_here:
        servers = nodes.domains.topology.servers
        ports = free_ports(len(servers))
        chosen = {name: f"127.0.0.1:{port}" for name, port in zip(servers, ports, strict=True)}
        text = domains_text(chosen, nodes.domains.topology.domains)
    path = folder / "domains.toml"
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(text)
    return str(path.absolute())


def address_for(plan: FederationPlan, program: Program, children: Mapping[str, Child]) -> str:
    """Where a federate joins, as soon as its node is ready."""
    child = children.get(program.node or SERVER)
    if child is not None:
        return str(child.status["federates"]).replace("0.0.0.0:", "127.0.0.1:")
    assert isinstance(plan.nodes, ServerPlan)  # a federate of a mesh runs where its node does
    return f"{plan.hosts[plan.nodes.host]}:{plan.nodes.port}"


def elsewhere(plan: FederationPlan, host: str) -> str:
    """The server of another machine, if that has it; else nothing."""
    if not host or not isinstance(plan.nodes, ServerPlan) or plan.nodes.host == host:
        return ""
    return f"{plan.hosts[plan.nodes.host]}:{plan.nodes.port}"


def called(node: str) -> str:
    """In the view, where a federate may have the name of a node."""
    return SERVER if node == SERVER else f"node {node}"
