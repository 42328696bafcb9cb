"""The RTI ambassador's services of object management."""

from __future__ import annotations

from collections.abc import Mapping, Set

from weft.federate.awaited import BEING_CHANGED, CLASS_BEING_CHANGED, pairs
from weft.federate.services.calls import Calls
from weft.federate.services.kinds import as_dict, as_set
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime


class ObjectManagement(Calls):
    def reserve_object_instance_name(self, object_instance_name: str) -> None:
        """Clause 6.2."""
        asked = self._awaited.names
        self._call_once(
            "reserve_object_instance_name", (object_instance_name,), asked, [object_instance_name]
        )

    def _reserve_at_once(self, object_instance_name: str) -> None:
        """For who registers by that name at once: whether it could be reserved is told by the registration."""
        self._call("reserve_object_instance_name", (object_instance_name,))

    def release_object_instance_name(self, object_instance_name: str) -> None:
        """Clause 6.4."""
        self._require_told((object_instance_name,))
        self._call("release_object_instance_name", (object_instance_name,))

    def reserve_multiple_object_instance_names(self, object_instance_names: Set[str]) -> None:
        """Clause 6.5."""
        names = as_set(object_instance_names)
        self._call_once("reserve_multiple_object_instance_names", (names,), self._awaited.names, names)

    def release_multiple_object_instance_names(self, object_instance_names: Set[str]) -> None:
        """Clause 6.7."""
        self._require_told(object_instance_names)
        self._call("release_multiple_object_instance_names", (as_set(object_instance_names),))

    def register_object_instance(
        self,
        object_class: ObjectClassHandle,
        object_instance_name: str | None = None,
    ) -> ObjectInstanceHandle:
        """Clause 6.8."""
        if object_instance_name is None:
            result: ObjectInstanceHandle = self._call("register_object_instance", (object_class,))
        else:
            self._require_told((object_instance_name,))
            result = self._call("register_object_instance", (object_class, object_instance_name))
        return result

    def update_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: Mapping[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.10; `order` is for this message alone (docs/explanation/ordering.md)."""
        if order is not None:
            arguments = (object_instance, as_dict(attribute_values), user_supplied_tag, time, order)
            ordered: MessageRetractionReturn | None = self._call("update_attribute_values", arguments)
            return ordered
        if time is None:
            result: MessageRetractionReturn | None = self._call(
                "update_attribute_values", (object_instance, as_dict(attribute_values), user_supplied_tag)
            )
        else:
            result = self._call(
                "update_attribute_values",
                (object_instance, as_dict(attribute_values), user_supplied_tag, time),
            )
        return result

    def send_interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.12; `order` is for this message alone (docs/explanation/ordering.md)."""
        if order is not None:
            arguments = (interaction_class, as_dict(parameter_values), user_supplied_tag, time, order)
            ordered: MessageRetractionReturn | None = self._call("send_interaction", arguments)
            return ordered
        if time is None:
            result: MessageRetractionReturn | None = self._call(
                "send_interaction", (interaction_class, as_dict(parameter_values), user_supplied_tag)
            )
        else:
            result = self._call(
                "send_interaction", (interaction_class, as_dict(parameter_values), user_supplied_tag, time)
            )
        return result

    def send_directed_interaction(
        self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.14; `order` is for this message alone (docs/explanation/ordering.md)."""
        if order is not None:
            arguments = (
                interaction_class,
                object_instance,
                as_dict(parameter_values),
                user_supplied_tag,
                time,
                order,
            )
            ordered: MessageRetractionReturn | None = self._call("send_directed_interaction", arguments)
            return ordered
        if time is None:
            result: MessageRetractionReturn | None = self._call(
                "send_directed_interaction",
                (interaction_class, object_instance, as_dict(parameter_values), user_supplied_tag),
            )
        else:
            result = self._call(
                "send_directed_interaction",
                (interaction_class, object_instance, as_dict(parameter_values), user_supplied_tag, time),
            )
        return result

    def delete_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.16; `order` is for this message alone (docs/explanation/ordering.md)."""
        if order is not None:
            arguments = (object_instance, user_supplied_tag, time, order)
            ordered: MessageRetractionReturn | None = self._call("delete_object_instance", arguments)
            return ordered
        if time is None:
            result: MessageRetractionReturn | None = self._call(
                "delete_object_instance", (object_instance, user_supplied_tag)
            )
        else:
            result = self._call("delete_object_instance", (object_instance, user_supplied_tag, time))
        return result

    def local_delete_object_instance(self, object_instance: ObjectInstanceHandle) -> None:
        """Clause 6.18."""
        self._call("local_delete_object_instance", (object_instance,))

    def request_attribute_value_update(
        self,
        target: ObjectInstanceHandle | ObjectClassHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 6.21."""
        self._call("request_attribute_value_update", (target, as_set(attributes), user_supplied_tag))

    def request_attribute_transportation_type_change(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.25."""
        changed = as_set(attributes)
        self._call_once(
            "request_attribute_transportation_type_change",
            (object_instance, changed, transportation_type),
            self._awaited.changing,
            pairs(object_instance, changed),
            BEING_CHANGED,
        )

    def change_default_attribute_transportation_type(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.27."""
        self._call(
            "change_default_attribute_transportation_type",
            (object_class, as_set(attributes), transportation_type),
        )

    def query_attribute_transportation_type(
        self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> None:
        """Clause 6.28."""
        self._call("query_attribute_transportation_type", (object_instance, attribute))

    def request_interaction_transportation_type_change(
        self,
        interaction_class: InteractionClassHandle,
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.30."""
        self._call_once(
            "request_interaction_transportation_type_change",
            (interaction_class, transportation_type),
            self._awaited.changing,
            [interaction_class],
            CLASS_BEING_CHANGED,
        )

    def query_interaction_transportation_type(
        self,
        federate: FederateHandle,
        interaction_class: InteractionClassHandle,
    ) -> None:
        """Clause 6.32."""
        self._call("query_interaction_transportation_type", (federate, interaction_class))
