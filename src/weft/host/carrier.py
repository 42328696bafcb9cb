"""The port between what lives on a node (federations, agents, event channels) and the fabric that joins it to the others.

A `Carrier` takes messages for other nodes, whatever the topology, and hands over what comes for this one.  There are two: the
mesh of a real process (`mesh.mesh`), with links and a journal, and that of the simulated network.

Classes of service (see docs/design.md):

    CAUSAL        in causal order, everywhere and exactly once, also over crashes; what was decided with it is kept in the same
                  transaction (`keep`)
    RELIABLE      in the order in which it was sent to that node, once; lost only with the node or the way to it
    BEST_EFFORT   may be lost; datagrams where they fit

Messages to oneself are not for the carrier.

What comes is handed to the `Resident` of its port, in the thread or loop of the carrier, one message at a time.  All that a
resident sends and keeps while it handles one message is committed together with the fact that it was handled: after a crash it is
either handed over again, or everything it led to has happened.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

STOPPED = "it was stopped"
"""How the reason of a loss ends if the node has said so itself."""


class ServiceClass(IntEnum):
    CAUSAL = 1
    RELIABLE = 2
    BEST_EFFORT = 3


class Port(IntEnum):
    FEDERATIONS = 1
    AGENTS = 2
    EVENTS = 3  # of event channels; never by the causal class
    CHANGE = 4  # how far servers are that change over to other domains; never by the causal class


class Resident(Protocol):
    """What lives on a node."""

    def received(self, sender: str, payload: bytes, now: float) -> None:
        """A message for this port, from that node."""

    def lost(self, node: str, why: str, now: float) -> None:
        """That node has gone, or there is no way to it; said once, until it is found again."""

    def found(self, node: str, restarted: bool, now: float) -> None:
        """That node can be reached (again); `restarted`: its process is another than the one last heard of."""


class Carrier(Protocol):
    @property
    def name(self) -> str:
        """The node that this is the carrier of."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes of the topology, this one too, in the order of the domains file."""

    def settle(self, port: Port, resident: Resident) -> None:
        """From now on it gets what comes for that port."""

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        """To another node.  A causal message to a node that is away waits for it; others to such a node are lost: False."""

    def cast(self, nodes: tuple[str, ...], groups: tuple[str, ...], port: Port, payload: bytes) -> None:
        """At best effort to these nodes, which listen to one of these multicast groups each; one by one if that cannot be."""

    def listen(self, groups: frozenset[str]) -> None:
        """To these multicast groups, and to no others."""

    def keep(self, key: str, value: bytes | None) -> None:
        """Write down a value that survives a crash (None: forget it), with the next commit."""

    def kept(self, prefix: str) -> dict[str, bytes]:
        """What an earlier process of this node kept under keys that begin so, in the order of the keys."""
