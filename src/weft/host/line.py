"""The port between a session of the Federate Protocol and the connection that carries it."""

from __future__ import annotations


class Line:
    """A connection that carries a session: the sockets' side of it."""

    secure = False

    def send(self, parts: list[bytes]) -> int:
        """Returns how many bytes now wait to be taken by the peer."""
        raise NotImplementedError

    def queued(self) -> int:
        """How many bytes wait to be taken by the peer."""
        raise NotImplementedError

    def acknowledge_soon(self) -> None:
        """Something was read and nothing goes back: let the network acknowledge without delay."""

    def close(self) -> None:
        raise NotImplementedError
