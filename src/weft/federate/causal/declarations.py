"""What becomes of the federate's declarations: the other members hear what it subscribes to, before the RTI does.

So nothing can come to the federate before it is counted among those who do not know yet what it wants (`want_more`).  Without
tables the others need to know only of what is wanted without regions and rates.

The MOM, which says who is gone, is watched beside it.

`_AROUND`, at the end, says what is done around which service.  What stands there takes the service's own arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager
from functools import wraps

from weft.federate.ambassador import RTIambassador
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

    @contextmanager
    def _subscribing(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> Iterator[None]:
        with self._wanting(self._name_of(interaction_class)):
            yield
            self._listen_again(interaction_class, True)

    @contextmanager
    def _unsubscribing(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> Iterator[None]:
        yield
        self._listen_again(interaction_class, False)
        if time is None:
            self._unwant(self._name_of(interaction_class))

    def _listen_again(self, interaction_class: InteractionClassHandle, shown: bool) -> None:
        """The classes that we hear ourselves stay subscribed."""
        with self._lock:
            if self._seat is not None:
                self._seat.listen_again(interaction_class, shown)

    @contextmanager
    def _publishing(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> Iterator[None]:
        yield
        self._tell_mom(interaction_class, True)

    @contextmanager
    def _unpublishing(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> Iterator[None]:
        yield
        self._tell_mom(interaction_class, False)

    def _tell_mom(self, interaction_class: InteractionClassHandle, published: bool) -> None:
        with self._lock:
            if self._seat is not None and self._seat.mom is not None:
                self._seat.mom.published(interaction_class, published)

    def _subscribing_at(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> AbstractContextManager[None]:
        return self._wanting_at(self._name_of(interaction_class), regions)

    @contextmanager
    def _unsubscribing_at(
        self,
        interaction_class: InteractionClassHandle,
        regions: Set[RegionHandle],
        *,
        time: AnyTime | None = None,
    ) -> Iterator[None]:
        yield
        if time is None:
            self._unwant_at(self._name_of(interaction_class), regions)

    def _name_of(self, interaction_class: InteractionClassHandle) -> list[str]:
        """Empty if the class is ours, or no class: then the RTI says so."""
        seat = self._seat
        if seat is None or interaction_class == seat.interaction:
            return []
        try:
            return seat.addresses.lineage(interaction_class)[:1]
        except RTIexception:
            return []

    @contextmanager
    def _changing_transportation(
        self, interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle
    ) -> Iterator[None]:
        with self._lock:
            if self._seat is not None:
                self._seat.addresses.transportation_changes(interaction_class)
        yield

    # --- objects ----------------------------------------------------------------------------------------------

    @contextmanager
    def _subscribing_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> Iterator[None]:
        names = self._names_of(object_class, attributes, not update_rate_designator)
        with self._wanting(names), self._watched(object_class, attributes):
            yield

    @contextmanager
    def _subscribing_attributes_at(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> Iterator[None]:
        attributes, regions = _apart(attributes_and_regions)
        names = self._names_of(object_class, attributes, True)
        with self._wanting_at(names, regions), self._watched(object_class, attributes):
            yield

    @contextmanager
    def _unsubscribing_attributes_at(
        self,
        object_class: ObjectClassHandle,
        attributes_and_regions: AttributeRegions,
        *,
        time: AnyTime | None = None,
    ) -> Iterator[None]:
        yield
        attributes, regions = _apart(attributes_and_regions)
        if time is None:
            self._unwant_at(self._names_of(object_class, attributes, True), regions)

    @contextmanager
    def _unsubscribing_class(
        self, object_class: ObjectClassHandle, *, time: AnyTime | None = None
    ) -> Iterator[None]:
        with self._unwatched(object_class, None):
            yield
        seat = self._seat
        if seat is not None and time is None:
            start = f"{self._rti.get_object_class_name(object_class)}/"
            self._unwant([one for one in list(seat.party.wants) if one.lstrip(IN_PART).startswith(start)])

    @contextmanager
    def _unsubscribing_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        *,
        time: AnyTime | None = None,
    ) -> Iterator[None]:
        with self._unwatched(object_class, attributes):
            yield
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

    @contextmanager
    def _making_special(
        self, object_instance: ObjectInstanceHandle, *rest: object, **named: object
    ) -> Iterator[None]:
        """It has regions or a transportation type of its own from now on."""
        with self._lock:
            if self._seat is not None:
                self._seat.addresses.special(object_instance)
        yield

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


_AROUND: dict[str, Callable[..., AbstractContextManager[None]]] = {
    "subscribe_interaction_class": CausalDeclarations._subscribing,
    "subscribe_interaction_class_passively": CausalDeclarations._subscribing,
    "unsubscribe_interaction_class": CausalDeclarations._unsubscribing,
    "publish_interaction_class": CausalDeclarations._publishing,
    "unpublish_interaction_class": CausalDeclarations._unpublishing,
    "subscribe_interaction_class_with_regions": CausalDeclarations._subscribing_at,
    "subscribe_interaction_class_passively_with_regions": CausalDeclarations._subscribing_at,
    "unsubscribe_interaction_class_with_regions": CausalDeclarations._unsubscribing_at,
    "request_interaction_transportation_type_change": CausalDeclarations._changing_transportation,
    "subscribe_object_class_attributes": CausalDeclarations._subscribing_attributes,
    "subscribe_object_class_attributes_passively": CausalDeclarations._subscribing_attributes,
    "subscribe_object_class_attributes_with_regions": CausalDeclarations._subscribing_attributes_at,
    "subscribe_object_class_attributes_passively_with_regions": CausalDeclarations._subscribing_attributes_at,
    "unsubscribe_object_class_attributes_with_regions": CausalDeclarations._unsubscribing_attributes_at,
    "unsubscribe_object_class": CausalDeclarations._unsubscribing_class,
    "unsubscribe_object_class_attributes": CausalDeclarations._unsubscribing_attributes,
    "associate_regions_for_updates": CausalDeclarations._making_special,
    "request_attribute_transportation_type_change": CausalDeclarations._making_special,
}


def _within(service: str, around: Callable[..., AbstractContextManager[None]]) -> Callable[..., None]:
    @wraps(getattr(RTIambassador, service))
    def call(self: CausalDeclarations, *arguments: object, **named: object) -> None:
        with around(self, *arguments, **named):
            getattr(self._rti, service)(*arguments, **named)

    return call


for _service, _around in _AROUND.items():
    setattr(CausalDeclarations, _service, _within(_service, _around))
