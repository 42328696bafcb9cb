"""What a seat in a causal group knows and holds."""

from __future__ import annotations

from weft.federate.causal.party import Party
from weft.model.handles import ObjectInstanceHandle

Call = tuple[str, tuple[object, ...]]


class HeldCallback:
    """A callback that may have to wait."""

    __slots__ = ("arguments", "instance", "method", "since")

    def __init__(
        self, method: str, arguments: tuple[object, ...], instance: ObjectInstanceHandle | None
    ) -> None:
        self.method = method
        self.arguments = arguments
        self.instance = instance
        self.since = -1.0  # since when it waits; -1: it did not have to


class Work:
    """What a seat knows that a save has to keep."""

    def __init__(self, party: Party) -> None:
        self.party = party
        self.member: ObjectInstanceHandle | None = None  # our own instance
        self.members: dict[ObjectInstanceHandle, bytes] = {}  # those of the others, and whose
        # Of the MOM: whom each is about, as far as known.
        self.federates: dict[ObjectInstanceHandle, bytes] = {}
        self.departed: set[bytes] = set()  # federates that are gone, also those we hear of only later
        self.shown: set[ObjectInstanceHandle] = set()  # those of the MOM that the federate knows of
        self.holding: dict[ObjectInstanceHandle, int] = {}
        self.behind: dict[ObjectInstanceHandle, list[Call]] = {}
        self.removed: set[ObjectInstanceHandle] = set()  # with messages about them still held

    def copy(self) -> Work:
        made = Work(self.party.copy())
        made.member = self.member
        made.members, made.federates, made.shown = dict(self.members), dict(self.federates), set(self.shown)
        made.departed = set(self.departed)
        made.holding, made.removed = dict(self.holding), set(self.removed)
        made.behind = {instance: list(calls) for instance, calls in self.behind.items()}
        return made


class SeatCounts:
    def __init__(self) -> None:
        self.messages = 0
        self.stamp_bytes = 0
        self.notices = 0
        self.notice_bytes = 0
        self.dropped = 0  # about instances that were removed meanwhile
        self.longest_wait = 0.0
