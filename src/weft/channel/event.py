"""Events: what suppliers push and consumers are pushed (S3-1).

An event has a type and a source, both numbers.  0 means "any" and stands in subscriptions and publications only; the numbers
below FIRST_TYPE are designators of the channel itself, so an event that somebody pushes has a type from FIRST_TYPE up and a
source from 1 up.

`origin`, `boot`, `number` and `via` belong to gateways (see `gateway`): the channel that an event entered first, which process of
that channel it was, which of its events it is, and the channel that handed it on last.  On the channel where an event was pushed
they are empty.  `best_effort` says that it may be lost on the way, as its supplier has said.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

ANY: Final = 0
INTERVAL_TIMEOUT: Final = 5
DEADLINE_TIMEOUT: Final = 6
FIRST_TYPE: Final = 16

HOPS: Final = 16  # how many channels an event may cross unless its supplier says otherwise


class Timeout(NamedTuple):
    """The payload of a timeout: when it was due, its seconds, and how many periods were missed because nobody looked."""

    due: float
    seconds: float
    missed: int


class Event:
    """Taken as constant once it was pushed: all consumers get the same one."""

    __slots__ = (
        "best_effort",
        "boot",
        "created",
        "number",
        "origin",
        "payload",
        "source",
        "ttl",
        "type",
        "via",
    )

    def __init__(
        self,
        type: int,
        source: int,
        payload: Any = None,
        created: float = 0.0,
        ttl: int = HOPS,
        origin: str = "",
        boot: int = 0,
        number: int = 0,
        via: str = "",
        best_effort: bool = False,
    ) -> None:
        self.type = type
        self.source = source
        self.payload = payload
        self.created = created
        self.ttl = ttl
        self.origin = origin
        self.boot = boot
        self.number = number
        self.via = via
        self.best_effort = best_effort

    def __repr__(self) -> str:
        came = f", from {self.origin} {self.boot}/{self.number} via {self.via}" if self.origin else ""
        return f"Event(type {self.type}, source {self.source}, {self.payload!r}, created {self.created:g}, ttl {self.ttl}{came})"

    def __reduce__(self) -> tuple[type[Event], tuple[object, ...]]:
        """So that an event can go to another process."""
        fields = (self.type, self.source, self.payload, self.created, self.ttl)
        return Event, (*fields, self.origin, self.boot, self.number, self.via, self.best_effort)


Events = tuple[Event, ...]


def stamped(event: Event, origin: str, boot: int, number: int, best_effort: bool) -> Event:
    """The same event, with its place among the events of the channel it enters."""
    return Event(
        event.type,
        event.source,
        event.payload,
        event.created,
        event.ttl,
        origin,
        boot,
        number,
        origin,
        best_effort,
    )


def forwarded(event: Event, via: str) -> Event:
    """The same event, one hop on."""
    return Event(
        event.type,
        event.source,
        event.payload,
        event.created,
        event.ttl - 1,
        event.origin,
        event.boot,
        event.number,
        via,
        event.best_effort,
    )
