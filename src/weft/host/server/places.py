"""How much of a server peers may take who are not federates, each address for itself.

A connection says who it is within moments: it greets, a federate connects, it joins.  Until then it is worth little to
anybody, and anybody can make thousands of them.  So each address has two small numbers of places of its own (`limits.half_open`,
`limits.unjoined`), and cannot take those of others:

    half open   connections that have not greeted, and sessions in which nobody has connected
    unjoined    sessions in which no federate has joined; of those that have lost their connection the oldest gives way
"""

from __future__ import annotations

from collections.abc import Callable

from weft.host.server.session import Served
from weft.wire.session.state import State


class Places:
    def __init__(self, half_open: int, unjoined: int, has_joined: Callable[[Served], bool]) -> None:
        self._half_open = half_open
        self._unjoined = unjoined
        self._has_joined = has_joined
        self._greeting: dict[str, int] = {}  # connections that have not greeted yet
        self._sessions: dict[str, dict[int, Served]] = {}  # by address and number, the oldest first

    def opened(self, address: str) -> bool:
        """A connection of this address: may it stay?  Whatever the answer, it counts until `greeted`."""
        count = self._greeting[address] = self._greeting.get(address, 0) + 1
        sessions = self._sessions.get(address, {})
        if count + len(sessions) <= self._half_open:
            return True
        return count + sum(not one.admitted for one in sessions.values()) <= self._half_open

    def greeted(self, address: str) -> None:
        """It has greeted, or is closed."""
        left = self._greeting.get(address, 0) - 1
        if left > 0:
            self._greeting[address] = left
        else:
            self._greeting.pop(address, None)

    def may_begin(self, address: str) -> tuple[bool, Served | None]:
        """May it have another session; and which has to give way for that?"""
        sessions = self._sessions.get(address)
        if sessions is None or len(sessions) < self._unjoined:
            return True, None
        for number, served in list(sessions.items()):
            if self._has_joined(served) or served.wire.state is State.TERMINATED:
                del sessions[number]
        if len(sessions) < self._unjoined:
            return True, None
        for served in sessions.values():
            if served.line is None:
                return True, served
        return False, None

    def began(self, served: Served) -> None:
        self._sessions.setdefault(served.address, {})[served.number] = served

    def ended(self, served: Served) -> None:
        sessions = self._sessions.get(served.address)
        if sessions is not None:
            sessions.pop(served.number, None)
            if not sessions:
                del self._sessions[served.address]
