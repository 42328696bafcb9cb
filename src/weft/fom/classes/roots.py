"""`HLAobjectRoot` and `HLAinteractionRoot` in Python: dataclasses below them are classes of an object model.

A class that `weft fom gen` wrote says its HLA name, its slots and its codecs itself.  Of one that a person wrote they follow from
its place below the root and from its annotations, when they are first asked for: only then do all names mean something.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from weft.fom.classes.annotations import TypesOf, TypeUse, annotations_of
from weft.fom.datatypes import (
    ArrayType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.encoding.compiler import Codecs
from weft.fom.encoding.standard import STANDARD
from weft.fom.encoding.typed import Slot, ValueSet
from weft.fom.objectmodel import INTERACTION_ROOT, OBJECT_ROOT
from weft.model.errors import InvalidObjectModel

_RESERVED = frozenset({"CODECS", "DECLARED", "HLA_NAME", "SLOTS", "decode", "encode"})
"""What the classes have themselves."""


@dataclass(frozen=True, slots=True)
class ClassWords:
    """What a class says of itself beside its annotations: `class Call(HLAinteractionRoot, order="TimeStamp")`."""

    order: str = ""
    transportation: str = ""
    dimensions: Mapping[str, int] = dataclasses.field(default_factory=dict)
    directed: tuple[type[HLAinteractionRoot], ...] = ()


@dataclass(frozen=True, slots=True)
class WorkedOut:
    """What follows from the annotations of a class; `own` are those that no class above has."""

    uses: Mapping[str, TypeUse]
    own: Mapping[str, TypeUse]
    types: Mapping[str, DataType]
    slots: tuple[Slot, ...]
    codecs: Codecs


class _FromAnnotations:
    """A class attribute that is worked out when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _: object, owner: type[ValueSet]) -> object:
        return getattr(worked_out(owner), self._name)


class _Declarable(ValueSet):
    """A root, in Python."""

    SLOTS: ClassVar[tuple[Slot, ...]] = cast("tuple[Slot, ...]", _FromAnnotations("slots"))
    CODECS: ClassVar[Codecs] = cast("Codecs", _FromAnnotations("codecs"))
    DECLARED: ClassVar[ClassWords | None] = None
    """None: generated."""

    @classmethod
    def _declare(cls, words: ClassWords) -> None:
        mine = cls.__dict__
        if "DECLARED" in mine or "HLA_NAME" in mine:  # made anew by @dataclass(slots=True), or generated
            return
        above = parent_of(cls)
        if above is not None and above.DECLARED is None and parent_of(above) is not None:
            return  # generated, with methods of one's own: still the same class of the object model
        cls.DECLARED = words
        cls.HLA_NAME = f"{cls.HLA_NAME}.{cls.__name__}"


class HLAobjectRoot(_Declarable):
    """Dataclasses below it are object classes, their fields attributes.

    `dimensions`: those of the class, with their upper bounds.  `directed`: the interactions that may be sent to an instance.
    """

    HLA_NAME: ClassVar[str] = OBJECT_ROOT

    def __init_subclass__(
        cls,
        *,
        dimensions: Mapping[str, int] | None = None,
        directed: Iterable[type[HLAinteractionRoot]] = (),
    ) -> None:
        cls._declare(ClassWords(dimensions=dimensions or {}, directed=tuple(directed)))


class HLAinteractionRoot(_Declarable):
    """Dataclasses below it are interaction classes, their fields parameters.

    `order`: "Receive" or "TimeStamp".  `transportation`: "HLAreliable" or "HLAbestEffort".  `dimensions`: with upper bounds.
    """

    HLA_NAME: ClassVar[str] = INTERACTION_ROOT

    def __init_subclass__(
        cls, *, order: str = "", transportation: str = "", dimensions: Mapping[str, int] | None = None
    ) -> None:
        cls._declare(ClassWords(order, transportation, dimensions or {}))


HLAclass = HLAobjectRoot | HLAinteractionRoot


def parent_of(kind: type[ValueSet]) -> type[_Declarable] | None:
    """The class of the object model above it; None: a root."""
    for base in kind.__mro__[1:]:
        if base is _Declarable:
            return None
        if issubclass(base, _Declarable):
            return base
    return None


def worked_out(kind: type[ValueSet]) -> WorkedOut:
    """What follows from the annotations of a class that a person wrote, and of those above it."""
    found = kind.__dict__.get("_worked_out")
    if not isinstance(found, WorkedOut):
        types = TypesOf()
        uses, own = _uses(kind, types)
        slots = tuple(
            Slot(name, name, use.data_type, use.to_plain, use.from_plain) for name, use in uses.items()
        )
        found = WorkedOut(uses, own, types.types, slots, Codecs(types.types))
        type.__setattr__(kind, "_worked_out", found)
    return found


def _uses(kind: type[ValueSet], types: TypesOf) -> tuple[dict[str, TypeUse], dict[str, TypeUse]]:
    """The data types of all fields, and of those that no class above has."""
    above = parent_of(kind)
    if above is None:
        return {}, {}
    where = kind.__qualname__
    _require_dataclass(kind, where)
    inherited, _ = _uses(above, types)
    own: dict[str, TypeUse] = {}
    for name, annotation in annotations_of(kind, where).items():
        use = types.use(annotation, f"{where}.{name}")
        if name not in inherited:
            own[name] = use
        elif inherited[name].data_type != use.data_type:
            raise InvalidObjectModel(
                f"{where}.{name} is {inherited[name].data_type} in {above.__qualname__}, and cannot be {use.data_type} here"
            )
        _require_usable(kind, name, use)
    return inherited | own, own


def _require_dataclass(kind: type, where: str) -> None:
    if "__dataclass_fields__" not in kind.__dict__ and inspect.get_annotations(kind):
        raise InvalidObjectModel(f"{where} has annotations and is no dataclass; write @dataclass above it")
    if not dataclasses.is_dataclass(kind):
        raise InvalidObjectModel(f"{where} is no dataclass; write @dataclass above it")


def _require_usable(kind: type[ValueSet], name: str, use: TypeUse) -> None:
    where = f"{kind.__qualname__}.{name}"
    if name in _RESERVED:
        raise InvalidObjectModel(f"{where}: a field cannot be called {name}, which the class itself uses")
    if use.optional and name in required(kind):
        raise InvalidObjectModel(
            f"{where} may be None, so give it a default, as in `{name}: … | None = None`"
        )
    if issubclass(kind, HLAinteractionRoot) and (use.declared.order or use.declared.transportation):
        raise InvalidObjectModel(
            f"{where}: order and transportation are of the whole interaction: class {kind.__name__}(…, order=…)"
        )


def required(kind: type) -> frozenset[str]:
    """The fields without which none of a dataclass can be made."""
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.init
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    )


# --- the class and the object model of a federation ----------------------------------------------------------------


def disagreement(kind: type[ValueSet], types: Mapping[str, DataType], members: Mapping[str, str]) -> str:
    """What a class says otherwise than an object model with these data types and these members of the class; or nothing."""
    for slot in kind.SLOTS:
        if slot.name not in members:
            return f"has no {slot.name!r}"
        there = members[slot.name]
        if slot.data_type and there and _layout(kind.CODECS.types, slot.data_type) != _layout(types, there):
            return f"has {slot.name!r} as {there}, laid out otherwise than {slot.data_type} of the class"
    return ""


def _layout(types: Mapping[str, DataType], name: str, within: tuple[str, ...] = ()) -> object:
    """What of a data type counts for its bytes."""
    kind = None if name in STANDARD else types.get(name)
    if name in within:
        return len(within) - within.index(name)
    inside = (*within, name)
    match kind:
        case SimpleType() | EnumeratedType() | ReferenceType():
            return _layout(types, kind.representation, inside)
        case ArrayType():
            return kind.encoding, kind.cardinality, _layout(types, kind.element, inside)
        case FixedRecordType():
            first = _layout(types, kind.include, inside) if kind.include else ()
            return (
                kind.encoding,
                first,
                tuple((one.name, _layout(types, one.type, inside)) for one in kind.fields),
            )
        case VariantRecordType():
            arms = tuple((one.name, _layout(types, one.type, inside)) for one in kind.alternatives)
            return kind.encoding, _layout(types, kind.discriminant_type, inside), arms
    return name
