"""Declarations that begin or end as of a logical time, of one federate.

`Declared` has what was declared last, which is what counts for everything without a time.  Here is what counts as of a time:
for each subscription or publication (class, attribute, region; or interaction class, region) whether it is there, and how, at
every time.  What is not here is the same at all times, as `Declared` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from weft.interest.spacetime import Bound, SpaceTime
from weft.model.handles import RegionHandle
from weft.model.time import TimeValue

Kind = TypeVar("Kind")
What = TypeVar("What")
How = TypeVar("How")

Key = tuple[What, RegionHandle | None]
"""What of the class, and with which region; None: without."""


class TimedDeclarations(Generic[Kind, What, How]):
    """By class (`Kind`).  `What` is an attribute, or None of an interaction class.  `How` it is declared; None: it is not."""

    def __init__(self) -> None:
        self.of: dict[Kind, dict[Key[What], SpaceTime[How | None]]] = {}

    def write(self, kind: Kind, key: Key[What], time: TimeValue, before: How | None, how: How | None) -> None:
        """As of that time; `before`: how it has been at all times, if nothing is known of it here."""
        held = self.of.setdefault(kind, {})
        history = held.get(key)
        if history is None:
            history = held[key] = SpaceTime(before)
        history.write(time, how)

    def forget(self, kind: Kind, keys: Iterable[Key[What]]) -> None:
        """It was declared without a time: from now on it is the same at all times."""
        held = self.of.get(kind)
        if held is not None:
            for key in keys:
                held.pop(key, None)
            if not held:
                del self.of[kind]

    def of_class(self, kind: Kind) -> list[What]:
        """What is here of the class, without regions."""
        return [what for what, region in self.of.get(kind, ()) if region is None]

    def at(self, kind: Kind, time: TimeValue) -> dict[Key[What], How | None]:
        """Of all that is here for the class."""
        held = self.of.get(kind)
        return {} if held is None else {key: history.read(time) for key, history in held.items()}

    def ever(self, kind: Kind) -> dict[Key[What], How]:
        """What is declared at any time that may still matter."""
        found: dict[Key[What], How] = {}
        for key, history in self.of.get(kind, {}).items():
            for how in (history.first, *history.values):
                if how is not None:
                    found[key] = how
        return found

    def uses(self, region: RegionHandle) -> bool:
        return any(key[1] == region for kind in self.of for key in self.ever(kind))

    def reclaim(self, bound: Bound, now: Callable[[Kind, Key[What]], How | None]) -> bool:
        """Nothing is asked of times below the bound any more: is anything less known?

        `now`: how it was declared last, which may be something else.
        """
        less = False
        for kind, held in list(self.of.items()):
            for key, history in list(held.items()):
                before = len(history.times)
                history.reclaim(bound)
                less = less or len(history.times) < before
                if not history.times and history.first == now(kind, key):
                    del held[key]
            if not held:
                del self.of[kind]
        return less
