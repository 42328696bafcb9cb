"""Names and typed values: from what a person writes ("Tank", {"X": 1.0}) to handles and bytes, and back.

A class may be named by any ending of its full name that fits only one class: "Tank", "Vehicle.Tank", or the whole of it.
Or it is given as a class of Python, one that `weft fom gen` has written or that `weft.fom_from` knows.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from weft.fom import ObjectModel
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot, disagreement
from weft.fom.objectmodel import PRIVILEGE_TO_DELETE
from weft.model.errors import ConflictingObjectModels, EncodingError, NameNotFound

ObjectKind = str | type[HLAobjectRoot]
InteractionKind = str | type[HLAinteractionRoot]
AnyKind = ObjectKind | InteractionKind


class Vocabulary:
    """The object model as a federate author speaks of it."""

    def __init__(self, model: ObjectModel) -> None:
        self.model = model
        self._agreed: set[type] = set()
        # Full names by what was written, once it was found: a model has many, and each message asks.
        self._object_classes: dict[str, str] = {}
        self._interaction_classes: dict[str, str] = {}
        # Of attributes and of parameters: data types by the names of their classes and their own.
        self._types = {
            "attribute": {
                name: {a.name: a.data_type for a in model.all_attributes(name)}
                for name in model.object_classes
            },
            "parameter": {
                name: {p.name: p.data_type for p in model.all_parameters(name)}
                for name in model.interaction_classes
            },
        }

    def name(self, kind: AnyKind) -> str:
        """Of a class of Python the name in the object model, which has to say the same as the class."""
        if isinstance(kind, str):
            return kind
        if kind in self._agreed:
            return kind.HLA_NAME
        name = kind.HLA_NAME
        members = (
            self._types["attribute"] if issubclass(kind, HLAobjectRoot) else self._types["parameter"]
        ).get(name)
        whose = f"class {kind.__qualname__} of {kind.__module__} is {name}"
        if members is None:
            raise NameNotFound(
                f"{whose}, which the object model of this federate does not have: "
                f"add weft.fom_from({kind.__qualname__}) to fom=, or the file that it was generated from"
            )
        wrong = disagreement(kind, self.model.data_types, members)
        if wrong:
            raise ConflictingObjectModels(
                f"{whose}, but the object model of this federate {wrong}: "
                "generate the class anew, or take the object model that it is of"
            )
        self._agreed.add(kind)
        return name

    def object_class(self, kind: ObjectKind, instead: str = "") -> str:
        """`instead`: what to call where the name is that of an interaction class."""
        name = self.name(kind)
        known = self._object_classes.get(name)
        if known is not None:
            return known
        if instead and not _matches(name, self.model.object_classes):
            for other in _matches(name, self.model.interaction_classes):
                raise NameNotFound(f"{other} is an interaction class; use {instead}")
        found = self._object_classes[name] = _find("object class", name, self.model.object_classes)
        return found

    def interaction_class(self, kind: InteractionKind, instead: str = "") -> str:
        """`instead`: what to call where the name is that of an object class."""
        name = self.name(kind)
        known = self._interaction_classes.get(name)
        if known is not None:
            return known
        if instead and not _matches(name, self.model.interaction_classes):
            for other in _matches(name, self.model.object_classes):
                raise NameNotFound(f"{other} is an object class; use {instead}")
        found = _find("interaction class", name, self.model.interaction_classes)
        self._interaction_classes[name] = found
        return found

    def dimension(self, name: str) -> str:
        return _find("dimension", name, self.model.dimensions)

    def space(self, name: str) -> tuple[str, ...]:
        """The dimensions of a routing space of a FED file."""
        if name not in self.model.spaces:
            raise NameNotFound(
                f"there is no routing space {name!r} in the object model{_hint(name, self.model.spaces)}"
                if name
                else "name the ranges of a region, or the routing space that it is to have all of"
            )
        return self.model.spaces[name].dimensions

    def is_interaction(self, kind: AnyKind) -> bool:
        """Which kind of class a name means; an error if it could mean both or neither."""
        name = self.name(kind)
        objects = _matches(name, self.model.object_classes)
        interactions = _matches(name, self.model.interaction_classes)
        if objects and interactions:
            raise NameNotFound(f"{name!r} may mean {objects[0]} or {interactions[0]}; give the full name")
        if not objects and not interactions:
            _find("class", name, [*self.model.object_classes, *self.model.interaction_classes])
        return bool(interactions)

    def attributes(self, object_class: str, names: Iterable[str] = ()) -> list[str]:
        """These attributes of a class, or all of them if none is named."""
        known = self._types["attribute"][object_class]
        chosen = list(names)
        for name in chosen:
            _require(object_class, "attribute", name, known)
        return chosen or list(known)

    def heard_attributes(self, object_class: str, names: Iterable[str] = ()) -> list[str]:
        """What to subscribe to: these attributes, or all.

        The privilege to delete is owned and has no value to hear of, so it is not among all, unless there is nothing else.
        """
        found = self.attributes(object_class, names)
        return found if names else [name for name in found if name != PRIVILEGE_TO_DELETE] or found

    def has_parameter(self, interaction_class: str, name: str) -> bool:
        return name in self._types["parameter"][interaction_class]

    def encode(self, what: str, owner: str, name: str, value: object) -> bytes:
        """`what`: the value of an "attribute" or a "parameter" of the class `owner`."""
        types = self._types[what][owner]
        _require(owner, what, name, types)
        if not types[name]:
            if isinstance(value, bytes):
                return value
            raise EncodingError(
                f"{owner}.{name} has no data type in the object model; give bytes, not {type(value).__name__}"
            )
        try:
            return self.model.encode(types[name], value)
        except EncodingError as error:
            raise EncodingError(f"{owner}.{name}: {error}") from error

    def decode(self, what: str, owner: str, name: str, data: bytes) -> object:
        data_type = self._types[what].get(owner, {}).get(name)
        if not data_type:
            return data  # HLA 1.3 object models give no types, nor do those that only others brought
        try:
            return self.model.decode(data_type, data)
        except EncodingError as error:
            raise EncodingError(f"{owner}.{name}: {error}") from error


def _require(owner: str, what: str, name: str, known: Mapping[str, str]) -> None:
    if name not in known:
        raise NameNotFound(f"class {owner} has no {what} {name!r}{_hint(name, known)}")


def _matches(name: str, known: Iterable[str]) -> list[str]:
    names = list(known)
    if name in names:
        return [name]
    return [full for full in names if full.endswith(f".{name}")]


def short(full: str) -> str:
    """The name of a class without those above it."""
    return full.rsplit(".", 1)[-1]


def _find(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    found = _matches(name, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise NameNotFound(f"{name!r} may mean {' or '.join(found)}; give more of the name")
    known_as = {short(full) for full in names}
    raise NameNotFound(f"there is no {what} {name!r} in the object model{_hint(name, known_as)}")


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
