"""What hosts add to a node's survey (`weft.kernel.survey.survey`, docs/reference/survey.md): the process, its sessions,
its links, its recording.

All of it is read off where it is kept anyway, when somebody asks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from weft.host.event_channel.survey import channel_facts
from weft.host.mesh.survey import fabric_facts
from weft.kernel import Surroundings
from weft.wire.codec.callback_names import standard_name

if TYPE_CHECKING:
    from weft.host.in_process.embedded import EmbeddedConnection, EmbeddedNode
    from weft.host.in_process.mesh_node import OwnConnection, OwnNode
    from weft.host.mesh.node import FabricNode
    from weft.host.recording.recording import NodeRecordings

Facts = dict[str, Any]


class HostSurroundings(Surroundings):
    """What all hosts add; `fabric` is what joins the node to others."""

    def __init__(self, fabric: FabricNode | None) -> None:
        self._fabric = fabric

    def of_node(self, sections: frozenset[str], now: float) -> Facts:
        found: Facts = {"wall": time.time()}
        if "server" in sections:
            found["server"] = {**self._server(), **process_facts()}
        fabric = self._fabric
        if fabric is not None and "fabric" in sections:
            found["fabric"] = fabric_facts(fabric.mesh)
        if fabric is not None and "consumers" in sections and fabric.channels.joined:
            found["event_channels"] = channel_facts(fabric.channels)
        if "recording" in sections:
            recordings = self._recordings()
            found["recording"] = {"on": False} if recordings is None else recordings.facts()
        return found

    def _server(self) -> Facts:
        raise NotImplementedError

    def _recordings(self) -> NodeRecordings | None:
        raise NotImplementedError


class EmbeddedSurroundings(HostSurroundings):
    """Of a node inside the process of its federates, alone or in a mesh."""

    def __init__(self, host: EmbeddedNode | OwnNode, fabric: FabricNode | None = None) -> None:
        super().__init__(fabric)
        self._of = host

    def _server(self) -> Facts:
        return {"sessions": len(self._of.connections)}

    def _recordings(self) -> NodeRecordings | None:
        return self._of.recordings

    def of_sessions(self, now: float) -> Mapping[int, Facts]:
        return {session: _embedded(one, now) for session, one in self._of.connections.items()}


def _embedded(connection: EmbeddedConnection | OwnConnection, now: float) -> Facts:
    found: Facts = {
        "calls": connection.calls,
        "callbacks": connection.callbacks,
        "waiting": connection.waiting(),
    }
    if connection.last_method:
        ago = round(max(0.0, now - connection.last_at), 3)
        found["last_callback"] = {"name": standard_name(connection.last_method), "ago": ago}
    return found


def process_facts() -> Facts:
    """Of this process: processor seconds and, where the system tells, memory."""
    found: Facts = {"cpu_seconds": round(time.process_time(), 3)}
    try:
        with open("/proc/self/statm", "rb") as file:
            found["resident_bytes"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass  # not a Linux: it is not known
    return found
