"""The factories of clause 10.60.  In Python a handle set is a `set` and a value map a `dict`, so their factories are just these
types; a handle factory decodes the bytes that another federate's `handle.encode()` gave.
"""

from __future__ import annotations

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


class Factories:
    def get_attribute_handle_factory(self) -> type[AttributeHandle]:
        return AttributeHandle

    def get_dimension_handle_factory(self) -> type[DimensionHandle]:
        return DimensionHandle

    def get_federate_handle_factory(self) -> type[FederateHandle]:
        return FederateHandle

    def get_interaction_class_handle_factory(self) -> type[InteractionClassHandle]:
        return InteractionClassHandle

    def get_object_class_handle_factory(self) -> type[ObjectClassHandle]:
        return ObjectClassHandle

    def get_object_instance_handle_factory(self) -> type[ObjectInstanceHandle]:
        return ObjectInstanceHandle

    def get_parameter_handle_factory(self) -> type[ParameterHandle]:
        return ParameterHandle

    def get_transportation_type_handle_factory(self) -> type[TransportationTypeHandle]:
        return TransportationTypeHandle

    def get_region_handle_factory(self) -> type[RegionHandle]:
        return RegionHandle

    def get_message_retraction_handle_factory(self) -> type[MessageRetractionHandle]:
        return MessageRetractionHandle

    def get_attribute_handle_set_factory(self) -> type[set[AttributeHandle]]:
        return set

    def get_dimension_handle_set_factory(self) -> type[set[DimensionHandle]]:
        return set

    def get_federate_handle_set_factory(self) -> type[set[FederateHandle]]:
        return set

    def get_interaction_class_handle_set_factory(self) -> type[set[InteractionClassHandle]]:
        return set

    def get_region_handle_set_factory(self) -> type[set[RegionHandle]]:
        return set

    def get_attribute_handle_value_map_factory(self) -> type[dict[AttributeHandle, bytes]]:
        return dict

    def get_parameter_handle_value_map_factory(self) -> type[dict[ParameterHandle, bytes]]:
        return dict

    def get_attribute_set_region_set_pair_list_factory(
        self,
    ) -> type[list[tuple[set[AttributeHandle], set[RegionHandle]]]]:
        return list
