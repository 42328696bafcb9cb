"""The RTI ambassador's services of object management."""

from __future__ import annotations

from collections.abc import Mapping, Set

from weft.federate.awaited import BEING_CHANGED, CLASS_BEING_CHANGED, pairs
from weft.federate.services.calls import Calls
from weft.federate.services.kinds import as_dict, as_set
from weft.fom.objectmodel import PRIVILEGE_TO_DELETE
from weft.model.enums import OrderType
from weft.model.errors import DeletePrivilegeNotHeld
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
from weft.model.time import AnyTime


class ObjectManagement(Calls):
    def reserve_object_instance_name(self, object_instance_name: str) -> None:
        """Clause 6.2."""
        names = (object_instance_name,)
        self._call_once("reserve_object_instance_name", names, self._awaited.names, names)

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
        self, object_class: ObjectClassHandle, object_instance_name: str | None = None
    ) -> ObjectInstanceHandle:
        """Clause 6.8."""
        name = self._told_names(object_instance_name)
        return self._ask(ObjectInstanceHandle, "register_object_instance", object_class, *name)

    def update_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: Mapping[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.10; `order` is for this message alone (docs/explanation/ordering.md)."""
        values = attribute_values if type(attribute_values) is dict else as_dict(attribute_values)
        arguments = (object_instance, values, user_supplied_tag)
        if self._awaited.wanted:
            given = arguments if time is None else (*arguments, time)
            self._refuse_unowned("update_attribute_values", given, as_set(values))
        if time is None and order is None:
            return self._send_most("update_attribute_values", arguments)
        return self._send_message("update_attribute_values", arguments, time, order)

    def send_interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.12; `order` is for this message alone (docs/explanation/ordering.md)."""
        values = parameter_values if type(parameter_values) is dict else as_dict(parameter_values)
        arguments = (interaction_class, values, user_supplied_tag)
        if time is None and order is None:
            return self._send_most("send_interaction", arguments)
        return self._send_message("send_interaction", arguments, time, order)

    def send_directed_interaction(
        self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.14; `order` is for this message alone (docs/explanation/ordering.md)."""
        arguments = (interaction_class, object_instance, as_dict(parameter_values), user_supplied_tag)
        return self._send_message("send_directed_interaction", arguments, time, order)

    def delete_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: bytes,
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 6.16; `order` is for this message alone (docs/explanation/ordering.md)."""
        arguments = (object_instance, user_supplied_tag)
        if self._awaited.wanted:
            self._look_at("delete_object_instance", arguments if time is None else (*arguments, time))
            self._refuse_unprivileged(object_instance)
        returned = self._send_message("delete_object_instance", arguments, time, order)
        self._awaited.forget(object_instance)
        return returned

    def _refuse_unprivileged(self, object_instance: ObjectInstanceHandle) -> None:
        """Who has not been told that it holds the privilege to delete does not hold it."""
        pending = self._pending()
        if any(pair[0] == object_instance for pair in tuple(pending.wanted)):
            object_class = self._call("get_known_object_class_handle", (object_instance,))
            privilege = self._call("get_attribute_handle", (object_class, PRIVILEGE_TO_DELETE))
            if (object_instance, privilege) in pending.wanted:
                raise DeletePrivilegeNotHeld(
                    f"that this federate owns {PRIVILEGE_TO_DELETE} of {object_instance!r} has not been told yet"
                )

    def local_delete_object_instance(self, object_instance: ObjectInstanceHandle) -> None:
        """Clause 6.18."""
        if self._awaited.wanted:
            self._pending().refuse_while_acquiring(lambda pair: pair[0] == object_instance)
        self._call("local_delete_object_instance", (object_instance,))
        self._awaited.forget(object_instance)

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
        service = "request_attribute_transportation_type_change"
        changed = as_set(attributes)
        arguments = (object_instance, changed, transportation_type)
        self._refuse_unowned(service, arguments, changed)
        asked = pairs(object_instance, changed)
        self._call_once(service, arguments, self._awaited.changing, asked, BEING_CHANGED)

    def change_default_attribute_transportation_type(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.27."""
        arguments = (object_class, as_set(attributes), transportation_type)
        self._call("change_default_attribute_transportation_type", arguments)

    def query_attribute_transportation_type(
        self, object_instance: ObjectInstanceHandle, attribute: AttributeHandle
    ) -> None:
        """Clause 6.28."""
        self._call("query_attribute_transportation_type", (object_instance, attribute))

    def request_interaction_transportation_type_change(
        self, interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle
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
        self, federate: FederateHandle, interaction_class: InteractionClassHandle
    ) -> None:
        """Clause 6.32."""
        self._call("query_interaction_transportation_type", (federate, interaction_class))
