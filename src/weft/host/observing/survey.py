"""What hosts add to a node's survey (`weft.kernel.survey.survey`, docs/reference/survey.md): the process, its sessions,
its links, its event channels, its recording.

All of it is read off where it is kept anyway, when somebody asks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from weft.host.effects import Inbox
from weft.kernel import Surroundings
from weft.model.json_types import JsonObject
from weft.wire.codec.callbacks import standard_name

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushSupplier
    from weft.host.event_channel.links import Joined
    from weft.host.in_process.embedded import EmbeddedNode
    from weft.host.in_process.mesh_node import OwnNode
    from weft.host.links.link import Link
    from weft.host.mesh.mesh import Mesh
    from weft.host.mesh.node import FabricNode
    from weft.host.recording.recording import NodeRecordings

_NOT_OF_FABRIC = ("node", "links", "neighbours")  # what a mesh counts, and is told elsewhere


class Recorded(Protocol):
    """A host: it may record."""

    recordings: NodeRecordings | None


class HostSurroundings(Surroundings):
    """What all hosts add; `fabric` is what joins the node to others, `server` says what the host does."""

    def __init__(self, host: Recorded, fabric: FabricNode | None, server: Callable[[], JsonObject]) -> None:
        self._host = host
        self._fabric = fabric
        self._server = server

    def of_node(self, sections: frozenset[str], now: float) -> JsonObject:
        found: JsonObject = {"wall": time.time()}
        if "server" in sections:
            found["server"] = {**self._server(), **process_facts()}
        fabric = self._fabric
        if fabric is not None and "fabric" in sections:
            found["fabric"] = fabric_facts(fabric.mesh)
        if fabric is not None and "consumers" in sections and fabric.channels.joined:
            joined = fabric.channels.joined
            found["event_channels"] = {name: _joined(one) for name, one in joined.items()}
        if "recording" in sections:
            recordings = self._host.recordings
            found["recording"] = {"on": False} if recordings is None else recordings.facts()
        return found


class EmbeddedSurroundings(HostSurroundings):
    """Of a node inside the process of its federates, alone or in a mesh."""

    def __init__(self, host: EmbeddedNode | OwnNode, fabric: FabricNode | None = None) -> None:
        super().__init__(host, fabric, lambda: {"sessions": len(host.inboxes)})
        self._of = host

    def of_sessions(self, now: float) -> Mapping[int, JsonObject]:
        return {session: _embedded(one, now) for session, one in self._of.inboxes.items()}


def _embedded(inbox: Inbox, now: float) -> JsonObject:
    found: JsonObject = {
        "calls": inbox.calls,
        "callbacks": inbox.callbacks,
        "waiting": inbox.waiting(),
    }
    if inbox.last_method:
        ago = round(max(0.0, now - inbox.last_at), 3)
        found["last_callback"] = {"name": standard_name(inbox.last_method), "ago": ago}
    return found


def process_facts() -> JsonObject:
    """Of this process: processor seconds and, where the system tells, memory."""
    found: JsonObject = {"cpu_seconds": round(time.process_time(), 3)}
    try:
        with open("/proc/self/statm", "rb") as file:
            found["resident_bytes"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass  # not a Linux: it is not known
    return found


def fabric_facts(mesh: Mesh) -> JsonObject:
    """Domains, links, who cannot be reached, and what the mesh counts."""
    topology = mesh.topology
    counted = {key: value for key, value in mesh.status().items() if key not in _NOT_OF_FABRIC}
    datagrams, group_bytes = mesh.sent_to_groups()
    return {
        "domains": {name: list(servers) for name, servers in topology.domains.items()},
        "routers": list(topology.routers()),
        "links": {link.name: _link(mesh, link) for link in mesh.links.links.values()},
        "unreachable": mesh.unreachable(),
        "group_datagrams": datagrams,
        "group_bytes": group_bytes,
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


def _joined(joined: Joined) -> JsonObject:
    """An event channel that is joined to others (docs/explanation/channel.md), and its consumers."""
    found: dict[str, JsonObject] = {}
    for consumer in joined.channel.consumers():
        if not consumer.is_gateway:
            name = consumer.name
            found[name if name not in found else f"{name} ({consumer.number})"] = _consumer(consumer)
    return {
        "linked": list(joined.linked()),
        "relays": joined.is_relay,
        "queue": joined.channel.pending(),
        "discarded": sum(side.discarded for side in joined.sides.values()),
        "consumers": found,
    }


def _consumer(consumer: ProxyPushSupplier) -> JsonObject:
    return {
        "suspended": consumer.suspended,
        "handed": consumer.pushes,
        "missed": consumer.misses,
        "overran": consumer.overruns,
        "failed": consumer.failures,
        "discarded": consumer.discards,
    }
