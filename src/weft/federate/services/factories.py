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
