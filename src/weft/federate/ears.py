"""What the RTI calls back on behalf of a `Federate`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING

from weft.federate.awaited import CONSTRAINED, REGULATION
from weft.federate.objects.hears import ObjectEars, heard
from weft.federate.state import ANSWER, TIMED_ANSWER
from weft.federate.things import ReceivedInteraction, ReceivedUpdate, RemoteObject, Undecoded
from weft.federate.vocabulary import short
from weft.fom.classes import HLAclass
from weft.model.enums import RestoreFailureReason, SaveFailureReason
from weft.model.errors import EncodingError, FederateNotExecutionMember, NotConnected
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import Blocking, CorrelatedEvent, DeadlineMiss, FederationExecutionMemberInformation
from weft.model.time import LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


class Ears(ObjectEars):
    """Passes on what a `Federate` wants to hear."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate

    @heard
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
        federate = self._federate
        full = federate._name(federate.rti.get_interaction_class_name, interaction_class)
        heard = self.interaction(
            interaction_class,
            parameter_values,
            user_supplied_tag,
            producing_federate,
            optional_sent_regions,
            time,
        )
        self.tell(federate._hears, full, heard)

    def interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameters: dict[ParameterHandle, bytes],
        tag: bytes,
        sender: FederateHandle,
        regions: Set[RegionHandle] | None,
        time: LogicalTime | None,
    ) -> ReceivedInteraction:
        federate = self._federate
        full = federate._name(federate.rti.get_interaction_class_name, interaction_class)
        values, encoded = self.decoded("parameter", interaction_class, full, parameters, sender)
        told = federate._regions.told(regions)
        when = None if time is None else time.value
        by = federate._federate_name(sender)
        return ReceivedInteraction(short(full), by, values, tag, when, told, encoded)

    @heard
    def discover_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        object_class: ObjectClassHandle,
        object_instance_name: str,
        producing_federate: FederateHandle,
    ) -> None:
        federate = self._federate
        full = federate.rti.get_object_class_name(object_class)
        owner = federate._federate_name(producing_federate)
        found = RemoteObject(object_instance_name, short(full), owner, object_instance, object_class, full)
        federate.objects[object_instance] = found
        self.tell(federate._discovers, full, found)

    @heard
    def reflect_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: dict[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        transportation_type: TransportationTypeHandle,
        producing_federate: FederateHandle,
        optional_sent_regions: Set[RegionHandle] | None,
        time: LogicalTime | None = None,
        *rest: object,
    ) -> None:
        federate = self._federate
        found = (
            federate.objects.get(object_instance)
            or federate._ownership.seen(object_instance)
            or federate._pauses.known(object_instance)
        )
        if found is None:
            return
        full, sender, tag = found.full_kind, producing_federate, user_supplied_tag
        of = found.object_class
        changes, encoded = self.decoded("attribute", of, full, attribute_values, sender, found.name)
        if tag in (ANSWER, TIMED_ANSWER):
            changes, tag = federate._state.news(found, changes, tag), b""
            if not changes:
                return
        by = federate._federate_name(sender)
        found._changed(changes, encoded, by)
        found.regions = federate._regions.told(optional_sent_regions)
        found.time = None if time is None else time.value
        if federate._reflects:
            update = ReceivedUpdate(found.kind, found, changes, by, tag, found.time)
            self.tell(federate._reflects, full, found, update)

    def decoded(
        self,
        what: str,
        of: Handle,
        full: str,
        values: Mapping[AttributeHandle, bytes] | Mapping[ParameterHandle, bytes],
        sender: FederateHandle,
        instance: str = "",
    ) -> tuple[dict[str, object], dict[str, bytes]]:
        """Values of a class by name, of each "attribute" or "parameter", and their bytes; what cannot be decoded is left out."""
        federate = self._federate
        rti, vocabulary = federate.rti, federate._vocabulary
        name_of: Callable[..., str] = (
            rti.get_attribute_name if what == "attribute" else rti.get_parameter_name
        )
        found, encoded = {}, {}
        for handle, data in values.items():
            name = federate._name(name_of, of, handle)
            try:
                found[name] = vocabulary.decode(what, full, name, data)
                encoded[name] = data
            except EncodingError as error:
                by = federate._federate_name(sender)
                self._complain(Undecoded(short(full), name, instance, by, data, str(error)), full)
        return found, encoded

    def complain_of(self, kind: type[HLAclass], instance: str, sender: str, error: EncodingError) -> None:
        """What came cannot be one of a class of Python."""
        full = kind.HLA_NAME
        self._complain(Undecoded(short(full), "", instance, sender, b"", str(error)), full)

    def _complain(self, found: Undecoded, full: str) -> None:
        """One bad value is another federate's mistake: it is told, and the others are handed over."""
        federate = self._federate
        federate.undecoded.append(found)
        if federate._complainers:
            for complain in federate._complainers:
                complain(found)
            return
        key = (full, found.name, found.sender)
        if key not in federate._complained:  # once: it may come with every update
            federate._complained.add(key)
            logging.getLogger("weft").warning(
                "%s (further ones like it are not logged; federate.undecoded has them)", found
            )

    @heard
    def remove_object_instance(self, object_instance: ObjectInstanceHandle, *rest: object) -> None:
        mine = self._federate._state.own.get(object_instance)
        if mine is not None:  # it had acquired some of its attributes
            self._federate._state.remove(mine)
        found = self._federate.objects.pop(object_instance, None)
        if found is not None:
            self.tell(self._federate._removes, found.full_kind, found)

    @heard
    def time_regulation_enabled(self, time: LogicalTime) -> None:
        self._federate._clock.enabled(REGULATION, time)

    @heard
    def time_constrained_enabled(self, time: LogicalTime) -> None:
        self._federate._clock.enabled(CONSTRAINED, time)

    @heard
    def time_advance_grant(self, time: LogicalTime) -> None:
        self._federate._clock.granted(time)

    @heard
    def flush_queue_grant(self, time: LogicalTime, optimistic_time: LogicalTime) -> None:
        self._federate._clock.granted(time)

    @heard
    def time_advance_blocked(self, blocking: Blocking) -> None:
        self._federate._clock.blocked(blocking)

    @heard
    def federate_resigned(self, reason_for_resign_description: str) -> None:
        self._federate._clock.ended(FederateNotExecutionMember(reason_for_resign_description))

    @heard
    def connection_lost(self, fault_description: str) -> None:
        self._federate._clock.ended(NotConnected(fault_description))

    @heard
    def deadline_missed(self, miss: DeadlineMiss) -> None:
        self._federate._attention.missed(miss)

    @heard
    def receive_correlation(self, number: int, events: tuple[CorrelatedEvent, ...]) -> None:
        self._federate._attention.fired(number, events)

    @heard
    def announce_synchronization_point(
        self, synchronization_point_label: str, user_supplied_tag: bytes
    ) -> None:
        self._federate._meeting.announced.add(synchronization_point_label)

    @heard
    def federation_synchronized(
        self, synchronization_point_label: str, failed_to_sync_set: Set[FederateHandle]
    ) -> None:
        self._federate._meeting.reached(synchronization_point_label)

    @heard
    def report_federation_execution_members(
        self, federation_name: str, report: Set[FederationExecutionMemberInformation]
    ) -> None:
        if federation_name == self._federate.federation:
            self._federate._meeting.members = frozenset(member.federate_name for member in report)

    @heard
    def initiate_federate_save(self, label: str, time: LogicalTime | None = None) -> None:
        self._federate._pauses.save(label)

    @heard
    def federation_saved(self) -> None:
        self._federate._pauses.outcome = True

    @heard
    def federation_not_saved(self, reason: SaveFailureReason) -> None:
        self._federate._pauses.outcome = False

    @heard
    def request_federation_restore_failed(self, label: str) -> None:
        self._federate._pauses.outcome = False

    @heard
    def initiate_federate_restore(
        self, label: str, federate_name: str, post_restore_federate_handle: FederateHandle
    ) -> None:
        self._federate._pauses.restore(label, federate_name)

    @heard
    def federation_restored(self) -> None:
        self._federate._pauses.restored()

    @heard
    def federation_not_restored(self, reason: RestoreFailureReason) -> None:
        self._federate._pauses.outcome = False
