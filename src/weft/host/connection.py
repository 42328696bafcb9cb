"""The port between a federate and its node.

An ambassador makes calls and takes callbacks through a `Connection` and never asks what is behind it: the node in the
same process (`weft.host.embedded`) or a simulated network (`weft.host.simulated`).
"""

from __future__ import annotations

from typing import Any, Protocol

from weft.kernel import Callback


class Connection(Protocol):
    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        """Make a call and wait for its end; raises the HLA exception if it is refused."""
        ...

    def take(self) -> Callback | None:
        """The next callback, if one is there."""
        ...

    def pending(self) -> bool:
        """Is a callback there?"""
        ...

    def now(self) -> float:
        """The clock by which this connection waits, in seconds."""
        ...

    def wait(self, seconds: float | None) -> bool:
        """Wait until a callback is there, at most so long (None: until there is one or the connection closes)."""
        ...

    def close(self) -> None:
        """End the session of a federate that has resigned; whoever waits is woken."""
        ...

    def lose(self) -> None:
        """Break off without resigning, as a crash would."""
        ...


class NodeHost(Protocol):
    """Something that can be connected to."""

    def connect(self) -> Connection: ...
