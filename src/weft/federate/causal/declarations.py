"""What becomes of the federate's declarations: the other members hear what it subscribes to, before the RTI does.

So nothing can come to the federate before it is counted among those who do not know yet what it wants (`want_more`).  Without
tables the others need to know only of what is wanted without regions and rates.

The MOM, which says who is gone, is watched beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager

from weft.federate.causal.addresses import IN_PART
from weft.federate.causal.middle import Middle
from weft.federate.services.calls import AttributeRegions
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.time import AnyTime


class CausalDeclarations(Middle):
    # --- interactions -----------------------------------------------------------------------------------------

    def subscribe_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        with self._wanting(self._name_of(interaction_class)):
            self._rti.subscribe_interaction_class(interaction_class, time=time)
            self._listen_again(interaction_class, True)

    def subscribe_interaction_class_passively(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        with self._wanting(self._name_of(interaction_class)):
            self._rti.subscribe_interaction_class_passively(interaction_class, time=time)
            self._listen_again(interaction_class, True)

    def unsubscribe_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        self._rti.unsubscribe_interaction_class(interaction_class, time=time)
        self._listen_again(interaction_class, False)
        if time is None:
            self._unwant(self._name_of(interaction_class))

    def publish_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        self._rti.publish_interaction_class(interaction_class, time=time)
        with self._lock:
            if self._seat is not None and self._seat.mom is not None:
                self._seat.mom.published(interaction_class, True)

    def unpublish_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        self._rti.unpublish_interaction_class(interaction_class, time=time)
        with self._lock:
            if self._seat is not None and self._seat.mom is not None:
                self._seat.mom.published(interaction_class, False)

    def _listen_again(self, interaction_class: InteractionClassHandle, shown: bool) -> None:
        """The classes that we hear ourselves stay subscribed."""
        with self._lock:
            if self._seat is not None:
                self._seat.listen_again(interaction_class, shown)

    def subscribe_interaction_class_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        with self._wanting_at(self._name_of(interaction_class), regions):
            self._rti.subscribe_interaction_class_with_regions(interaction_class, regions, time=time)

    def subscribe_interaction_class_passively_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        with self._wanting_at(self._name_of(interaction_class), regions):
            self._rti.subscribe_interaction_class_passively_with_regions(
                interaction_class, regions, time=time
            )

    def unsubscribe_interaction_class_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        self._rti.unsubscribe_interaction_class_with_regions(interaction_class, regions, time=time)
        if time is None:
            self._unwant_at(self._name_of(interaction_class), regions)

    def _name_of(self, interaction_class: InteractionClassHandle) -> list[str]:
        """None if the class is ours, or no class: then the RTI says so."""
        seat = self._seat
        if seat is None or interaction_class == seat.interaction:
            return []
        try:
            return seat.addresses.lineage(interaction_class)[:1]
        except RTIexception:
            return []

    def request_interaction_transportation_type_change(
        self, interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle
    ) -> None:
        with self._lock:
            if self._seat is not None:
                self._seat.addresses.transportation_changes(interaction_class)
        self._rti.request_interaction_transportation_type_change(interaction_class, transportation_type)

    # --- objects ----------------------------------------------------------------------------------------------

    def subscribe_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        names = self._names_of(object_class, attributes, not update_rate_designator)
        with self._wanting(names), self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes(
                object_class, attributes, update_rate_designator, time=time
            )

    def subscribe_object_class_attributes_passively(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        names = self._names_of(object_class, attributes, not update_rate_designator)
        with self._wanting(names), self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes_passively(
                object_class, attributes, update_rate_designator, time=time
            )

    def subscribe_object_class_attributes_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        attributes, regions = _apart(attributes_and_regions)
        names = self._names_of(object_class, attributes, True)
        with self._wanting_at(names, regions), self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes_with_regions(
                object_class, attributes_and_regions, update_rate_designator, time=time
            )

    def subscribe_object_class_attributes_passively_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        attributes, regions = _apart(attributes_and_regions)
        names = self._names_of(object_class, attributes, True)
        with self._wanting_at(names, regions), self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes_passively_with_regions(
                object_class, attributes_and_regions, update_rate_designator, time=time
            )

    def unsubscribe_object_class_attributes_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        *,
        time: AnyTime | None = None,
    ) -> None:
        self._rti.unsubscribe_object_class_attributes_with_regions(
            object_class, attributes_and_regions, time=time
        )
        attributes, regions = _apart(attributes_and_regions)
        if time is None:
            self._unwant_at(self._names_of(object_class, attributes, True), regions)

    def unsubscribe_object_class(
        self, object_class: ObjectClassHandle, *, time: AnyTime | None = None
    ) -> None:
        with self._unwatched(object_class, None):
            self._rti.unsubscribe_object_class(object_class, time=time)
        seat = self._seat
        if seat is not None and time is None:
            start = f"{self._rti.get_object_class_name(object_class)}/"
            self._unwant([one for one in list(seat.party.wants) if one.lstrip(IN_PART).startswith(start)])

    def unsubscribe_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        with self._unwatched(object_class, attributes):
            self._rti.unsubscribe_object_class_attributes(object_class, attributes, time=time)
        if time is None:
            self._unwant(self._names_of(object_class, attributes, True))
            self._unwant(self._names_of(object_class, attributes, False))

    def _names_of(
        self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle], wholly: bool
    ) -> list[str]:
        seat = self._seat
        if seat is None or not (seat.tables or wholly):
            return []
        try:
            return seat.addresses.attribute_names(object_class, attributes, wholly)
        except RTIexception:
            return []  # the RTI says what is wrong

    # --- our own instances ------------------------------------------------------------------------------------

    def register_object_instance(
        self, object_class: ObjectClassHandle, object_instance_name: str | None = None
    ) -> ObjectInstanceHandle:
        instance = self._rti.register_object_instance(object_class, object_instance_name)
        with self._lock:
            if self._seat is not None:
                self._seat.addresses.registered(instance, object_class)
        return instance

    def associate_regions_for_updates(
        self, object_instance: ObjectInstanceHandle, attributes_and_regions: AttributeRegions
    ) -> None:
        self._make_special(object_instance)
        self._rti.associate_regions_for_updates(object_instance, attributes_and_regions)

    def request_attribute_transportation_type_change(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) -> None:
        self._make_special(object_instance)
        self._rti.request_attribute_transportation_type_change(
            object_instance, attributes, transportation_type
        )

    def _make_special(self, instance: ObjectInstanceHandle) -> None:
        with self._lock:
            if self._seat is not None:
                self._seat.addresses.special(instance)

    # --- telling the others -----------------------------------------------------------------------------------

    @contextmanager
    def _wanting(self, names: list[str]) -> Iterator[None]:
        """They are told before the RTI; if it refuses, told again."""
        with self._lock:
            seat = self._seat
            new = [] if seat is None else [one for one in names if one not in seat.party.wants]
            if seat is not None:
                seat.party.want_all(new)
            try:
                yield
            except RTIexception:
                if seat is not None:
                    seat.party.unwant_all(new)
                raise

    @contextmanager
    def _wanting_at(self, names: list[str], regions: Iterable[RegionHandle]) -> Iterator[None]:
        seat = self._seat
        if seat is None or not seat.tables:
            yield
            return
        with self._wanting([IN_PART + one for one in names]):
            yield
            for name in names:
                seat.regions.setdefault(IN_PART + name, set()).update(regions)

    def _unwant(self, names: list[str]) -> None:
        with self._lock:
            seat = self._seat
            if seat is not None:
                seat.party.unwant_all([one for one in names if not seat.regions.get(one)])

    def _unwant_at(self, names: list[str], regions: Iterable[RegionHandle]) -> None:
        with self._lock:
            seat = self._seat
            if seat is not None:
                for name in names:
                    seat.regions.get(IN_PART + name, set()).difference_update(regions)
                self._unwant([IN_PART + name for name in names])

    @contextmanager
    def _watched(self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle]) -> Iterator[None]:
        """The federate wants to see the MOM's federates: those that we know and it does not are to be discovered anew."""
        with self._lock:
            seat = self._seat
            if seat is None or object_class != seat.federate_class or not attributes:
                yield
                return
            for instance in seat.work.federates.keys() - seat.work.shown:
                self._rti.local_delete_object_instance(instance)
                del seat.work.federates[instance]
            before = seat.watching, seat.watching_handle
            seat.watching = True
            seat.watching_handle = seat.watching_handle or seat.federate_attribute in attributes
            try:
                yield
            except RTIexception:
                seat.watching, seat.watching_handle = before
                self._rti.unsubscribe_object_class_attributes(object_class, {seat.federate_attribute})
                seat.watch()
                raise

    @contextmanager
    def _unwatched(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle] | None
    ) -> Iterator[None]:
        with self._lock:
            yield
            seat = self._seat
            if seat is not None and object_class == seat.federate_class:
                if attributes is None:
                    seat.watching = False
                if attributes is None or seat.federate_attribute in attributes:
                    seat.watching_handle = False
                seat.watch()


def _apart(pairs: AttributeRegions) -> tuple[set[AttributeHandle], set[RegionHandle]]:
    attributes, regions = set[AttributeHandle](), set[RegionHandle]()
    for some, at in pairs:
        attributes.update(some)
        regions.update(at)
    return attributes, regions
