"""What waits at a server for a federate for which some messages are more urgent than others.

A client in another language takes callbacks as they come, and answers each when its federate has dealt with it.  So such a
federate has only a few under way (the window), and the rest waits here, where it can be sorted.  Weft's own client sorts by
itself: it gets everything at once, as long as its connection takes it.
"""

from __future__ import annotations

from collections import deque

from weft.host.effects import drop_federation
from weft.kernel import LEAST_URGENT, Callback, LastMile, UrgentCallback


class Encoded(UrgentCallback):
    """A callback with its bytes."""

    def __init__(self, callback: Callback, payload: bytes) -> None:
        if isinstance(callback, UrgentCallback):
            super().__init__(
                callback.session,
                callback.method,
                callback.arguments,
                callback.priority,
                callback.order,
                callback.dynamic,
                callback.sub,
                callback.ticket,
                callback.number,
            )
        else:
            super().__init__(
                callback.session,
                callback.method,
                callback.arguments,
                LEAST_URGENT,
                None,
                number=callback.number,
            )
        self.payload = payload


class Backlog:
    def __init__(self) -> None:
        self.bytes = 0  # that wait
        self.waiting = 0
        self.sent: dict[int, int] = {}  # not answered: the number of the frame -> the ticket
        self._inbox: deque[Callback] = deque()
        self._mile = LastMile()

    def put(self, callback: Encoded) -> None:
        self.waiting += 1
        self.bytes += len(callback.payload)
        self._inbox.append(callback)

    def take(self) -> Encoded | None:
        found = self._mile.take(self._inbox)
        if not isinstance(found, Encoded):
            return None
        self.waiting -= 1
        self.bytes -= len(found.payload)
        return found

    def answered(self, number: int, in_order: bool) -> list[int]:
        """The tickets of what is over: this frame and, of a client that takes them in order, all before it, answered or not."""
        if number not in self.sent:
            return []
        if not in_order:
            ticket = self.sent.pop(number)
            return [ticket] if ticket else []
        found = []
        for one in list(self.sent):
            ticket = self.sent.pop(one)
            if ticket:
                found.append(ticket)
            if one == number:
                break
        return found

    def rest(self, joined: bool) -> list[Encoded]:
        """All that waits; for a federate that has resigned only what does not depend on that."""
        rest: deque[Callback] = deque()
        found = self.take()
        while found is not None:
            rest.append(found)
            found = self.take()
        if not joined:
            drop_federation(rest)
        return [one for one in rest if isinstance(one, Encoded)]
