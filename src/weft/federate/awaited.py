"""What a federate has asked for and has not been told yet.

By the standard such a state lasts until the callback is delivered, not until the RTI has decided (clauses 6.8, 6.25, 6.30,
7.2 to 7.19, 8.2 to 8.12): who has not evoked its grant yet is still advancing, and who has not been told that it owns an
attribute is still acquiring it.  The RTI cannot see that.  It knows what it has sent, and an answer comes when the callback has
been handled, in which a federate may well ask for the next.  So it is kept here, where callbacks are delivered, and the RTI
remains the judge of all else.

A thread that asks and one that delivers callbacks both change what is kept here; each change is one step.

Ownership.  An attribute that is wanted here is not owned here, whatever the RTI has decided.  Where the RTI has decided and the
federate, not knowing it, asks again or cancels, that ends well: the callback that is on its way says what came of it.  Where it
cannot be known from here which request a callback answers, the state ends early and the RTI judges.

A restore brings back what was asked for at the save.  A federate that has joined since does not know it, and the RTI judges.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from weft.model.errors import (
    AttributeAlreadyBeingAcquired,
    AttributeAlreadyBeingChanged,
    AttributeNotOwned,
    InteractionClassAlreadyBeingChanged,
    InTimeAdvancingState,
    NoAcquisitionPending,
    ObjectInstanceNameNotReserved,
    OwnershipAcquisitionPending,
    RequestForTimeConstrainedPending,
    RequestForTimeRegulationPending,
    RTIexception,
    TimeConstrainedIsNotEnabled,
    TimeRegulationIsNotEnabled,
)

GRANT: Final = "time_advance_grant"
REGULATION: Final = "time_regulation_enabled"
CONSTRAINED: Final = "time_constrained_enabled"
_PENDING: Final[dict[str, tuple[type[RTIexception], str]]] = {
    GRANT: (
        InTimeAdvancingState,
        "this federate has asked to advance, and the grant has not been delivered yet",
    ),
    REGULATION: (RequestForTimeRegulationPending, f"{REGULATION} has not been delivered yet"),
    CONSTRAINED: (RequestForTimeConstrainedPending, f"{CONSTRAINED} has not been delivered yet"),
}
_NOT_ENABLED: Final[dict[str, tuple[type[RTIexception], str]]] = {
    REGULATION: (
        TimeRegulationIsNotEnabled,
        f"{REGULATION} has not been delivered yet: this federate does not regulate",
    ),
    CONSTRAINED: (
        TimeConstrainedIsNotEnabled,
        f"{CONSTRAINED} has not been delivered yet: this federate is not constrained",
    ),
}
_UNDECIDED: Final = "its acquisition was asked for, and what came of it has not been told yet"
_GRANTS: Final = frozenset([GRANT, "flush_queue_grant"])
_RESERVATIONS: Final = frozenset(
    ["object_instance_name_reservation_succeeded", "object_instance_name_reservation_failed"]
)
_ACQUISITION_ENDS: Final = frozenset(
    ["attribute_ownership_acquisition_notification", "attribute_ownership_unavailable"]
)
_TO_OWNERS: Final = frozenset(["request_attribute_ownership_release", "request_divestiture_confirmation"])
"""Who hears these is told by them that it owns the attributes, even if the MOM has made it their owner, which tells nobody."""
Pair = tuple[object, object]
"""An object instance and an attribute."""


class Awaited:
    def __init__(self) -> None:
        self.federate: object = None  # the handle of that federate
        self.time_states: set[str] = set()  # of GRANT, REGULATION, CONSTRAINED
        self.names: set[Hashable] = set()  # reservations
        # Whose transportation is being changed: instance and attribute, or interaction class.
        self.changing: set[Hashable] = set()
        # What this federate has asked to own; True: until it is granted, denied or cancelled, False: if it is available.
        self.wanted: dict[Pair, bool] = {}
        self.cancelled: set[Pair] = set()  # of these, what it has asked not to be given any more
        self.offered: set[Pair] = set()  # divestitures that are negotiated, and nobody was named who wants it
        self._saving: tuple[str, Awaited] | None = None  # the label, and what is awaited at that save
        # By label, of saves since this federate joined that ended well.
        self._at_saves: dict[str, Awaited] = {}
        self._restoring = ""  # the label
        self._restored_as: object = None  # the federate's handle, when that has ended well

    # --- what is refused --------------------------------------------------------------------------------------

    def refuse_while(self, *states: str) -> None:
        """Clauses 8.2, 8.5, 8.8 to 8.12, 8.20."""
        for state in states:
            if state in self.time_states:
                error, why = _PENDING[state]
                raise error(why)

    def refuse_before(self, state: str) -> None:
        """Clauses 8.4, 8.7, 8.20 to 8.22."""
        if state in self.time_states:
            error, why = _NOT_ENABLED[state]
            raise error(why)

    def refuse_names(self, names: Iterable[object]) -> None:
        """Clauses 6.4, 6.7, 6.8, 9.5."""
        if self.names:
            for name in names:
                if isinstance(name, str) and name in self.names:
                    raise ObjectInstanceNameNotReserved(
                        f"whether {name!r} is reserved has not been told yet; wait for that callback"
                    )

    def refuse_acquiring(self, asked: Iterable[Pair]) -> None:
        """Clause 7.9."""
        _refuse((pair for pair in asked if self.wanted.get(pair)), AttributeAlreadyBeingAcquired, _UNDECIDED)

    def refuse_unowned(self, asked: Iterable[Pair]) -> None:
        """Clauses 6.10, 6.25, 7.2, 7.3, 7.6, 7.12 to 7.14, 8.24."""
        why = "that this federate owns it has not been told yet; wait for that callback"
        _refuse((pair for pair in asked if pair in self.wanted), AttributeNotOwned, why)

    def refuse_unconfirmed(self, asked: Iterable[Pair]) -> None:
        """Clause 7.6."""
        why = "request_divestiture_confirmation has not been delivered yet"
        _refuse((pair for pair in asked if pair in self.offered), NoAcquisitionPending, why)

    def refuse_while_acquiring(self, concerns: Callable[[Pair], bool]) -> None:
        """Clauses 4.12, 5.3, 6.18."""
        _refuse(filter(concerns, tuple(self.wanted)), OwnershipAcquisitionPending, _UNDECIDED)

    # --- what is asked and told -------------------------------------------------------------------------------

    def told(self, method: str, arguments: tuple[object, ...]) -> None:
        """A callback is about to be delivered."""
        if method in _GRANTS:
            self.time_states.discard(GRANT)
        elif method in (REGULATION, CONSTRAINED):
            self.time_states.discard(method)
        elif method in _RESERVATIONS:
            self.names.discard(arguments[0])
        elif method.startswith("multiple_object_instance_name"):
            (names,) = arguments
            self.names.difference_update(names if isinstance(names, Iterable) else ())
        elif method == "confirm_attribute_transportation_type_change":
            self.changing.difference_update(pairs(arguments[0], arguments[1]))
        elif method == "confirm_interaction_transportation_type_change":
            self.changing.discard(arguments[0])
        elif method in _ACQUISITION_ENDS:
            self._end_acquisition(pairs(arguments[0], arguments[1]))
        elif method == "confirm_attribute_ownership_acquisition_cancellation":
            # What was asked for anew meanwhile goes on.
            self._end_acquisition(self.cancelled.intersection(pairs(arguments[0], arguments[1])))
        elif method in _TO_OWNERS or (
            method == "inform_attribute_ownership" and arguments[2] == self.federate
        ):
            for pair in pairs(arguments[0], arguments[1]):
                self.wanted.pop(pair, None)
                if method == "request_divestiture_confirmation":
                    self.offered.discard(pair)
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
            self._restoring, self._restored_as = str(arguments[0]), arguments[2]
        elif method == "federation_restored":
            self.federate = self._restored_as
            self._take(self._at_saves.get(self._restoring) or Awaited())

    def _take(self, other: Awaited) -> None:
        self.time_states = set(other.time_states)
        self.names, self.changing = set(other.names), set(other.changing)
        self.wanted, self.cancelled = dict(other.wanted), set(other.cancelled)
        self.offered = set(other.offered)

    def _end_acquisition(self, ended: Iterable[Pair]) -> None:
        for pair in ended:
            self.wanted.pop(pair, None)
            self.cancelled.discard(pair)
            self.offered.discard(pair)

    def forget(self, object_instance: object) -> None:
        """It is gone, and nothing is to be told of it any more."""
        for kept in (self.changing, self.cancelled, self.offered):
            kept.difference_update(
                [one for one in tuple(kept) if isinstance(one, tuple) and one[0] == object_instance]
            )
        for pair in tuple(self.wanted):
            if pair[0] == object_instance:
                self.wanted.pop(pair, None)


def pairs(object_instance: object, attributes: object) -> list[Pair]:
    """None of what is no set of attributes, which is refused before these are looked at."""
    if not isinstance(attributes, frozenset):
        return []
    return [(object_instance, attribute) for attribute in attributes]


def _refuse(pairs: Iterable[Pair], error: type[RTIexception], why: str) -> None:
    """If there is one."""
    for instance, attribute in pairs:
        raise error(f"{attribute!r} of {instance!r}: {why}")


_CHANGING: Final = "its transportation type is being changed, and that has not been confirmed yet"
BEING_CHANGED: Final = (AttributeAlreadyBeingChanged, _CHANGING)
CLASS_BEING_CHANGED: Final = (InteractionClassAlreadyBeingChanged, _CHANGING)
