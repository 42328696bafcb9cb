"""An object model from dataclasses, as a source like any file: `weft.join(…, fom=weft.fom_from(Ship, Warning))`."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from weft.fom import orders
from weft.fom.classes.annotations import TypeWords
from weft.fom.classes.roots import (
    ClassWords,
    HLAclass,
    HLAinteractionRoot,
    HLAobjectRoot,
    parent_of,
    worked_out,
)
from weft.fom.datatypes import DataType
from weft.fom.objectmodel import (
    INTERACTION_ROOT,
    MAX_UPPER_BOUND,
    OBJECT_ROOT,
    Attribute,
    Dimension,
    InteractionClass,
    ObjectClass,
    ObjectModel,
    Parameter,
)
from weft.fom.writer import write_omt
from weft.model.errors import ConflictingObjectModels, InvalidObjectModel
from weft.model.records import Source

_SHARING = "PublishSubscribe"
_TRANSPORTATIONS = ("HLAreliable", "HLAbestEffort")


def fom_from(*what: type[HLAclass] | ModuleType, name: str = "") -> Source:
    """An object model of these dataclasses and those above them, or of all in a module; for `fom=`, alone or beside files.

    The source is OMT XML of 2025: other federates may join with the file that `weft fom write` makes of the same classes.
    `name` is that of the object model, by default the module's.
    """
    found = list(dict.fromkeys(kind for one in what for kind in _classes(one)))
    if not found:
        raise InvalidObjectModel(
            "no classes to make an object model of; those count that are below weft.HLAobjectRoot or weft.HLAinteractionRoot"
        )
    name = name or found[-1].__module__.rpartition(".")[2].strip("_")
    return Source(f"fom_from({name})", write_omt(_ModelMaker(found).model(), name))


def classes_in(module: ModuleType) -> list[type[HLAclass]]:
    """Those that a module defines itself, in its order."""
    return [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, HLAclass) and one.__module__ == module.__name__
    ]


def _classes(one: object) -> list[type[HLAclass]]:
    """A class with those above it, the highest first; or those of a module."""
    if isinstance(one, ModuleType):
        return [kind for found in classes_in(one) for kind in _classes(found)]
    if not isinstance(one, type) or not issubclass(one, HLAclass):
        raise InvalidObjectModel(
            f"{getattr(one, '__qualname__', repr(one))} is neither an object class nor an interaction class; "
            "derive it from weft.HLAobjectRoot or weft.HLAinteractionRoot"
        )
    if one.DECLARED is None and one not in (HLAobjectRoot, HLAinteractionRoot):
        raise InvalidObjectModel(
            f"{one.__qualname__} was generated from an object model; give its file in fom= beside fom_from(…)"
        )
    above = parent_of(one)
    return [one] if above is None else [*_classes(above), one]


class _ModelMaker:
    """Puts classes together; two that contradict each other are refused."""

    def __init__(self, kinds: Iterable[type[HLAclass]]) -> None:
        self._objects = {OBJECT_ROOT: ObjectClass(OBJECT_ROOT, None, scaffold=True)}
        self._interactions = {INTERACTION_ROOT: InteractionClass(INTERACTION_ROOT, None, scaffold=True)}
        self._dimensions: dict[str, Dimension] = {}
        self._types: dict[str, DataType] = {}
        self._made_of: dict[str, type] = {}
        for kind in kinds:
            self._add(kind)

    def model(self) -> ObjectModel:
        return ObjectModel(
            object_classes=self._objects,
            interaction_classes=self._interactions,
            dimensions=self._dimensions,
            data_types=self._types,
        )

    def _add(self, kind: type[HLAclass]) -> None:
        above, words = parent_of(kind), kind.DECLARED
        if above is None or words is None or kind.HLA_NAME in self._made_of:
            if self._made_of.get(kind.HLA_NAME, kind) is not kind:
                raise ConflictingObjectModels(f"two classes are {kind.HLA_NAME}; give one another name")
            return
        self._made_of[kind.HLA_NAME] = kind
        self._take_types(kind)
        dimensions = self._take_dimensions(kind, words)
        if issubclass(kind, HLAobjectRoot):
            for each in words.directed:
                for target in _classes(each):
                    self._add(target)
            self._objects[kind.HLA_NAME] = _object_class(kind, above.HLA_NAME, dimensions, words)
        else:
            self._interactions[kind.HLA_NAME] = _interaction_class(kind, above.HLA_NAME, dimensions, words)

    def _take_types(self, kind: type[HLAclass]) -> None:
        for name, data_type in worked_out(kind).types.items():
            if self._types.setdefault(name, data_type) != data_type:
                raise ConflictingObjectModels(
                    f"{kind.__qualname__}: another class has another data type {name}; "
                    "give one of them another name by weft.hla(…)"
                )

    def _take_dimensions(self, kind: type[HLAclass], words: ClassWords) -> tuple[str, ...]:
        for name, bound in words.dimensions.items():
            if not 0 < bound <= MAX_UPPER_BOUND:
                raise InvalidObjectModel(
                    f"{kind.__qualname__}: the upper bound of {name} is {bound}; it is a whole number from 1 to {MAX_UPPER_BOUND}"
                )
            made = Dimension(name, bound, value="Excluded")
            if self._dimensions.setdefault(name, made) != made:
                raise ConflictingObjectModels(
                    f"{kind.__qualname__}: dimension {name} has another upper bound in another class"
                )
        return tuple(words.dimensions)


def _object_class(
    kind: type[HLAobjectRoot], parent: str, dimensions: tuple[str, ...], words: ClassWords
) -> ObjectClass:
    attributes = tuple(
        Attribute(name, use.data_type, *_way(use.declared, f"{kind.__qualname__}.{name}"))
        for name, use in worked_out(kind).own.items()
    )
    directed = tuple(each.HLA_NAME for each in words.directed)
    return ObjectClass(kind.HLA_NAME, parent, attributes, _SHARING, directed, dimensions)


def _interaction_class(
    kind: type[HLAclass], parent: str, dimensions: tuple[str, ...], words: ClassWords
) -> InteractionClass:
    parameters = tuple(Parameter(name, use.data_type) for name, use in worked_out(kind).own.items())
    transportation, order = _way(words, kind.__qualname__)
    return InteractionClass(
        kind.HLA_NAME, parent, parameters, transportation, order, dimensions, sharing=_SHARING
    )


def _way(said: TypeWords | ClassWords, where: str) -> tuple[str, str]:
    """Transportation and order; the standard's own, unless another is said."""
    transportation = said.transportation or _TRANSPORTATIONS[0]
    if transportation not in _TRANSPORTATIONS:
        raise InvalidObjectModel(
            f"{where}: transportation {transportation!r} is none of the standard's: {', '.join(_TRANSPORTATIONS)}"
        )
    order = orders.spelled(said.order or "Receive")
    if not order:
        raise InvalidObjectModel(f"{where}: there is no order {said.order!r}; write Receive or TimeStamp")
    return transportation, order
