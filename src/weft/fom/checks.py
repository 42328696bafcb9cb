"""What a merged model must hold as a whole.

Names that are used must be defined.  In a complete model a class, dimension, transportation or directed
interaction that nobody defines is an error; a data type is not, since the run-time infrastructure carries
values without reading them. In an incomplete one all of these are warnings, and names of the MIM count as
defined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from weft.fom.datatypes import made_of
from weft.fom.objectmodel import MAX_PROBLEMS, Attribute, Module, ObjectModel, Parameter, Problem
from weft.model.errors import ConflictingObjectModels, InvalidObjectModel, ObjectModelError

MAX_INHERITED = 1_000_000
"""Most attributes (or parameters) of all classes together, each class with what it inherits."""


def check_model(model: ObjectModel) -> tuple[list[Problem], list[ObjectModelError]]:
    checker = _Checker(model)
    checker.scaffolds()
    checker.members()
    checker.references()
    checker.data_types()
    return checker.warnings, checker.errors


class _Checker:
    def __init__(self, model: ObjectModel) -> None:
        self.model = model
        self.warnings: list[Problem] = []
        self.errors: list[ObjectModelError] = []
        known: list[ObjectModel | Module] = [model]
        if model.mim is not None and not model.complete:
            known.append(model.mim)
        self.known_types = _names(known, "data_types")
        self.known_dimensions = _names(known, "dimensions")
        self.known_transportations = _names(known, "transportations")
        self.known_interactions = _names(known, "interaction_classes")

    def warn(self, message: str, place: str) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(Problem("warning", message, place))

    def require(self, message: str, place: str) -> None:
        if self.model.complete and len(self.errors) < MAX_PROBLEMS:
            self.errors.append(InvalidObjectModel(message, place))
        elif not self.model.complete:
            self.warn(message, place)

    def scaffolds(self) -> None:
        """Every class must be defined by some module, not only be named as the parent of another."""
        mim = self.model.mim
        for kind in ("object_classes", "interaction_classes"):
            defined = getattr(mim, kind) if mim else {}
            word = kind.partition("_")[0]
            for item in getattr(self.model, kind).values():
                if item.scaffold and (self.model.complete or item.name not in defined):
                    what = f"unknown parent: {word} class {item.name!r}"
                    self.require(f"{what} is only named here; no module defines it", item.place)

    def members(self) -> None:
        """A subclass may not give an inherited attribute or parameter another meaning."""
        objects = self.model.object_classes.values()
        self.inherit("attribute", [(item.name, item.parent, item.attributes, item.place) for item in objects])
        interactions = self.model.interaction_classes.values()
        self.inherit(
            "parameter", [(item.name, item.parent, item.parameters, item.place) for item in interactions]
        )

    def inherit(
        self, word: str, classes: Iterable[tuple[str, str | None, tuple[Attribute | Parameter, ...], str]]
    ) -> None:
        inherited: dict[str | None, dict[str, Attribute | Parameter]] = {None: {}}
        total = 0
        for owner, parent, members, place in classes:
            known = inherited[parent]
            for item in members:
                if item.name in known:
                    self.repeated(word, owner, item, known[item.name])
            total += len(known) + len(members)
            if total > MAX_INHERITED:
                message = f"more than {MAX_INHERITED} {word}s, counted with the inherited ones"
                self.errors.append(InvalidObjectModel(message, place))
                return
            inherited[owner] = known | {item.name: item for item in members} if members else known

    def repeated(
        self, word: str, owner: str, own: Attribute | Parameter, inherited: Attribute | Parameter
    ) -> None:
        message = f"{word} {own.name!r} of {owner} is already inherited, from {inherited.place}"
        if own == inherited:
            self.warn(message, own.place)
        else:
            self.errors.append(ConflictingObjectModels(message, own.place))

    def references(self) -> None:
        for owner in self.model.object_classes.values():
            self.dimensions(f"object class {owner.name}", owner.dimensions, owner.place)
            for name in owner.directed_interactions:
                if name not in self.known_interactions:
                    self.require(f"unknown directed interaction {name!r} of {owner.name}", owner.place)
            for attribute in owner.attributes:
                what = f"attribute {owner.name}.{attribute.name}"
                self.transportation(what, attribute.transportation, attribute.place)
                self.dimensions(what, attribute.dimensions, attribute.place)
                self.data_type(what, attribute.data_type, attribute.place)
        for interaction in self.model.interaction_classes.values():
            what = f"interaction class {interaction.name}"
            self.transportation(what, interaction.transportation, interaction.place)
            self.dimensions(what, interaction.dimensions, interaction.place)
            for item in interaction.parameters:
                self.data_type(f"parameter {interaction.name}.{item.name}", item.data_type, item.place)

    def transportation(self, what: str, name: str, place: str) -> None:
        if name not in self.known_transportations:
            hint = _hint(name, self.known_transportations)
            self.require(f"{what} uses the unknown transportation {name!r}{hint}", place)

    def dimensions(self, what: str, names: Collection[str], place: str) -> None:
        for name in names:
            if name not in self.known_dimensions:
                hint = _hint(name, self.known_dimensions)
                self.require(f"{what} uses the unknown dimension {name!r}{hint}", place)

    def data_type(self, what: str, name: str, place: str) -> None:
        if name and name not in self.known_types:
            self.warn(f"{what} uses the unknown data type {name!r}{_hint(name, self.known_types)}", place)

    def data_types(self) -> None:
        places = {name: place for module in self.model.modules for name, place in module.type_places.items()}
        for name, item in self.model.data_types.items():
            for used in made_of(item):
                self.data_type(f"data type {name!r}", used, places.get(name, ""))
        for point in self.model.synchronizations.values():
            self.data_type(f"synchronization point {point.label!r}", point.data_type, point.place)


def _hint(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else "; define it, or add the module that does"


def _names(models: list[ObjectModel | Module], table: str) -> set[str]:
    return {name for model in models for name in getattr(model, table)}
