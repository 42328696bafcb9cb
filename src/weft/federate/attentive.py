"""What a `Federate` says of urgency and deadlines, and what it wants to hear in groups (docs/explanation/urgency.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.channel import Dependency, Timeout, Urgency
from weft.federate.correlation import Heard, leaves, resolved
from weft.federate.things import ReceivedInteraction, ReceivedUpdate
from weft.federate.vocabulary import AnyKind, short
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import CorrelatedEvent, DeadlineMiss
from weft.model.time import LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


Happened = ReceivedInteraction | ReceivedUpdate | Timeout
"""What a group is made of."""


@dataclass(slots=True)
class _Group:
    number: int
    dependency: Dependency
    handler: Callable[[list[Happened]], object]
    singly: bool = False


class Attention:
    """Of one `Federate`."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        self._groups: dict[int, _Group] = {}
        self._numbered = 0
        self.misses: list[Callable[[DeadlineMiss], object]] = []

    # --- asking -----------------------------------------------------------------------------------------------

    def set(self, name: AnyKind, urgency: int | Urgency | None, deadline: float) -> None:
        federate = self._federate
        is_interaction = federate._vocabulary.is_interaction(name)
        full = federate._vocabulary.name(name)
        kind = federate._interaction_class(full) if is_interaction else federate._object_class(full)
        federate.rti.set_class_qos(kind, urgency, deadline)

    def correlate(self, dependency: Dependency, handler: Callable[[list[Happened]], object]) -> None:
        self._numbered += 1
        group = _Group(self._numbered, dependency, handler)
        self._ask(group)
        self._groups[group.number] = group

    def come_again(self) -> None:
        for group in self._groups.values():
            self._ask(group)
        if self.misses:
            self._federate.rti.query_qos()

    def cancel(self, handler: Callable[[list[Happened]], object]) -> None:
        for number in [n for n, group in self._groups.items() if group.handler is handler]:
            self._federate.rti.cancel_correlation(number)
            del self._groups[number]

    def _ask(self, group: _Group) -> None:
        """Subscribe to what it waits for first: what nobody subscribes to does not come."""
        federate = self._federate
        asked = resolved(group.dependency, self._resolve)
        self._groups[group.number] = group  # first: with IMMEDIATE callbacks it may fire during the call
        try:
            group.singly = self._wants_singly(group.dependency)
            federate.rti.correlate(asked, group.singly, group.number)
            for leaf in leaves(group.dependency):
                federate.subscribe(str(leaf.what), *[str(one) for one in leaf.attributes])
        except BaseException:
            self._groups.pop(group.number, None)
            raise

    def _resolve(
        self, leaf: Heard
    ) -> tuple[InteractionClassHandle | ObjectClassHandle, list[AttributeHandle]]:
        federate = self._federate
        name = str(leaf.what)
        if federate._vocabulary.is_interaction(name):
            return federate._interaction_class(name), []
        kind = federate._object_class(name)
        names = [str(one) for one in leaf.attributes]
        return kind, sorted(federate._attributes(kind, names)) if names else []

    def _wants_singly(self, dependency: Dependency) -> bool:
        """Is there a handler, too, for some of what it waits for?"""
        vocabulary = self._federate._vocabulary
        for leaf in leaves(dependency):
            name = str(leaf.what)
            if vocabulary.is_interaction(name):
                full, handled = vocabulary.interaction_class(name), list(self._federate._hears)
            else:
                full, handled = vocabulary.object_class(name), list(self._federate._reflects)
            if any(_related(full, one) for one in handled):
                return True
        return False

    def handlers_changed(self) -> None:
        for group in self._groups.values():
            singly = self._wants_singly(group.dependency)
            if singly != group.singly:
                group.singly = singly
                self._federate.rti.correlate_singly(group.number, singly)

    # --- hearing ----------------------------------------------------------------------------------------------

    def missed(self, miss: DeadlineMiss) -> None:
        for handler in self.misses:
            handler(miss)

    def fired(self, number: int, events: tuple[CorrelatedEvent, ...]) -> None:
        group = self._groups.get(number)
        if group is not None:
            group.handler(list(self._happened(events)))

    def _happened(self, events: tuple[CorrelatedEvent, ...]) -> Iterator[Happened]:
        ears = self._federate._ears
        for event in events:
            if event.class_handle is None:
                yield Timeout(*event.arguments)
            elif event.method == "reflect_attribute_values":
                yield self._update(event.class_handle, *event.arguments)
            elif event.method == "receive_interaction":
                cls, values, tag, _, sender, regions, *stamp = event.arguments
                yield ears.interaction(cls, values, tag, sender, regions, stamp[0] if stamp else None)
            else:
                cls, _, values, tag, _, sender, *stamp = event.arguments
                yield ears.interaction(cls, values, tag, sender, None, stamp[0] if stamp else None)

    def _update(
        self,
        kind: Handle,
        handle: ObjectInstanceHandle,
        values: dict[AttributeHandle, bytes],
        tag: bytes,
        transportation: TransportationTypeHandle,
        sender: FederateHandle,
        regions: Set[RegionHandle] | None,
        time: LogicalTime | None = None,
        *rest: object,
    ) -> ReceivedUpdate:
        federate = self._federate
        full = federate._name(federate.rti.get_object_class_name, kind)
        found = federate.objects.get(handle)
        name, when = "" if found is None else found.name, None if time is None else time.value
        changes, encoded = federate._ears.decoded("attribute", kind, full, values, sender, name)
        if found is not None:
            found._changed(changes, encoded, federate._federate_name(sender))
            found.regions = federate._regions.told(regions)
        return ReceivedUpdate(short(full), found, changes, federate._federate_name(sender), tag, when)


def _related(one: str, other: str) -> bool:
    """Is one of the two classes the other, or above it?"""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
