"""The ports between a federate and its node, and between a session of the Federate Protocol and the connection that carries it.

An ambassador makes calls and takes callbacks through a `Connection` and never asks what is behind it: the node in the
same process (`in_process.embedded`) or a simulated network (`simulated.simulated`).
"""

from __future__ import annotations

from typing import Protocol

from weft.kernel import Callback, UrgentCallback


class Connection(Protocol):
    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        """Make a call and wait for its end; raises the HLA exception if it is refused."""

    def take(self) -> Callback | None:
        """The next callback, if one is there."""

    def finished(self, callback: UrgentCallback) -> None:
        """The federate has dealt with a callback that has a ticket."""

    def pending(self) -> bool:
        """Is a callback there?"""

    def now(self) -> float:
        """The clock by which this connection waits, in seconds."""

    def wait(self, seconds: float | None) -> bool:
        """Wait until a callback is there, at most so long (None: for as long as the connection likes to)."""

    def forget_federation(self) -> None:
        """The federate has resigned: callbacks of the federation that still wait are not its business any more."""

    def close(self) -> None:
        """End the session of a federate that has resigned; whoever waits is woken."""

    def leave(self) -> None:
        """End the session of a federate that is still joined: it resigns by its directive, at once."""

    def lose(self) -> None:
        """Break off without resigning, as a crash would."""


class NodeHost(Protocol):
    """Something that can be connected to."""

    def connect(self) -> Connection: ...


class Line(Protocol):
    """A connection that carries a session: the sockets' side of it."""

    @property
    def secure(self) -> bool:
        """Can nobody else read it?"""

    @property
    def local(self) -> bool:
        """Does it come from this machine?"""

    @property
    def address(self) -> str:
        """Whose it is, for what is limited by address."""

    def send(self, parts: list[bytes]) -> int:
        """Returns how many bytes now wait to be taken by the peer."""

    def queued(self) -> int:
        """How many bytes wait to be taken by the peer."""

    def acknowledge_soon(self) -> None:
        """Something was read and nothing goes back: let the network acknowledge without delay."""

    def close(self) -> None: ...
