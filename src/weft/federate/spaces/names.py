"""Which routing spaces there are, and what travels in which (S2-1): from an object model, or as far as the RTI tells.

The object model says it all.  Without one the RTI can be asked for the names of its dimensions, and those that come from a FED
file are called "Space.dimension"; an RTI of another make, whose handles are not numbered, tells nothing.  Nor does any RTI
tell what is available to a single attribute: the standard has a service for object classes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from weft.federate.ambassador import RTIambassador
from weft.fom import ObjectModel
from weft.interest import Space, Spaces
from weft.model.errors import InvalidDimensionHandle, NameNotFound
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
)

GIVE_ONE = "give the object model: RoutingSpaces(rti, fom)"


@dataclass(frozen=True, slots=True)
class NamedSpace:
    """`number` is its handle; its dimensions have the handles 1, 2 and so on, in their order."""

    name: str
    number: int
    dimensions: tuple[str, ...]
    qualified: tuple[str, ...]  # the same, as the RTI calls them


DEFAULT_SPACE = NamedSpace("defaultRoutingSpace", 0, (), ())
"""What has no routing space travels here."""


class SpacesOfModel:
    """`of_…` is the number of the space; NameNotFound if it cannot be told."""

    tells_all = True

    def __init__(self, rti: RTIambassador, model: ObjectModel) -> None:
        self._rti = rti
        self._spaces = Spaces(model)
        self._told: dict[tuple[Handle, ...], int] = {}  # names never change, and are asked for once

    def all(self) -> list[NamedSpace]:
        return [DEFAULT_SPACE, *(_named(space) for space in self._spaces.all)]

    def of_attribute(self, object_class: ObjectClassHandle, attribute: AttributeHandle) -> int:
        told = self._told.get((object_class, attribute))
        if told is None:
            owner = self._rti.get_object_class_name(object_class)
            name = self._rti.get_attribute_name(object_class, attribute)
            try:
                told = _number(self._spaces.of_attribute(owner, name))
            except KeyError:
                raise NameNotFound(f"{name} of {owner} is not in the object model that was given") from None
            self._told[object_class, attribute] = told
        return told

    def of_interaction(self, interaction_class: InteractionClassHandle) -> int:
        told = self._told.get((interaction_class,))
        if told is None:
            name = self._rti.get_interaction_class_name(interaction_class)
            try:
                told = _number(self._spaces.of_interaction(name))
            except KeyError:
                raise NameNotFound(f"{name} is not in the object model that was given") from None
            self._told[interaction_class,] = told
        return told


def _named(space: Space) -> NamedSpace:
    names = tuple(dimension.name for dimension in space.dimensions)
    qualified = tuple(f"{space.name}.{name}" for name in names) if space.named else names
    return NamedSpace(space.name, space.number, names, qualified)


def _number(space: Space | None) -> int:
    return DEFAULT_SPACE.number if space is None else space.number


class SpacesAsked:
    """The same.  Where it cannot be told it is left to the RTI, which refuses regions whose dimensions are not available."""

    tells_all = False

    def __init__(self, rti: RTIambassador) -> None:
        self._rti = rti
        found: dict[str, list[str]] = {}
        for name in _dimension_names(rti):
            space, dot, _ = name.partition(".")
            if dot:
                found.setdefault(space, []).append(name)
        self._found = [
            NamedSpace(space, number, tuple(name.partition(".")[2] for name in names), tuple(names))
            for number, (space, names) in enumerate(found.items(), 1)
        ]

    def all(self) -> list[NamedSpace]:
        return [DEFAULT_SPACE, *self._found]

    def of_attribute(self, object_class: ObjectClassHandle, attribute: AttributeHandle) -> int:
        if not self._rti.get_available_dimensions_for_object_class(object_class):
            return DEFAULT_SPACE.number
        owner = self._rti.get_object_class_name(object_class)
        name = self._rti.get_attribute_name(object_class, attribute)
        raise NameNotFound(
            f"the RTI does not tell in which routing space {name} of {owner} travels; {GIVE_ONE}"
        )

    def of_interaction(self, interaction_class: InteractionClassHandle) -> int:
        available = self._rti.get_available_dimensions_for_interaction_class(interaction_class)
        names = {self._rti.get_dimension_name(handle) for handle in available}
        if not names:
            return DEFAULT_SPACE.number
        for space in self._found:
            if names == set(space.qualified):
                return space.number
        name = self._rti.get_interaction_class_name(interaction_class)
        raise NameNotFound(f"the RTI does not tell in which routing space {name} travels; {GIVE_ONE}")


def _dimension_names(rti: RTIambassador) -> Iterator[str]:
    """Of an RTI whose handles are numbered, as Weft's are; of any other, nothing."""
    for number in count(1):
        try:
            yield rti.get_dimension_name(DimensionHandle.of(number))
        except InvalidDimensionHandle:
            return
