"""Services that may be called as of a logical time (docs/explanation/ddm-sync.md): a time that the standard does not have.

It is the last of the arguments.  Those that may be left out before it are given here, since they may not where a time follows.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class TimedService(NamedTuple):
    leading: int  # how many arguments come first, always
    between: tuple[object, ...] = ()  # what those are by default that follow

    @property
    def place(self) -> int:
        """Which of the arguments is the time."""
        return self.leading + len(self.between)

    def completed(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """All arguments before the time."""
        return *arguments, *self.between[len(arguments) - self.leading :]

    def shortened(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Without those at the end that are what they are by default."""
        end = len(arguments)
        while end > self.leading and arguments[end - 1] == self.between[end - 1 - self.leading]:
            end -= 1
        return arguments[:end]


INTEREST: Final = {
    "commit_region_modifications": TimedService(1),
    "subscribe_object_class_attributes_with_regions": TimedService(2, ("",)),
    "subscribe_object_class_attributes_passively_with_regions": TimedService(2, ("",)),
    "unsubscribe_object_class_attributes_with_regions": TimedService(2),
    "subscribe_interaction_class_with_regions": TimedService(2),
    "subscribe_interaction_class_passively_with_regions": TimedService(2),
    "unsubscribe_interaction_class_with_regions": TimedService(2),
    "subscribe_object_class_attributes": TimedService(2, ("", True)),
    "unsubscribe_object_class": TimedService(1),
    "unsubscribe_object_class_attributes": TimedService(2),
    "subscribe_interaction_class": TimedService(1, (True,)),
    "unsubscribe_interaction_class": TimedService(1),
}
"""By which a federate says what it wants to receive."""

PUBLICATION: Final = {
    "publish_object_class_attributes": TimedService(2),
    "unpublish_object_class": TimedService(1),
    "unpublish_object_class_attributes": TimedService(2),
    "publish_interaction_class": TimedService(1),
    "unpublish_interaction_class": TimedService(1),
}
"""By which it says what it will send."""

TIMED_SERVICES: Final[dict[str, TimedService]] = {**INTEREST, **PUBLICATION}
