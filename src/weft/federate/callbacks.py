"""The federate ambassador: what the RTI tells a federate.

Subclass it and override what you want to hear; everything else is heard and ignored.  Handles compare equal whenever they mean
the same thing.  Values arrive as bytes; `weft.load_fom(...).decode(type, data)` turns them to Python values.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from weft.model.enums import (
    OrderType,
    RestoreFailureReason,
    SaveFailureReason,
    SaveStatus,
    SynchronizationPointFailureReason,
)
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import (
    Blocking,
    CorrelatedEvent,
    DeadlineMiss,
    FederateRestoreStatus,
    FederationExecutionInformation,
    FederationExecutionMemberInformation,
)
from weft.model.time import LogicalTime


class FederateAmbassador:
    """All callbacks of IEEE 1516.1-2025; the ones with a time are the same methods with more arguments."""

    # --- federation management -------------------------------------------------------------------------------

    def connection_lost(self, fault_description: str) -> None:
        """Clause 4.4."""

    def report_federation_executions(self, report: Set[FederationExecutionInformation]) -> None:
        """Clause 4.8."""

    def report_federation_execution_members(
        self, federation_name: str, report: Set[FederationExecutionMemberInformation]
    ) -> None:
        """Clause 4.10."""

    def report_federation_execution_does_not_exist(self, federation_name: str) -> None:
        """Clause 4.10."""

    def federate_resigned(self, reason_for_resign_description: str) -> None:
        """Clause 4.13."""

    def synchronization_point_registration_succeeded(self, synchronization_point_label: str) -> None:
        """Clause 4.15."""

    def synchronization_point_registration_failed(
        self, synchronization_point_label: str, reason: SynchronizationPointFailureReason
    ) -> None:
        """Clause 4.15."""

    def announce_synchronization_point(
        self, synchronization_point_label: str, user_supplied_tag: bytes
    ) -> None:
        """Clause 4.16."""

    def federation_synchronized(
        self, synchronization_point_label: str, failed_to_sync_set: Set[FederateHandle]
    ) -> None:
        """Clause 4.18."""

    def initiate_federate_save(self, label: str, time: LogicalTime | None = None) -> None:
        """Clause 4.20."""

    def federation_saved(self) -> None:
        """Clause 4.23."""

    def federation_not_saved(self, reason: SaveFailureReason) -> None:
        """Clause 4.23."""

    def federation_save_status_response(self, response: Sequence[tuple[FederateHandle, SaveStatus]]) -> None:
        """Clause 4.26."""

    def request_federation_restore_succeeded(self, label: str) -> None:
        """Clause 4.28."""

    def request_federation_restore_failed(self, label: str) -> None:
        """Clause 4.28."""

    def federation_restore_begun(self) -> None:
        """Clause 4.29."""

    def initiate_federate_restore(
        self, label: str, federate_name: str, post_restore_federate_handle: FederateHandle
    ) -> None:
        """Clause 4.30."""

    def federation_restored(self) -> None:
        """Clause 4.32."""

    def federation_not_restored(self, reason: RestoreFailureReason) -> None:
        """Clause 4.29."""

    def federation_restore_status_response(self, response: Sequence[FederateRestoreStatus]) -> None:
        """Clause 4.35."""

    # --- declaration management ------------------------------------------------------------------------------

    def start_registration_for_object_class(self, object_class: ObjectClassHandle) -> None:
        """Clause 5.14."""

    def stop_registration_for_object_class(self, object_class: ObjectClassHandle) -> None:
        """Clause 5.15."""

    def turn_interactions_on(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.16."""

    def turn_interactions_off(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.17."""

    # --- object management -----------------------------------------------------------------------------------

    def object_instance_name_reservation_succeeded(self, object_instance_name: str) -> None:
        """Clause 6.3."""

    def object_instance_name_reservation_failed(self, object_instance_name: str) -> None:
        """Clause 6.3."""

    def multiple_object_instance_name_reservation_succeeded(self, object_instance_names: Set[str]) -> None:
        """Clause 6.6."""

    def multiple_object_instance_name_reservation_failed(self, object_instance_names: Set[str]) -> None:
        """Clause 6.6."""

    def discover_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        object_class: ObjectClassHandle,
        object_instance_name: str,
        producing_federate: FederateHandle,
    ) -> None:
        """Clause 6.9."""

    def reflect_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: dict[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        optional_sent_regions: Set[RegionHandle] | None,
        time: LogicalTime | None = None,
        sent_order_type: OrderType | None = None,
        received_order_type: OrderType | None = None,
        optional_retraction: MessageRetractionHandle | None = None,
    ) -> None:
        """Clause 6.11."""

    def receive_interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: dict[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        optional_sent_regions: Set[RegionHandle] | None,
        time: LogicalTime | None = None,
        sent_order_type: OrderType | None = None,
        received_order_type: OrderType | None = None,
        optional_retraction: MessageRetractionHandle | None = None,
    ) -> None:
        """Clause 6.13."""

    def receive_directed_interaction(
        self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: dict[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        time: LogicalTime | None = None,
        sent_order_type: OrderType | None = None,
        received_order_type: OrderType | None = None,
        optional_retraction: MessageRetractionHandle | None = None,
    ) -> None:
        """Clause 6.15."""

    def remove_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: bytes,
        producing_federate: FederateHandle,
        time: LogicalTime | None = None,
        sent_order_type: OrderType | None = None,
        received_order_type: OrderType | None = None,
        optional_retraction: MessageRetractionHandle | None = None,
    ) -> None:
        """Clause 6.17."""

    def attributes_in_scope(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 6.19."""

    def attributes_out_of_scope(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 6.20."""

    def provide_attribute_value_update(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 6.22."""

    def turn_updates_on_for_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
    ) -> None:
        """Clause 6.23."""

    def turn_updates_off_for_object_instance(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 6.24."""

    def confirm_attribute_transportation_type_change(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.26."""

    def report_attribute_transportation_type(
        self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.29."""

    def confirm_interaction_transportation_type_change(
        self, interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle
    ) -> None:
        """Clause 6.31."""

    def report_interaction_transportation_type(
        self,
        federate: FederateHandle,
        interaction_class: InteractionClassHandle,
        transportation_type: TransportationTypeHandle,
    ) -> None:
        """Clause 6.33."""

    # --- ownership management --------------------------------------------------------------------------------

    def request_attribute_ownership_assumption(
        self,
        object_instance: ObjectInstanceHandle,
        offered_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.4."""

    def request_divestiture_confirmation(
        self,
        object_instance: ObjectInstanceHandle,
        released_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.5."""

    def attribute_ownership_acquisition_notification(
        self,
        object_instance: ObjectInstanceHandle,
        secured_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.7."""

    def attribute_ownership_unavailable(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.10."""

    def request_attribute_ownership_release(
        self,
        object_instance: ObjectInstanceHandle,
        candidate_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.11."""

    def confirm_attribute_ownership_acquisition_cancellation(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.16."""

    def inform_attribute_ownership(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle], owner: FederateHandle
    ) -> None:
        """Clause 7.18."""

    def attribute_is_not_owned(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.18."""

    def attribute_is_owned_by_rti(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.18."""

    # --- time management -------------------------------------------------------------------------------------

    def time_regulation_enabled(self, time: LogicalTime) -> None:
        """Clause 8.3."""

    def time_constrained_enabled(self, time: LogicalTime) -> None:
        """Clause 8.6."""

    def flush_queue_grant(self, time: LogicalTime, optimistic_time: LogicalTime) -> None:
        """Clause 8.13."""

    def time_advance_grant(self, time: LogicalTime) -> None:
        """Clause 8.14."""

    def request_retraction(self, retraction: MessageRetractionHandle) -> None:
        """Clause 8.23."""

    def time_advance_blocked(self, blocking: Blocking) -> None:
        """Not of the standard: a time advance takes longer than `set_time_advance_patience` allowed; called again and again."""

    # --- urgency ---------------------------------------------------------------------------------------------

    def deadline_missed(self, miss: DeadlineMiss) -> None:
        """Not of the standard: a callback was not dealt with within the deadline of its class (`set_class_qos`)."""

    def receive_correlation(self, number: int, events: tuple[CorrelatedEvent, ...]) -> None:
        """Not of the standard: the messages of a group have come (`correlate`), in the order of their arrival."""
