"""The RTI ambassador's support services, and the factories among them."""

from __future__ import annotations

from weft.federate.services.calls import Calls
from weft.model.enums import OrderType, ResignAction, ServiceGroup
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import RangeBounds


class SupportServices(Calls):
    def get_federate_handle(self, federate_name: str) -> FederateHandle:
        """Clause 10.2."""
        return self._ask(FederateHandle, "get_federate_handle", federate_name)

    def get_federate_name(self, federate: FederateHandle) -> str:
        """Clause 10.3."""
        return self._ask(str, "get_federate_name", federate)

    def get_object_class_handle(self, object_class_name: str) -> ObjectClassHandle:
        """Clause 10.4."""
        return self._ask(ObjectClassHandle, "get_object_class_handle", object_class_name)

    def get_object_class_name(self, object_class: ObjectClassHandle) -> str:
        """Clause 10.5."""
        return self._ask(str, "get_object_class_name", object_class)

    def get_known_object_class_handle(self, object_instance: ObjectInstanceHandle) -> ObjectClassHandle:
        """Clause 10.6."""
        return self._ask(ObjectClassHandle, "get_known_object_class_handle", object_instance)

    def get_object_instance_handle(self, object_instance_name: str) -> ObjectInstanceHandle:
        """Clause 10.7."""
        return self._ask(ObjectInstanceHandle, "get_object_instance_handle", object_instance_name)

    def get_object_instance_name(self, object_instance: ObjectInstanceHandle) -> str:
        """Clause 10.8."""
        return self._ask(str, "get_object_instance_name", object_instance)

    def get_attribute_handle(self, object_class: ObjectClassHandle, attribute_name: str) -> AttributeHandle:
        """Clause 10.9."""
        return self._ask(AttributeHandle, "get_attribute_handle", object_class, attribute_name)

    def get_attribute_name(self, object_class: ObjectClassHandle, attribute: AttributeHandle) -> str:
        """Clause 10.10."""
        return self._ask(str, "get_attribute_name", object_class, attribute)

    def get_update_rate_value(self, update_rate_designator: str) -> float:
        """Clause 10.11."""
        return self._ask(float, "get_update_rate_value", update_rate_designator)

    def get_update_rate_value_for_attribute(
        self, object_instance: ObjectInstanceHandle, attribute: AttributeHandle
    ) -> float:
        """Clause 10.12."""
        return self._ask(float, "get_update_rate_value_for_attribute", object_instance, attribute)

    def get_interaction_class_handle(self, interaction_class_name: str) -> InteractionClassHandle:
        """Clause 10.13."""
        return self._ask(InteractionClassHandle, "get_interaction_class_handle", interaction_class_name)

    def get_interaction_class_name(self, interaction_class: InteractionClassHandle) -> str:
        """Clause 10.14."""
        return self._ask(str, "get_interaction_class_name", interaction_class)

    def get_parameter_handle(
        self, interaction_class: InteractionClassHandle, parameter_name: str
    ) -> ParameterHandle:
        """Clause 10.15."""
        return self._ask(ParameterHandle, "get_parameter_handle", interaction_class, parameter_name)

    def get_parameter_name(
        self, interaction_class: InteractionClassHandle, parameter: ParameterHandle
    ) -> str:
        """Clause 10.16."""
        return self._ask(str, "get_parameter_name", interaction_class, parameter)

    def get_order_type(self, order_type_name: str) -> OrderType:
        """Clause 10.17."""
        return self._ask(OrderType, "get_order_type", order_type_name)

    def get_order_name(self, order_type: OrderType) -> str:
        """Clause 10.18."""
        return self._ask(str, "get_order_name", order_type)

    def get_transportation_type_handle(self, transportation_type_name: str) -> TransportationTypeHandle:
        """Clause 10.19."""
        return self._ask(TransportationTypeHandle, "get_transportation_type_handle", transportation_type_name)

    def get_transportation_type_name(self, transportation_type: TransportationTypeHandle) -> str:
        """Clause 10.20."""
        return self._ask(str, "get_transportation_type_name", transportation_type)

    def get_available_dimensions_for_object_class(
        self, object_class: ObjectClassHandle
    ) -> frozenset[DimensionHandle]:
        """Clause 10.21."""
        return self._ask_handles(DimensionHandle, "get_available_dimensions_for_object_class", object_class)

    def get_available_dimensions_for_interaction_class(
        self, interaction_class: InteractionClassHandle
    ) -> frozenset[DimensionHandle]:
        """Clause 10.22."""
        return self._ask_handles(
            DimensionHandle, "get_available_dimensions_for_interaction_class", interaction_class
        )

    def get_dimension_handle(self, dimension_name: str) -> DimensionHandle:
        """Clause 10.23."""
        return self._ask(DimensionHandle, "get_dimension_handle", dimension_name)

    def get_dimension_name(self, dimension: DimensionHandle) -> str:
        """Clause 10.24."""
        return self._ask(str, "get_dimension_name", dimension)

    def get_dimension_upper_bound(self, dimension: DimensionHandle) -> int:
        """Clause 10.25."""
        return self._ask(int, "get_dimension_upper_bound", dimension)

    def get_dimension_handle_set(self, region: RegionHandle) -> frozenset[DimensionHandle]:
        """Clause 10.26."""
        return self._ask_handles(DimensionHandle, "get_dimension_handle_set", region)

    def get_range_bounds(self, region: RegionHandle, dimension: DimensionHandle) -> RangeBounds:
        """Clause 10.27."""
        return self._ask(RangeBounds, "get_range_bounds", region, dimension)

    def set_range_bounds(
        self, region: RegionHandle, dimension: DimensionHandle, range_bounds: RangeBounds
    ) -> None:
        """Clause 10.28."""
        self._call("set_range_bounds", (region, dimension, range_bounds))

    def normalize_service_group(self, service_group: ServiceGroup) -> int:
        """Clause 10.29."""
        return self._ask(int, "normalize_service_group", service_group)

    def normalize_federate_handle(self, federate: FederateHandle) -> int:
        """Clause 10.30."""
        return self._ask(int, "normalize_federate_handle", federate)

    def normalize_object_class_handle(self, object_class: ObjectClassHandle) -> int:
        """Clause 10.31."""
        return self._ask(int, "normalize_object_class_handle", object_class)

    def normalize_interaction_class_handle(self, interaction_class: InteractionClassHandle) -> int:
        """Clause 10.32."""
        return self._ask(int, "normalize_interaction_class_handle", interaction_class)

    def normalize_object_instance_handle(self, object_instance: ObjectInstanceHandle) -> int:
        """Clause 10.33."""
        return self._ask(int, "normalize_object_instance_handle", object_instance)

    def get_object_class_relevance_advisory_switch(self) -> bool:
        """Clause 10.34."""
        return self._ask(bool, "get_switch", "object_class_relevance")

    def set_object_class_relevance_advisory_switch(self, value: bool) -> None:
        """Clause 10.35."""
        self._call("set_switch", ("object_class_relevance", value))

    def get_attribute_relevance_advisory_switch(self) -> bool:
        """Clause 10.36."""
        return self._ask(bool, "get_switch", "attribute_relevance")

    def set_attribute_relevance_advisory_switch(self, value: bool) -> None:
        """Clause 10.37."""
        self._call("set_switch", ("attribute_relevance", value))

    def get_attribute_scope_advisory_switch(self) -> bool:
        """Clause 10.38."""
        return self._ask(bool, "get_switch", "attribute_scope")

    def set_attribute_scope_advisory_switch(self, value: bool) -> None:
        """Clause 10.39."""
        self._call("set_switch", ("attribute_scope", value))

    def get_interaction_relevance_advisory_switch(self) -> bool:
        """Clause 10.40."""
        return self._ask(bool, "get_switch", "interaction_relevance")

    def set_interaction_relevance_advisory_switch(self, value: bool) -> None:
        """Clause 10.41."""
        self._call("set_switch", ("interaction_relevance", value))

    def get_convey_region_designator_sets_switch(self) -> bool:
        """Clause 10.42."""
        return self._ask(bool, "get_switch", "convey_region_designator_sets")

    def set_convey_region_designator_sets_switch(self, value: bool) -> None:
        """Clause 10.43."""
        self._call("set_switch", ("convey_region_designator_sets", value))

    def get_automatic_resign_directive(self) -> ResignAction:
        """Clause 10.44."""
        return self._ask(ResignAction, "get_automatic_resign_directive")

    def set_automatic_resign_directive(self, value: ResignAction) -> None:
        """Clause 10.45."""
        self._call("set_automatic_resign_directive", (value,))

    def get_service_reporting_switch(self) -> bool:
        """Clause 10.46."""
        return self._ask(bool, "get_switch", "service_reporting")

    def set_service_reporting_switch(self, value: bool) -> None:
        """Clause 10.47."""
        self._call("set_switch", ("service_reporting", value))

    def get_exception_reporting_switch(self) -> bool:
        """Clause 10.48."""
        return self._ask(bool, "get_switch", "exception_reporting")

    def set_exception_reporting_switch(self, value: bool) -> None:
        """Clause 10.49."""
        self._call("set_switch", ("exception_reporting", value))

    def get_send_service_reports_to_file_switch(self) -> bool:
        """Clause 10.50."""
        return self._ask(bool, "get_switch", "send_service_reports_to_file")

    def set_send_service_reports_to_file_switch(self, value: bool) -> None:
        """Clause 10.51."""
        self._call("set_switch", ("send_service_reports_to_file", value))

    def get_auto_provide_switch(self) -> bool:
        """Clause 10.52."""
        return self._ask(bool, "get_federation_switch", "autoProvide")

    def get_delay_subscription_evaluation_switch(self) -> bool:
        """Clause 10.53."""
        return self._ask(bool, "get_federation_switch", "delaySubscriptionEvaluation")

    def get_advisories_use_known_class_switch(self) -> bool:
        """Clause 10.54."""
        return self._ask(bool, "get_federation_switch", "advisoriesUseKnownClass")

    def get_allow_relaxed_ddm_switch(self) -> bool:
        """Clause 10.55."""
        return self._ask(bool, "get_federation_switch", "allowRelaxedDDM")

    def get_non_regulated_grant_switch(self) -> bool:
        """Clause 10.56."""
        return self._ask(bool, "get_federation_switch", "nonRegulatedGrant")


class Factories:
    """Clause 10.60.  In Python a handle set is a `set` and a value map a `dict`, so their factories are just these types;
    a handle factory decodes the bytes that another federate's `handle.encode()` gave.
    """

    def get_attribute_handle_factory(self) -> type[AttributeHandle]:
        """Clause 10.60."""
        return AttributeHandle

    def get_dimension_handle_factory(self) -> type[DimensionHandle]:
        """Clause 10.60."""
        return DimensionHandle

    def get_federate_handle_factory(self) -> type[FederateHandle]:
        """Clause 10.60."""
        return FederateHandle

    def get_interaction_class_handle_factory(self) -> type[InteractionClassHandle]:
        """Clause 10.60."""
        return InteractionClassHandle

    def get_object_class_handle_factory(self) -> type[ObjectClassHandle]:
        """Clause 10.60."""
        return ObjectClassHandle

    def get_object_instance_handle_factory(self) -> type[ObjectInstanceHandle]:
        """Clause 10.60."""
        return ObjectInstanceHandle

    def get_parameter_handle_factory(self) -> type[ParameterHandle]:
        """Clause 10.60."""
        return ParameterHandle

    def get_transportation_type_handle_factory(self) -> type[TransportationTypeHandle]:
        """Clause 10.60."""
        return TransportationTypeHandle

    def get_region_handle_factory(self) -> type[RegionHandle]:
        """Clause 10.60."""
        return RegionHandle

    def get_message_retraction_handle_factory(self) -> type[MessageRetractionHandle]:
        """Clause 10.60."""
        return MessageRetractionHandle

    def get_attribute_handle_set_factory(self) -> type[set[AttributeHandle]]:
        """Clause 10.60."""
        return set

    def get_dimension_handle_set_factory(self) -> type[set[DimensionHandle]]:
        """Clause 10.60."""
        return set

    def get_federate_handle_set_factory(self) -> type[set[FederateHandle]]:
        """Clause 10.60."""
        return set

    def get_interaction_class_handle_set_factory(self) -> type[set[InteractionClassHandle]]:
        """Clause 10.60."""
        return set

    def get_region_handle_set_factory(self) -> type[set[RegionHandle]]:
        """Clause 10.60."""
        return set

    def get_attribute_handle_value_map_factory(self) -> type[dict[AttributeHandle, bytes]]:
        """Clause 10.60."""
        return dict

    def get_parameter_handle_value_map_factory(self) -> type[dict[ParameterHandle, bytes]]:
        """Clause 10.60."""
        return dict

    def get_attribute_set_region_set_pair_list_factory(
        self,
    ) -> type[list[tuple[set[AttributeHandle], set[RegionHandle]]]]:
        """Clause 10.60."""
        return list
