"""Subscriptions with regions that begin or end as of a logical time, of one federate.

`Declared` has what was declared last, which is what counts for everything without a time.  Here is what counts as of a time:
for each subscription (class, attribute, region; or interaction class, region) whether it is there, and how, at every time.
What is not here is the same at all times, as `Declared` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from weft.interest.spacetime import Bound, SpaceTime
from weft.model.handles import RegionHandle

Key = tuple[Any, RegionHandle]
"""What of the class, and with which region."""

How = TypeVar("How")


class TimedDeclarations(Generic[How]):
    """By class; `How` says how it is subscribed, and None that it is not."""

    def __init__(self) -> None:
        self.of: dict[Any, dict[Key, SpaceTime[How | None]]] = {}

    def write(self, kind: Any, key: Key, time: Any, before: How | None, how: How | None) -> None:
        """As of that time; `before`: how it has been at all times, if nothing is known of it here."""
        held = self.of.setdefault(kind, {})
        history = held.get(key)
        if history is None:
            history = held[key] = SpaceTime(before)
        history.write(time, how)

    def forget(self, kind: Any, keys: Iterable[Key]) -> None:
        """It was declared without a time: from now on it is the same at all times."""
        held = self.of.get(kind)
        if held is not None:
            for key in keys:
                held.pop(key, None)
            if not held:
                del self.of[kind]

    def at(self, kind: Any, time: Any) -> dict[Key, How | None]:
        """Of all that is here for the class."""
        held = self.of.get(kind)
        return {} if held is None else {key: history.read(time) for key, history in held.items()}

    def ever(self, kind: Any) -> dict[Key, How]:
        """What is subscribed at any time that may still matter."""
        found: dict[Key, How] = {}
        for key, history in self.of.get(kind, {}).items():
            for how in (history.first, *history.values):
                if how is not None:
                    found[key] = how
        return found

    def uses(self, region: RegionHandle) -> bool:
        return any(key[1] == region for kind in self.of for key in self.ever(kind))

    def reclaim(self, bound: Bound, now: Callable[[Any, Key], How | None]) -> None:
        """Nothing is asked of times below the bound any more.  `now`: how it was declared last, which may be something else."""
        for kind, held in list(self.of.items()):
            for key, history in list(held.items()):
                history.reclaim(bound)
                if not history.times and history.first == now(kind, key):
                    del held[key]
            if not held:
                del self.of[kind]
