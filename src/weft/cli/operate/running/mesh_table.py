"""The table [mesh] of a federation file: a domains file, or the nodes here."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path

from weft.cli.operate.running.plan import MeshPlan, NodeOptions
from weft.cli.operate.running.tables import FileFindings, FileTable, hint
from weft.fabric import Domains, Topology, examine_domains
from weft.host.mesh.node import read_domains
from weft.model.errors import SettingsError
from weft.model.records import Source

_HERE = "127.0.0.1:0"
_WAYS = ("domains_file", "nodes", "servers")
NONE = Domains(Topology((), {}), {})


def mesh_plan(
    findings: FileFindings, table: FileTable, folder: Path, options: NodeOptions, hosts: Mapping[str, str]
) -> MeshPlan:
    path = ("mesh",)
    given = [one for one in _WAYS if one in table]
    domains, text, file = NONE, "", ""
    if len(given) != 1:
        said = f", not {' and '.join(given)}" if given else ""
        findings.error(
            path,
            'nodes of [mesh] are said in one way: domains_file = "FILE", or servers = { NAME = "HOST:PORT" }, or '
            f'nodes = ["NAME", …] for any free ports of this machine{said}',
        )
    elif given[0] == "domains_file":
        if "domains" in table:
            findings.error((*path, "domains"), "domains are in the domains file already")
        file = str(folder / table.text("domains_file"))
        try:
            domains, _ = read_domains(file)
        except SettingsError as error:
            findings.error((*path, "domains_file"), str(error))
    else:
        servers = table.table("servers") or dict.fromkeys(table.texts("nodes"), _HERE)
        domains, text = _domains_here(findings, servers, table.lists("domains"))
    places = table.table("hosts")
    for node, host in places.items():
        if domains is not NONE and node not in domains.addresses:
            findings.error((*path, "hosts", node), f"there is no node {node}{hint(node, domains.addresses)}")
        if host not in hosts:
            findings.error((*path, "hosts", node), f"there is no host {host} in [hosts]{hint(host, hosts)}")
    if hosts and domains is not NONE and (lost := [one for one in domains.addresses if one not in places]):
        findings.error(path, f"hosts of [mesh] must say where {', '.join(lost)} run, as there are [hosts]")
    return MeshPlan(
        domains, options, file, text, places, table.number("first_port", 0),
        str(folder / table.text("journal")) if "journal" in table else "", bool(table.flag("restart")),
    )  # fmt: skip


def domains_text(servers: Mapping[str, str], groups: Mapping[str, tuple[str, ...]]) -> str:
    lines = ["[servers]", *(f"{json.dumps(name)} = {json.dumps(one)}" for name, one in servers.items())]
    lines += ["", "[domains]"]
    lines += [f"{json.dumps(name)} = {json.dumps(members)}" for name, members in groups.items()]
    return "\n".join(lines) + "\n"


def _domains_here(
    findings: FileFindings, servers: dict[str, str], groups: dict[str, tuple[str, ...]]
) -> tuple[Domains, str]:
    """Ports that are to be free are chosen now."""
    if not groups:
        groups = {"all": tuple(servers)}
    ports = iter(free_ports(len(servers)))
    chosen = {
        name: f"127.0.0.1:{next(ports)}" if address == _HERE else address for name, address in servers.items()
    }
    text = domains_text(chosen, groups)
    found = examine_domains(Source("[mesh]", text.encode()))
    for error in found.errors:
        findings.error(("mesh", "domains"), error.message)
    return found.domains or NONE, text


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses just now."""
    found = [socket.socket() for _ in range(count)]
    try:
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]
    finally:
        for one in found:
            one.close()
