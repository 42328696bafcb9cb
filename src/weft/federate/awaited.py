"""What a federate has asked for and has not been told yet.

By the standard such a state lasts until the callback is delivered, not until the RTI has decided (clauses 6.8, 6.25, 6.30,
8.2 to 8.12): who has not evoked its grant yet is still advancing.  The RTI cannot see that.  It knows what it has sent, and an
answer comes when the callback has been handled, in which a federate may well ask for the next.  So it is kept here, where
callbacks are delivered, and the RTI remains the judge of all else.

A thread that asks and one that delivers callbacks both change what is kept here; each change is one step.

A restore brings back what was asked for at the save.  A federate that has joined since does not know it, and the RTI judges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from weft.model.errors import (
    AttributeAlreadyBeingChanged,
    InteractionClassAlreadyBeingChanged,
    InTimeAdvancingState,
    ObjectInstanceNameNotReserved,
    RequestForTimeConstrainedPending,
    RequestForTimeRegulationPending,
    RTIexception,
    TimeConstrainedIsNotEnabled,
    TimeRegulationIsNotEnabled,
)

_GRANTS: Final = frozenset(["time_advance_grant", "flush_queue_grant"])
_RESERVATIONS: Final = frozenset(
    ["object_instance_name_reservation_succeeded", "object_instance_name_reservation_failed"]
)


class Awaited:
    def __init__(self) -> None:
        self.grant = False
        self.regulation = False
        self.constrained = False
        self.names: set[Hashable] = set()  # reservations
        # Whose transportation is being changed: instance and attribute, or interaction class.
        self.changing: set[Hashable] = set()
        self._saving: tuple[str, Awaited] | None = None  # the label, and what is awaited at that save
        self._at_saves: dict[
            str, Awaited
        ] = {}  # by label, of saves since this federate joined that ended well
        self._restoring = ""  # the label

    # --- what is refused --------------------------------------------------------------------------------------

    def refuse_advance(self) -> None:
        """Clauses 8.8 to 8.12."""
        self.refuse_while_advancing()
        if self.regulation:
            raise RequestForTimeRegulationPending("time_regulation_enabled has not been delivered yet")
        if self.constrained:
            raise RequestForTimeConstrainedPending("time_constrained_enabled has not been delivered yet")

    def refuse_while_advancing(self) -> None:
        """Clauses 8.2, 8.5, 8.20."""
        if self.grant:
            raise InTimeAdvancingState(
                "this federate has asked to advance, and the grant has not been delivered yet"
            )

    def refuse_regulation(self) -> None:
        """Clause 8.2."""
        self.refuse_while_advancing()
        if self.regulation:
            raise RequestForTimeRegulationPending("time_regulation_enabled has not been delivered yet")

    def refuse_constrained(self) -> None:
        """Clause 8.5."""
        self.refuse_while_advancing()
        if self.constrained:
            raise RequestForTimeConstrainedPending("time_constrained_enabled has not been delivered yet")

    def refuse_unregulated(self) -> None:
        """Clauses 8.4, 8.20 to 8.22."""
        if self.regulation:
            raise TimeRegulationIsNotEnabled(
                "time_regulation_enabled has not been delivered yet: this federate does not regulate"
            )

    def refuse_unconstrained(self) -> None:
        """Clause 8.7."""
        if self.constrained:
            raise TimeConstrainedIsNotEnabled(
                "time_constrained_enabled has not been delivered yet: this federate is not constrained"
            )

    def refuse_names(self, names: Iterable[object]) -> None:
        """Clauses 6.4, 6.7, 6.8, 9.5."""
        if self.names:
            for name in names:
                if isinstance(name, str) and name in self.names:
                    raise ObjectInstanceNameNotReserved(
                        f"whether {name!r} is reserved has not been told yet; wait for that callback"
                    )

    # --- what is asked and told -------------------------------------------------------------------------------

    def told(self, method: str, arguments: tuple[object, ...]) -> None:
        """A callback is about to be delivered."""
        if method in _GRANTS:
            self.grant = False
        elif method == "time_regulation_enabled":
            self.regulation = False
        elif method == "time_constrained_enabled":
            self.constrained = False
        elif method in _RESERVATIONS:
            self.names.discard(arguments[0])
        elif method.startswith("multiple_object_instance_name"):
            (names,) = arguments
            self.names.difference_update(names if isinstance(names, Iterable) else ())
        elif method == "confirm_attribute_transportation_type_change":
            self.changing.difference_update(pairs(arguments[0], arguments[1]))
        elif method == "confirm_interaction_transportation_type_change":
            self.changing.discard(arguments[0])
        elif method == "remove_object_instance":
            self.forget(arguments[0])
        elif method == "initiate_federate_save":
            at_save = Awaited()
            at_save._take(self)
            self._saving = (str(arguments[0]), at_save)
        elif method == "federation_saved":
            if self._saving is not None:
                self._at_saves[self._saving[0]] = self._saving[1]
        elif method == "initiate_federate_restore":
            self._restoring = str(arguments[0])
        elif method == "federation_restored":
            self._take(self._at_saves.get(self._restoring) or Awaited())

    def _take(self, other: Awaited) -> None:
        self.grant, self.regulation, self.constrained = other.grant, other.regulation, other.constrained
        self.names, self.changing = set(other.names), set(other.changing)

    def forget(self, object_instance: object) -> None:
        """It is gone, and nothing is to be told of it any more."""
        gone = [one for one in tuple(self.changing) if isinstance(one, tuple) and one[0] == object_instance]
        self.changing.difference_update(gone)


def pairs(object_instance: object, attributes: object) -> list[tuple[object, object]]:
    """None of what is no set of attributes, which is refused before these are looked at."""
    if not isinstance(attributes, frozenset):
        return []
    return [(object_instance, attribute) for attribute in attributes]


BEING_CHANGED: Final[tuple[type[RTIexception], str]] = (
    AttributeAlreadyBeingChanged,
    "its transportation type is being changed, and that has not been confirmed yet",
)
CLASS_BEING_CHANGED: Final[tuple[type[RTIexception], str]] = (
    InteractionClassAlreadyBeingChanged,
    "its transportation type is being changed, and that has not been confirmed yet",
)
