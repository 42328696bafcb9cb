"""What the federate subscribes to: the other members hear of its interaction classes, and the MOM is watched beside it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from weft.federate.causal.middle import Middle
from weft.federate.services.calls import AttributeRegions
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    TransportationTypeHandle,
)
from weft.model.time import LogicalTime


class Declaring(Middle):
    def subscribe_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        self._rti.subscribe_interaction_class(interaction_class)
        self._want(interaction_class, True)

    def subscribe_interaction_class_passively(self, interaction_class: InteractionClassHandle) -> None:
        self._rti.subscribe_interaction_class_passively(interaction_class)
        self._want(interaction_class, True)

    def unsubscribe_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        self._rti.unsubscribe_interaction_class(interaction_class)
        self._want(interaction_class, False)

    def _want(self, interaction_class: InteractionClassHandle, wanted: bool) -> None:
        with self._lock:
            seat = self._seat
            if seat is not None:
                if interaction_class == seat.interaction:
                    self._rti.subscribe_interaction_class_passively(interaction_class)
                    return
                name = seat.lineage(interaction_class)[0]
                if wanted:
                    seat.party.want(name)
                else:
                    seat.party.unwant(name)

    def request_interaction_transportation_type_change(
        self, interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle
    ) -> None:
        with self._lock:
            if self._seat is not None:
                self._seat.transportation_changes(interaction_class)
        self._rti.request_interaction_transportation_type_change(interaction_class, transportation_type)

    def subscribe_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
    ) -> None:
        rate = () if update_rate_designator is None else (update_rate_designator,)
        with self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes(object_class, attributes, *rate)

    def subscribe_object_class_attributes_passively(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
    ) -> None:
        rate = () if update_rate_designator is None else (update_rate_designator,)
        with self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes_passively(object_class, attributes, *rate)

    def subscribe_object_class_attributes_with_regions(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: LogicalTime | None = None,
    ) -> None:
        attributes = {each for some, _ in attributes_and_regions for each in some}
        with self._watched(object_class, attributes):
            self._rti.subscribe_object_class_attributes_with_regions(
                object_class, attributes_and_regions, update_rate_designator, time=time
            )

    def unsubscribe_object_class(self, object_class: ObjectClassHandle) -> None:
        with self._unwatched(object_class, None):
            self._rti.unsubscribe_object_class(object_class)

    def unsubscribe_object_class_attributes(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle]
    ) -> None:
        with self._unwatched(object_class, attributes):
            self._rti.unsubscribe_object_class_attributes(object_class, attributes)

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
