"""How much may wait for one neighbour on the causal channels: on the disk, or, without a journal, in memory.

Agents' messages are refused beyond the limit, each at the node where it is sent.  Commands of federations cannot be, since a
node that lacks one is in disorder: a neighbour that is there and leaves so much is lost, and one that is away is lost soon;
after that hardly anything is sent to it.  What a router has accepted it passes on in any case.
"""

from __future__ import annotations

from typing import Final

from weft.host.carrier import Port
from weft.host.mesh.causal_channels import CausalChannels
from weft.host.settings import FabricSettings
from weft.model.errors import FabricError

_AGENTS: Final = Port.AGENTS
_FEDERATIONS: Final = Port.FEDERATIONS


class Room:
    def __init__(
        self, channels: CausalChannels, names: tuple[str, ...], settings: FabricSettings, durable: bool
    ) -> None:
        self._channels = channels
        self._names = names
        self._setting = "fabric.backlog_bytes" if durable else "fabric.queue_bytes"
        self._most = settings.backlog_bytes if durable else settings.queue_bytes
        self._allowed: dict[int, int] = {}  # of commands, for a neighbour that is there

    def check(self, nodes: list[int]) -> None:
        """For a message of an agent to these."""
        channel = self._channels.made.get(_AGENTS)
        if channel is None:
            return
        for node in nodes:
            peer = channel.next_server[node]
            if peer >= 0 and channel.backlog_bytes(peer) > self._most:
                name = self._names[peer]
                way = "" if peer == node else f", the way to {self._names[node]}"
                raise FabricError(
                    f"{channel.backlog(peer)} messages of agents ({channel.backlog_bytes(peer)} bytes) wait for {name}{way},"
                    f" more than {self._setting} ({self._most}): start {name}, or allow for more"
                )

    def link_up(self, peer: int) -> None:
        """It may take its time for what has gathered while it was away."""
        self._allowed[peer] = self._channels.backlog_bytes(_FEDERATIONS, peer) + self._most

    def overdue(self, peer: int) -> str:
        """Has a neighbour that is there left too many commands?  Says so, or is empty."""
        channel = self._channels.made.get(_FEDERATIONS)
        waits = 0 if channel is None else channel.backlog_bytes(peer)
        if waits <= self._allowed.get(peer, waits):
            return ""
        return f"it has left {waits} bytes of causal packets ({self._setting})"
