"""The RTI ambassador's services of data distribution management."""

from __future__ import annotations

from collections.abc import Mapping, Set

from weft.federate.services.calls import AttributeRegions, Calls, with_last
from weft.federate.services.kinds import as_dict, as_pairs, as_set
from weft.model.enums import OrderType
from weft.model.handles import (
    DimensionHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
)
from weft.model.records import MessageRetractionReturn
from weft.model.time import AnyTime


def _subscription(
    object_class: ObjectClassHandle,
    attributes_and_regions: AttributeRegions,
    rate: str | None,
    time: AnyTime | None,
) -> tuple[object, ...]:
    subscribed = (object_class, as_pairs(attributes_and_regions))
    return with_last(subscribed, rate) if time is None else (*subscribed, rate or "", time)


class DataDistributionManagement(Calls):
    def create_region(self, dimensions: Set[DimensionHandle]) -> RegionHandle:
        """Clause 9.2."""
        return self._ask(RegionHandle, "create_region", as_set(dimensions))

    def commit_region_modifications(self, regions: Set[RegionHandle], *, time: AnyTime | None = None) -> None:
        """Clause 9.3.  `time`, not of the standard: as of that logical time (docs/explanation/ddm-sync.md)."""
        self._call("commit_region_modifications", with_last((as_set(regions),), time))

    def delete_region(self, region: RegionHandle) -> None:
        """Clause 9.4."""
        self._call("delete_region", (region,))

    def register_object_instance_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        object_instance_name: str | None = None,
    ) -> ObjectInstanceHandle:
        """Clause 9.5."""
        pairs, name = as_pairs(attributes_and_regions), self._told_names(object_instance_name)
        service = "register_object_instance_with_regions"
        return self._ask(ObjectInstanceHandle, service, object_class, pairs, *name)

    def associate_regions_for_updates(
        self, object_instance: ObjectInstanceHandle, attributes_and_regions: AttributeRegions
    ) -> None:
        """Clause 9.6."""
        self._call("associate_regions_for_updates", (object_instance, as_pairs(attributes_and_regions)))

    def unassociate_regions_for_updates(
        self, object_instance: ObjectInstanceHandle, attributes_and_regions: AttributeRegions
    ) -> None:
        """Clause 9.7."""
        self._call("unassociate_regions_for_updates", (object_instance, as_pairs(attributes_and_regions)))

    def subscribe_object_class_attributes_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.8.  `time`, not of the standard: as of that logical time."""
        arguments = _subscription(object_class, attributes_and_regions, update_rate_designator, time)
        self._call("subscribe_object_class_attributes_with_regions", arguments)

    def subscribe_object_class_attributes_passively_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.8.  `time`, not of the standard: as of that logical time."""
        arguments = _subscription(object_class, attributes_and_regions, update_rate_designator, time)
        self._call("subscribe_object_class_attributes_passively_with_regions", arguments)

    def unsubscribe_object_class_attributes_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.9.  `time`, not of the standard: as of that logical time."""
        arguments = with_last((object_class, as_pairs(attributes_and_regions)), time)
        self._call("unsubscribe_object_class_attributes_with_regions", arguments)

    def subscribe_interaction_class_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.10.  `time`, not of the standard: as of that logical time."""
        arguments = with_last((interaction_class, as_set(regions)), time)
        self._call("subscribe_interaction_class_with_regions", arguments)

    def subscribe_interaction_class_passively_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.10.  `time`, not of the standard: as of that logical time."""
        arguments = with_last((interaction_class, as_set(regions)), time)
        self._call("subscribe_interaction_class_passively_with_regions", arguments)

    def unsubscribe_interaction_class_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 9.11.  `time`, not of the standard: as of that logical time."""
        arguments = with_last((interaction_class, as_set(regions)), time)
        self._call("unsubscribe_interaction_class_with_regions", arguments)

    def send_interaction_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        regions: Set[RegionHandle],
        user_supplied_tag: bytes,
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        """Clause 9.12; `order` is for this message alone (docs/explanation/ordering.md)."""
        arguments = (interaction_class, as_dict(parameter_values), as_set(regions), user_supplied_tag)
        return self._send_message("send_interaction_with_regions", arguments, time, order)

    def request_attribute_value_update_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 9.13."""
        arguments = (object_class, as_pairs(attributes_and_regions), user_supplied_tag)
        self._call("request_attribute_value_update_with_regions", arguments)
