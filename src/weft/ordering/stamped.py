"""Time stamp order: what waits for a federate until its logical time may reach it.

Messages leave in the order of their time stamps.  Those of the same time leave in an order that is the same in every run: by
the name of the federate that sent them, then in the order in which it sent them.  (Not by handle: handles follow the order of
joining, which may differ from run to run.)
"""

from __future__ import annotations

import heapq
from typing import Any

from weft.model.time import TimeValue
from weft.ordering.galt import Bound

Key = tuple[TimeValue, str, int, int]
"""Time stamp, name of the sender, number of the message at its sender, number of the part."""


class Stamped:
    """A message, or one part of it, for one federate."""

    def __init__(self, key: Key, content: Any, retraction: bytes) -> None:
        self.key = key
        self.content = content
        self.retraction = retraction
        self.retracted = False
        # It waits only as long as that holds (`weft.kernel.message.deliver_as_of`).
        self.condition: Any = None


class StampQueue:
    def __init__(self) -> None:
        self._heap: list[tuple[Key, int, Stamped]] = []
        self._added = 0
        self._parts: dict[bytes, list[Stamped]] = {}  # by retraction handle

    def __len__(self) -> int:
        return sum([len(parts) for parts in self._parts.values()])

    def add(self, message: Stamped) -> None:
        self._added += 1  # a tie is not possible, but must not compare messages
        heapq.heappush(self._heap, (message.key, self._added, message))
        self._parts.setdefault(message.retraction, []).append(message)

    def head(self) -> TimeValue | None:
        """The smallest time stamp; None if nothing waits."""
        heap = self._heap
        while heap and heap[0][2].retracted:
            heapq.heappop(heap)
        return heap[0][0][0] if heap else None

    def first(self) -> Stamped | None:
        """What `head` is the time of."""
        return None if self.head() is None else self._heap[0][2]

    def drop(self, message: Stamped) -> None:
        """Without delivering it."""
        message.retracted = True
        self._forget(message)

    def take(self, limit: Bound) -> list[Stamped]:
        """All with a time stamp that the bound excludes: up to its time, and that time itself if it says so."""
        taken: list[Stamped] = []
        head = self.head()
        while head is not None and (head, 0) < limit:
            _, _, message = heapq.heappop(self._heap)
            self._forget(message)
            taken.append(message)
            head = self.head()
        return taken

    def take_all(self) -> list[Stamped]:
        taken = []
        while self.head() is not None:
            _, _, message = heapq.heappop(self._heap)
            self._forget(message)
            taken.append(message)
        return taken

    def _forget(self, message: Stamped) -> None:
        parts = self._parts[message.retraction]
        parts.remove(message)
        if not parts:
            del self._parts[message.retraction]

    def retract(self, retraction: bytes) -> bool:
        """Take a message back; False if it does not wait here."""
        parts = self._parts.pop(retraction, None)
        if parts is None:
            return False
        for message in parts:
            message.retracted = True
        return True

    def parts(self, retraction: bytes) -> list[Stamped]:
        """What waits of a message."""
        return list(self._parts.get(retraction, ()))

    def conditional(self) -> list[Stamped]:
        """What waits on a condition, in no order."""
        return [one for parts in self._parts.values() for one in parts if one.condition is not None]

    def messages(self) -> list[Stamped]:
        """All, in their order."""
        return [message for _, _, message in sorted(self._heap) if not message.retracted]
