"""The port between a session of the Federate Protocol and the connection that carries it."""

from __future__ import annotations

from typing import Protocol


class Line(Protocol):
    """A connection that carries a session: the sockets' side of it."""

    @property
    def secure(self) -> bool:
        """Can nobody else read it?"""
        ...

    @property
    def local(self) -> bool:
        """Does it come from this machine?"""
        ...

    @property
    def address(self) -> str:
        """Whose it is, for what is limited by address."""
        ...

    def send(self, parts: list[bytes]) -> int:
        """Returns how many bytes now wait to be taken by the peer."""
        ...

    def queued(self) -> int:
        """How many bytes wait to be taken by the peer."""
        ...

    def acknowledge_soon(self) -> None:
        """Something was read and nothing goes back: let the network acknowledge without delay."""
        ...

    def close(self) -> None: ...
