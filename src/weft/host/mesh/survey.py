"""What a node of the fabric says of it: domains, its links, who cannot be reached, and what the mesh counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.model.json_types import JsonObject

if TYPE_CHECKING:
    from weft.host.links.link import Link
    from weft.host.mesh.mesh import Mesh

_ELSEWHERE = ("node", "links", "neighbours")


def fabric_facts(mesh: Mesh) -> JsonObject:
    topology = mesh.topology
    counted = {key: value for key, value in mesh.status().items() if key not in _ELSEWHERE}
    return {
        "domains": {name: list(servers) for name, servers in topology.domains.items()},
        "routers": list(topology.routers()),
        "links": {link.name: _link(mesh, link) for link in mesh.links.links.values()},
        "unreachable": mesh.unreachable(),
        **counted,
    }


def _link(mesh: Mesh, link: Link) -> JsonObject:
    return {
        "up": link.up,
        "why": "" if link.up else link.why or link.complaint or "not reached yet",
        "since": link.since,
        "sent": link.sent,
        "received": link.received,
        "bytes_out": link.bytes_out,
        "bytes_in": link.bytes_in,
        "backlog": mesh.channels.backlog(link.peer),
        "held": mesh.channels.held(link.peer),
        "packets": link.packets,
        "stamp_bytes": link.stamp_bytes,
    }
