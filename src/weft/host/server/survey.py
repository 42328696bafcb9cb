"""What a server adds to its node's survey: what it has done, and each session's connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from weft.host.observing.survey import HostSurroundings
from weft.host.server.socket_lines import SocketLine
from weft.model.json_types import JsonObject
from weft.wire.codec.callbacks import callback_name

if TYPE_CHECKING:
    from weft.host.mesh.node import FabricNode
    from weft.host.server.server import Server
    from weft.host.server.session import Served


class ServerSurroundings(HostSurroundings):
    def __init__(self, server: Server, fabric: FabricNode | None) -> None:
        super().__init__(server, fabric, self._counts)
        self._of = server

    def _counts(self) -> JsonObject:
        server, board = self._of, self._of.board
        return {
            "sessions": len(server.sessions),
            "messages": board.messages,
            "frames": board.frames,
            "writes": board.writes,
            "bytes_in": board.bytes_in,
            "bytes_out": board.bytes_out,
            "slow": sum(served.slow for served in server.sessions.values()),
            "address": server.address,
        }

    def of_sessions(self, now: float) -> Mapping[int, JsonObject]:
        return {
            served.kernel_session: _served(served, now)
            for served in self._of.sessions.values()
            if served.kernel_session
        }


def _served(served: Served, now: float) -> JsonObject:
    wire = served.wire
    behind = 0 if served.backlog is None else served.backlog.waiting
    found: JsonObject = {
        "calls": served.calls_made,
        "callbacks": wire.callbacks,
        "bytes_in": served.bytes_in,
        "bytes_out": served.bytes_out,
        "waiting": wire.unacknowledged + behind,
        "backlog_bytes": served.unread,
    }
    if served.slow:
        found["slow"] = True
    if served.last_callback:
        name = callback_name(served.last_callback)
        found["last_callback"] = {"name": name, "ago": round(max(0.0, now - served.callback_at), 3)}
    line = served.line
    if line is None:
        found["state"] = "lost"  # it may still resume its session
    elif isinstance(line, SocketLine):
        found["address"] = line.peer()
    return found
