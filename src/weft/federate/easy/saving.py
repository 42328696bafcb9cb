"""A `Federate` in saves and restores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from weft.federate.easy.base import FederatePart
from weft.federate.things import LocalObject
from weft.model.time import AnyTime

Handler = TypeVar("Handler", bound=Callable[..., object])


class SavingPart(FederatePart):
    """Save and restore."""

    def save(self, label: str, seconds: float | None = None, *, time: AnyTime | None = None) -> bool:
        """Save the federation under this label, and wait until that is over, a minute at most; says whether it is saved.

        With a logical `time` it is saved when all federates have come there, this one too; so that is not waited for unless
        `seconds` says so.  `on_save` hears of it.
        """
        if seconds is None:
            seconds = 60.0 if time is None else 0.0
        stamp = None if time is None else self._clock.stamp(time)
        return self._pauses.wait(lambda name: self.rti.request_federation_save(name, stamp), label, seconds)

    def restore(self, label: str, seconds: float = 60.0) -> bool:
        """Bring the federation back to that save, and wait until that is over; says whether it is restored."""
        return self._pauses.wait(self.rti.request_federation_restore, label, seconds)

    @property
    def paused(self) -> bool:
        """Is the federation being saved or restored?  Then sending and the like raise SaveInProgress or RestoreInProgress."""
        return self._below._paused is not None

    def on_save(self, handler: Handler) -> Handler:
        """Call the function with the label whenever the federation is saved, to save this federate's own state."""
        self._pauses.savers.append(handler)
        return handler

    def on_restore(self, handler: Handler) -> Handler:
        """Call the function with the label whenever the federation is restored, to take that state back."""
        self._pauses.restorers.append(handler)
        return handler

    def recall(self, instance_name: str) -> LocalObject:
        """An object of one's own by its name: after a restore, that of the save."""
        return self._pauses.recall(instance_name)
