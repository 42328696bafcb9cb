"""What the RTI calls back on behalf of a `Federate`."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING

from weft.federate.callbacks import FederateAmbassador
from weft.model.enums import CallbackModel, RestoreFailureReason, SaveFailureReason
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import CorrelatedEvent, DeadlineMiss, FederationExecutionMemberInformation
from weft.model.time import LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


def _heard(hear: Callable[..., None]) -> Callable[..., None]:
    """Whoever waits in `run_until` while another thread calls back looks again after each callback."""

    def heard(self: Ears, *arguments: object) -> None:
        try:
            hear(self, *arguments)
        finally:
            self.wake()

    return heard


class Ears(FederateAmbassador):
    """Passes on what a `Federate` wants to hear."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate

    def wake(self) -> None:
        federate = self._federate
        if federate._callbacks is CallbackModel.IMMEDIATE:
            with federate._news:
                federate._news.notify_all()

    @_heard
    def receive_interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: dict[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        optional_sent_regions: Set[RegionHandle] | None,
        time: LogicalTime | None = None,
        *rest: object,
    ) -> None:
        self._federate._received(
            interaction_class,
            parameter_values,
            user_supplied_tag,
            producing_federate,
            optional_sent_regions,
            time,
        )

    @_heard
    def discover_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        object_class: ObjectClassHandle,
        object_instance_name: str,
        producing_federate: FederateHandle,
    ) -> None:
        self._federate._discovered(object_instance, object_class, object_instance_name, producing_federate)

    @_heard
    def reflect_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: dict[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        optional_sent_regions: Set[RegionHandle] | None,
        *rest: object,
    ) -> None:
        self._federate._reflected(
            object_instance, attribute_values, producing_federate, optional_sent_regions
        )

    @_heard
    def remove_object_instance(self, object_instance: ObjectInstanceHandle, *rest: object) -> None:
        self._federate._removed(object_instance)

    @_heard
    def deadline_missed(self, miss: DeadlineMiss) -> None:
        self._federate._attention.missed(miss)

    @_heard
    def receive_correlation(self, number: int, events: tuple[CorrelatedEvent, ...]) -> None:
        self._federate._attention.fired(number, events)

    @_heard
    def announce_synchronization_point(
        self, synchronization_point_label: str, user_supplied_tag: bytes
    ) -> None:
        self._federate._meeting.announced.add(synchronization_point_label)

    @_heard
    def federation_synchronized(
        self, synchronization_point_label: str, failed_to_sync_set: Set[FederateHandle]
    ) -> None:
        self._federate._meeting.reached(synchronization_point_label)

    @_heard
    def report_federation_execution_members(
        self, federation_name: str, report: Set[FederationExecutionMemberInformation]
    ) -> None:
        if federation_name == self._federate.federation:
            self._federate._meeting.members = frozenset(member.federate_name for member in report)

    @_heard
    def initiate_federate_save(self, label: str, time: LogicalTime | None = None) -> None:
        self._federate._pauses.save(label)

    @_heard
    def federation_saved(self) -> None:
        self._federate._pauses.outcome = True

    @_heard
    def federation_not_saved(self, reason: SaveFailureReason) -> None:
        self._federate._pauses.outcome = False

    @_heard
    def request_federation_restore_failed(self, label: str) -> None:
        self._federate._pauses.outcome = False

    @_heard
    def initiate_federate_restore(
        self, label: str, federate_name: str, post_restore_federate_handle: FederateHandle
    ) -> None:
        self._federate._pauses.restore(label, federate_name)

    @_heard
    def federation_restored(self) -> None:
        self._federate._pauses.restored()

    @_heard
    def federation_not_restored(self, reason: RestoreFailureReason) -> None:
        self._federate._pauses.outcome = False
