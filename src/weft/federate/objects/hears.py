"""What the RTI calls back about ownership, directed interactions and requests for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from weft.federate.callbacks import FederateAmbassador
from weft.federate.objects.ownership import NOBODY, OF_RTI
from weft.model.enums import CallbackModel
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.time import LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


def heard(hear: Callable[..., None]) -> Callable[..., None]:
    """Whoever waits in `run_until` while another thread calls back looks again after each callback."""

    def told(self: ObjectEars, *arguments: object) -> None:
        try:
            hear(self, *arguments)
        finally:
            self.wake()

    return told


class ObjectEars(FederateAmbassador):
    """Passes on what concerns objects."""

    _federate: Federate

    def wake(self) -> None:
        federate = self._federate
        if federate._callbacks is CallbackModel.IMMEDIATE:
            with federate._news:
                federate._news.notify_all()

    def tell(self, table: Mapping[str, Sequence[Callable[..., object]]], full: str, *what: object) -> None:
        """Handlers of a class hear of everything that comes as it or as a class below it."""
        while full:
            for handler in table.get(full, ()):
                handler(*what)
            full = full.rpartition(".")[0]

    @heard
    def provide_attribute_value_update(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        self._federate._state.answer(object_instance, attributes, user_supplied_tag)

    @heard
    def receive_directed_interaction(
        self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: dict[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        time: LogicalTime | None = None,
        *rest: object,
    ) -> None:
        federate = self._federate
        target = federate._ownership.find(object_instance)
        if target is None:
            return
        full = federate._name(federate.rti.get_interaction_class_name, interaction_class)
        message = federate._ears.interaction(
            interaction_class, parameter_values, user_supplied_tag, producing_federate, None, time
        )
        self.tell(federate._directed, full, target, message)

    # --- ownership --------------------------------------------------------------------------------------------

    @heard
    def request_attribute_ownership_assumption(
        self, object_instance: ObjectInstanceHandle, offered_attributes: Set[AttributeHandle], tag: bytes
    ) -> None:
        ownership = self._federate._ownership
        ownership.hear(ownership.offered, object_instance, offered_attributes)

    @heard
    def request_divestiture_confirmation(
        self, object_instance: ObjectInstanceHandle, released_attributes: Set[AttributeHandle], tag: bytes
    ) -> None:
        self._federate._ownership.confirm(object_instance, released_attributes, tag)

    @heard
    def attribute_ownership_acquisition_notification(
        self, object_instance: ObjectInstanceHandle, secured_attributes: Set[AttributeHandle], tag: bytes
    ) -> None:
        self._federate._ownership.has_acquired(object_instance, secured_attributes)

    @heard
    def attribute_ownership_unavailable(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle], tag: bytes
    ) -> None:
        ownership = self._federate._ownership
        ownership.hear(ownership.unavailable, object_instance, attributes)

    @heard
    def request_attribute_ownership_release(
        self, object_instance: ObjectInstanceHandle, candidate_attributes: Set[AttributeHandle], tag: bytes
    ) -> None:
        ownership = self._federate._ownership
        ownership.hear(ownership.requested, object_instance, candidate_attributes)

    @heard
    def inform_attribute_ownership(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle], owner: FederateHandle
    ) -> None:
        self._federate._ownership.told_owner(object_instance, attributes, owner)

    @heard
    def attribute_is_not_owned(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        self._federate._ownership.told(object_instance, attributes, NOBODY)

    @heard
    def attribute_is_owned_by_rti(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        self._federate._ownership.told(object_instance, attributes, OF_RTI)
