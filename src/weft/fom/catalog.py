"""The object model of a running federation, with a handle for everything in it.

A federate that joins may bring further modules, so a catalog grows while it is in use.  It only ever grows: `absorb` gives
handles to what is new and leaves every handle given before as it is, so handles that federates keep stay right.  Nodes
of one federation absorb the same modules in the same order and therefore agree on all handles without talking.

Entries hold what each message needs ready to hand: a class knows its lineage (itself first, the root last) and all attributes
or parameters it has, inherited ones included.
"""

from __future__ import annotations

import re

from weft.fom.objectmodel import (
    INTERACTION_ROOT,
    OBJECT_ROOT,
    PRIVILEGE_TO_DELETE,
    Attribute,
    InteractionClass,
    ObjectClass,
    ObjectModel,
)
from weft.fom.orders import meaning
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ParameterHandle,
    TransportationTypeHandle,
)

RELIABLE = "HLAreliable"
BEST_EFFORT = "HLAbestEffort"


class AttributeEntry:
    def __init__(
        self,
        handle: AttributeHandle,
        name: str,
        transportation: TransportationTypeHandle,
        order: OrderType,
        data_type: str,
        priority: int = 0,
    ) -> None:
        self.handle = handle
        self.name = name
        self.transportation = transportation
        self.order = order
        self.priority = priority  # how urgent in priority order; 0 is the most urgent
        self.data_type = data_type


class ObjectClassEntry:
    def __init__(self, handle: ObjectClassHandle, name: str, parent: ObjectClassEntry | None) -> None:
        self.handle = handle
        self.name = name
        self.parent = parent
        self.lineage: tuple[ObjectClassEntry, ...] = (self,) if parent is None else (self, *parent.lineage)
        self.children: list[ObjectClassEntry] = []
        self.attributes: dict[AttributeHandle, AttributeEntry] = (
            {} if parent is None else dict(parent.attributes)
        )
        self.names: dict[str, AttributeHandle] = {} if parent is None else dict(parent.names)
        if parent is not None:
            parent.children.append(self)

    def family(self) -> list[ObjectClassEntry]:
        """This class and everything below it."""
        found = [self]
        for child in self.children:
            found.extend(child.family())
        return found

    def add(self, attribute: AttributeEntry) -> None:
        for member in self.family():
            member.attributes[attribute.handle] = attribute
            member.names[attribute.name] = attribute.handle


class ParameterEntry:
    def __init__(self, handle: ParameterHandle, name: str, data_type: str) -> None:
        self.handle = handle
        self.name = name
        self.data_type = data_type


class InteractionClassEntry:
    def __init__(
        self,
        handle: InteractionClassHandle,
        name: str,
        parent: InteractionClassEntry | None,
        transportation: TransportationTypeHandle,
        order: OrderType,
        priority: int = 0,
    ) -> None:
        self.handle = handle
        self.name = name
        self.parent = parent
        self.priority = priority
        self.lineage: tuple[InteractionClassEntry, ...] = (
            (self,) if parent is None else (self, *parent.lineage)
        )
        self.children: list[InteractionClassEntry] = []
        self.parameters: dict[ParameterHandle, ParameterEntry] = (
            {} if parent is None else dict(parent.parameters)
        )
        self.names: dict[str, ParameterHandle] = {} if parent is None else dict(parent.names)
        self.transportation = transportation
        self.order = order
        if parent is not None:
            parent.children.append(self)

    def family(self) -> list[InteractionClassEntry]:
        """This class and everything below it."""
        found = [self]
        for child in self.children:
            found.extend(child.family())
        return found

    def add(self, parameter: ParameterEntry) -> None:
        for member in self.family():
            member.parameters[parameter.handle] = parameter
            member.names[parameter.name] = parameter.handle


class DimensionEntry:
    def __init__(self, handle: DimensionHandle, name: str, upper_bound: int) -> None:
        self.handle = handle
        self.name = name
        self.upper_bound = upper_bound


_RANGE = re.compile(r"\[\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?\)")


def _unspecified(text: str, upper_bound: int) -> tuple[int, int] | None:
    """The range that "value when unspecified" gives: "[2..5)", or "[2)" for one number; None for "Excluded" and all else."""
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return None
    lower = int(found[1])
    upper = lower + 1 if found[2] is None else int(found[2])
    return (lower, upper) if lower < upper <= upper_bound else None


class Catalog:
    """See the head of the file."""

    def __init__(self, model: ObjectModel) -> None:
        self.object_classes: dict[ObjectClassHandle, ObjectClassEntry] = {}
        self.interaction_classes: dict[InteractionClassHandle, InteractionClassEntry] = {}
        self.dimensions: dict[DimensionHandle, DimensionEntry] = {}
        self.transportations: dict[TransportationTypeHandle, str] = {}
        self.object_class_names: dict[str, ObjectClassEntry] = {}
        self.interaction_class_names: dict[str, InteractionClassEntry] = {}
        self.dimension_names: dict[str, DimensionEntry] = {}
        # The range of a dimension where a region does not name it, if the object model says one.
        self.unspecified: dict[DimensionHandle, tuple[int, int]] = {}
        self._available: dict[tuple[ObjectClassHandle, AttributeHandle], frozenset[DimensionHandle]] = {}
        self._available_to: dict[InteractionClassHandle, frozenset[DimensionHandle]] = {}
        self.transportation_names: dict[str, TransportationTypeHandle] = {}
        self._attributes_given = 0
        self._parameters_given = 0
        self.has_dimensions = False
        self.ordered = False  # something in it has an order of Weft's own
        self.model = model
        self.absorb(model)
        self.privilege: AttributeHandle = self.object_class_names[OBJECT_ROOT].names[PRIVILEGE_TO_DELETE]

    def absorb(self, model: ObjectModel) -> None:
        """Takes over a model that extends the one held so far."""
        self.model = model
        self._available.clear()
        standard = {} if model.mim is None else model.mim.dimensions
        self.has_dimensions = any(name not in standard for name in model.dimensions)  # besides the MOM's
        self._available_to.clear()
        # The standard ones first, whatever the order in the MIM: some clients know these two handles by heart.
        for name in (RELIABLE, BEST_EFFORT, *model.transportations):
            if name in model.transportations and name not in self.transportation_names:
                handle = TransportationTypeHandle.of(len(self.transportations) + 1)
                self.transportations[handle] = name
                self.transportation_names[name] = handle
        for dimension in model.dimensions.values():
            if dimension.name not in self.dimension_names:
                made = DimensionEntry(
                    DimensionHandle.of(len(self.dimensions) + 1), dimension.name, dimension.upper_bound
                )
                self.dimensions[made.handle] = made
                self.dimension_names[made.name] = made
                default = _unspecified(dimension.value, dimension.upper_bound)
                if default is not None:
                    self.unspecified[made.handle] = default
        for object_class in model.object_classes.values():
            self._absorb_object_class(object_class)
        for interaction_class in model.interaction_classes.values():
            self._absorb_interaction_class(interaction_class)

    def _absorb_object_class(self, given: ObjectClass) -> None:
        entry = self.object_class_names.get(given.name)
        if entry is None:
            parent = None if given.parent is None else self.object_class_names[given.parent]
            entry = ObjectClassEntry(ObjectClassHandle.of(len(self.object_classes) + 1), given.name, parent)
            self.object_classes[entry.handle] = entry
            self.object_class_names[entry.name] = entry
        for attribute in given.attributes:
            if attribute.name not in entry.names:
                entry.add(self._attribute(attribute))

    def _attribute(self, given: Attribute) -> AttributeEntry:
        self._attributes_given += 1
        order, priority = self._order(given.order)
        return AttributeEntry(
            AttributeHandle.of(self._attributes_given),
            given.name,
            self._transportation(given.transportation),
            order,
            given.data_type,
            priority,
        )

    def _order(self, name: str) -> tuple[OrderType, int]:
        order, priority = meaning(name)
        if order is not OrderType.RECEIVE and order is not OrderType.TIMESTAMP:
            self.ordered = True
        return order, priority

    def _absorb_interaction_class(self, given: InteractionClass) -> None:
        entry = self.interaction_class_names.get(given.name)
        if entry is None:
            parent = None if given.parent is None else self.interaction_class_names[given.parent]
            order, priority = self._order(given.order)
            entry = InteractionClassEntry(
                InteractionClassHandle.of(len(self.interaction_classes) + 1),
                given.name,
                parent,
                self._transportation(given.transportation),
                order,
                priority,
            )
            self.interaction_classes[entry.handle] = entry
            self.interaction_class_names[entry.name] = entry
        for parameter in given.parameters:
            if parameter.name not in entry.names:
                self._parameters_given += 1
                handle = ParameterHandle.of(self._parameters_given)
                entry.add(ParameterEntry(handle, parameter.name, parameter.data_type))

    def _transportation(self, name: str) -> TransportationTypeHandle:
        # An unnamed or unknown transportation was reported when the module was read; reliable is the safe reading.
        return self.transportation_names.get(name) or self.transportation_names[RELIABLE]

    def is_reliable(self, handle: TransportationTypeHandle) -> bool:
        return self.model.transportations[self.transportations[handle]].reliable

    def available_to_object_class(self, entry: ObjectClassEntry) -> frozenset[DimensionHandle]:
        names: set[str] = set()
        for ancestor in self.model.object_lineage(entry.name):
            names.update(ancestor.dimensions)
            for attribute in ancestor.attributes:
                names.update(attribute.dimensions)
        return self._dimensions(names)

    def available_to_attribute(
        self, entry: ObjectClassEntry, attribute: AttributeHandle
    ) -> frozenset[DimensionHandle]:
        key = (entry.handle, attribute)
        found = self._available.get(key)
        if found is None:
            name = entry.attributes[attribute].name
            found = self._dimensions(set(self.model.attribute_dimensions(entry.name, name)))
            self._available[key] = found
        return found

    def available_to_interaction_class(self, entry: InteractionClassEntry) -> frozenset[DimensionHandle]:
        found = self._available_to.get(entry.handle)
        if found is None:
            found = self._dimensions(set(self.model.interaction_dimensions(entry.name)))
            self._available_to[entry.handle] = found
        return found

    def _dimensions(self, names: set[str]) -> frozenset[DimensionHandle]:
        return frozenset(self.dimension_names[name].handle for name in names if name in self.dimension_names)

    def object_class_named(self, name: str) -> ObjectClassEntry | None:
        """The class of a full name; the name of the root may be left out, as the standard allows."""
        return self.object_class_names.get(name) or self.object_class_names.get(f"{OBJECT_ROOT}.{name}")

    def interaction_class_named(self, name: str) -> InteractionClassEntry | None:
        return self.interaction_class_names.get(name) or self.interaction_class_names.get(
            f"{INTERACTION_ROOT}.{name}"
        )

    def is_attribute(self, handle: AttributeHandle) -> bool:
        return handle.is_between(1, self._attributes_given)

    def is_parameter(self, handle: ParameterHandle) -> bool:
        return handle.is_between(1, self._parameters_given)
