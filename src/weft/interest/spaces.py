"""The routing spaces of an object model (S2-1): HLA 1.3 has them by name, later standards have sets of dimensions.

A message travels in exactly one space, chosen by what it is and not by the region it is sent with:

- FED: a space of the file, as the attribute or the interaction class names it.
- FOM: the set of dimensions available to an attribute at the class that declares it, or to an interaction class; every
  different set is a space, called by its dimensions ("X+Y").
- What has no dimensions travels in the default space, here None.  So does the MOM: everybody may ask for it, and spaces
  must not be numbered anew because a model was merged with a MIM.

Attributes keep the space of the class that declares them, so an update is found by those who subscribe at a superclass.
For interaction classes that is not enough, since a subclass may add dimensions: who subscribes to a class listens in the
spaces of all its subclasses as well (`heard`).

Dimensions carry their number, by which extents know them: the place of the dimension in the object model, from 1, which is
also the number of its handle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.fom import InteractionClass, ObjectModel
from weft.interest.regions import Bounds, Extent

FED_SIZE = 1 << 32  # RTI-NG: MAX_EXTENT - MIN_EXTENT + 1


@dataclass(frozen=True, slots=True)
class SpaceDimension:
    """Its numbers are 0 to size - 1; `name` is the plain one where the space has a name of its own."""

    name: str
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Space:
    """`number` counts from 1, in the order of the object model."""

    name: str
    number: int
    dimensions: tuple[SpaceDimension, ...]
    named: bool = True  # in a FED file, so that bounds are closed
    place: str = field(default="", compare=False)

    def dimension(self, name: str) -> SpaceDimension | None:
        return next((found for found in self.dimensions if found.name == name), None)

    def bounds(self, extent: Extent, dimension: SpaceDimension) -> Bounds:
        """Half-open; the full range where the extent does not name the dimension."""
        return extent.bounds(dimension.number) or (0, dimension.size)


class Spaces:
    """All spaces of an object model, and which one an attribute or an interaction class travels in."""

    def __init__(self, model: ObjectModel) -> None:
        self.model = model
        self.all: list[Space] = []
        self.by_name: dict[str, Space] = {}
        self._by_dimensions: dict[frozenset[str], Space] = {}
        self._attributes: dict[tuple[str, str], Space | None] = {}
        self._interactions: dict[str, Space | None] = {}
        self._numbers = {name: number for number, name in enumerate(model.dimensions, 1)}
        mim = model.mim.dimensions if model.mim else {}
        self._ours = frozenset(name for name in model.dimensions if name not in mim)
        for routing in model.spaces.values():
            self._add(routing.name, routing.dimensions, named=True, place=routing.place)
        for owner in model.object_classes.values():
            for attribute in owner.attributes:
                names = model.attribute_dimensions(owner.name, attribute.name)
                place = attribute.place or owner.place
                self._attributes[owner.name, attribute.name] = self._found(names, place)
        for interaction in model.interaction_classes.values():
            names = self._interaction_dimensions(interaction)
            self._interactions[interaction.name] = self._found(names, interaction.place)

    def of_attribute(self, object_class: str, attribute: str) -> Space | None:
        """The space of an attribute, own or inherited; None is the default space."""
        for owner in self.model.object_lineage(object_class):
            if (owner.name, attribute) in self._attributes:
                return self._attributes[owner.name, attribute]
        raise KeyError(f"{object_class} has no attribute {attribute!r}")

    def of_interaction(self, interaction_class: str) -> Space | None:
        return self._interactions[interaction_class]

    def heard(self, interaction_class: str) -> list[Space | None]:
        """The spaces in which interactions of a class and of its subclasses travel."""
        below = interaction_class + "."
        found = [
            space
            for name, space in self._interactions.items()
            if name == interaction_class or name.startswith(below)
        ]
        return list(dict.fromkeys(found))

    def users(self) -> Iterator[tuple[str, Space | None, str]]:
        """Everything that travels: its name, its space and where it is defined; not what the MIM brings."""
        mim = self.model.mim
        for owner in self.model.object_classes.values():
            if mim is None or owner.name not in mim.object_classes:
                for attribute in owner.attributes:
                    space = self._attributes[owner.name, attribute.name]
                    yield f"{owner.name}.{attribute.name}", space, attribute.place
        for interaction in self.model.interaction_classes.values():
            if mim is None or interaction.name not in mim.interaction_classes:
                yield interaction.name, self._interactions[interaction.name], interaction.place

    def _interaction_dimensions(self, interaction: InteractionClass) -> tuple[str, ...]:
        """Of a FED the nearest space named, since there a class is bound to one; else all that is available."""
        for owner in self.model.interaction_lineage(interaction.name):
            known = self._by_dimensions.get(frozenset(owner.dimensions))
            if known is not None and known.named:
                return owner.dimensions
        return self.model.interaction_dimensions(interaction.name)

    def _found(self, names: tuple[str, ...], place: str) -> Space | None:
        names = tuple(name for name in names if name in self._ours)
        if not names:
            return None
        known = self._by_dimensions.get(frozenset(names))
        return known or self._add("+".join(names), names, named=False, place=place)

    def _add(self, name: str, names: tuple[str, ...], named: bool, place: str) -> Space:
        plain = [one.removeprefix(f"{name}.") if named else one for one in names]
        sizes = [FED_SIZE if named else self.model.dimensions[one].upper_bound for one in names]
        dimensions = tuple(
            SpaceDimension(short, self._numbers[one], size)
            for short, one, size in zip(plain, names, sizes, strict=True)
        )
        made = Space(name, len(self.all) + 1, dimensions, named, place)
        self.all.append(made)
        self.by_name[name] = made
        if names:
            self._by_dimensions[frozenset(names)] = made
        return made
