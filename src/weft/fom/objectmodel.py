"""Object models as frozen data: one parsed file (`Module`) and the merge of several (`ObjectModel`).

Names of classes are fully qualified ("HLAobjectRoot.A.B"); everything else is referred to by its plain
name. `place` says where a thing was defined ("file:line"); it never counts when two things are compared,
and neither do the modules a model was merged from: two models are equal when they say the same.

An empty string in a `Module` means "this file does not say"; `merge` fills what another file says, and then
the defaults of the standard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from weft.fom.datatypes import DataType
from weft.model.records import Source

if TYPE_CHECKING:
    from weft.fom.encoding import Codecs

OBJECT_ROOT = "HLAobjectRoot"
INTERACTION_ROOT = "HLAinteractionRoot"
PRIVILEGE_TO_DELETE = "HLAprivilegeToDeleteObject"

MAX_UPPER_BOUND = (1 << 32) - 1  # of a dimension: the Federate Protocol says it in 32 bits
MAX_PROBLEMS = 1000
"""So many warnings of one kind are kept; nobody reads more, and a hostile file could cause millions."""

T = TypeVar("T")


def frozen(items: Mapping[str, T] | None = None) -> Mapping[str, T]:
    """A read-only copy."""
    return MappingProxyType(dict(items or {}))


def _place() -> str:
    made: str = field(default="", compare=False)
    return made


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to tell the author of a file.  A note: nothing is wrong, but others may not know it."""

    severity: Literal["note", "warning", "error"]
    message: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Attribute:
    """`dimensions` is what IEEE 1516-2010 and FED files say per attribute; 2025 says it per class."""

    name: str
    data_type: str = ""
    transportation: str = "HLAreliable"
    order: str = "Receive"  # "Receive" | "TimeStamp"
    dimensions: tuple[str, ...] = ()
    update_type: str = ""
    update_condition: str = ""
    value_required: str = ""  # "true" | "false" | ""
    ownership: str = ""
    sharing: str = ""
    place: str = _place()


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    data_type: str = ""
    place: str = _place()


@dataclass(frozen=True, slots=True)
class ObjectClass:
    """`attributes`, `dimensions` and `directed_interactions` are the class's own, without the inherited.

    A scaffold is a class that its file only names, to hang a subclass under it.
    """

    name: str
    parent: str | None
    attributes: tuple[Attribute, ...] = ()
    sharing: str = ""
    directed_interactions: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    scaffold: bool = False
    place: str = _place()


@dataclass(frozen=True, slots=True)
class InteractionClass:
    """`parameters` and `dimensions` are the class's own, without the inherited."""

    name: str
    parent: str | None
    parameters: tuple[Parameter, ...] = ()
    transportation: str = "HLAreliable"
    order: str = "Receive"
    dimensions: tuple[str, ...] = ()
    sharing: str = ""
    scaffold: bool = False
    place: str = _place()


@dataclass(frozen=True, slots=True)
class Dimension:
    """Its ranges lie in [0, upper_bound)."""

    name: str
    upper_bound: int
    data_types: tuple[str, ...] = ()
    normalization: str = ""
    value: str = ""
    place: str = _place()

    @property
    def data_type(self) -> str:
        return self.data_types[0] if self.data_types else ""


@dataclass(frozen=True, slots=True)
class Transportation:
    name: str
    reliable: bool
    place: str = _place()


@dataclass(frozen=True, slots=True)
class UpdateRate:
    name: str
    rate: float
    place: str = _place()


@dataclass(frozen=True, slots=True)
class RoutingSpace:
    """HLA 1.3: a named set of dimensions; they are called "Space.dimension" in the model."""

    name: str
    dimensions: tuple[str, ...] = ()
    place: str = _place()


@dataclass(frozen=True, slots=True)
class SynchronizationLabel:
    label: str
    data_type: str = ""
    capability: str = ""
    place: str = _place()


@dataclass(frozen=True, slots=True)
class TimeTypes:
    """The data types of logical time (2010: time stamp) and of its interval (2010: lookahead)."""

    time_stamp: str = ""
    lookahead: str = ""
    place: str = _place()


@dataclass(frozen=True, slots=True)
class Definitions:
    """What one file defines, or several merged.  In every mapping the order is that of definition, parents before children."""

    object_classes: Mapping[str, ObjectClass] = field(default_factory=frozen)
    interaction_classes: Mapping[str, InteractionClass] = field(default_factory=frozen)
    dimensions: Mapping[str, Dimension] = field(default_factory=frozen)
    data_types: Mapping[str, DataType] = field(default_factory=frozen)
    transportations: Mapping[str, Transportation] = field(default_factory=frozen)
    switches: Mapping[str, str | bool] = field(default_factory=frozen)
    spaces: Mapping[str, RoutingSpace] = field(default_factory=frozen)
    synchronizations: Mapping[str, SynchronizationLabel] = field(default_factory=frozen)
    tags: Mapping[str, str] = field(default_factory=frozen)
    time: TimeTypes = TimeTypes()
    warnings: tuple[Problem, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Module(Definitions):
    """Everything one file defines; `standard` is "1.3", "2010", "2025" or "" (no namespace)."""

    source: Source = field(kw_only=True, repr=False, compare=False)
    name: str = ""
    standard: str = ""
    update_rates: Mapping[str, UpdateRate] = field(default_factory=frozen)
    type_places: Mapping[str, str] = field(default_factory=frozen, compare=False, repr=False)

    @property
    def designator(self) -> str:
        return self.source.name


ClassKind = TypeVar("ClassKind", ObjectClass, InteractionClass)


def _lineage(classes: Mapping[str, ClassKind], name: str | None) -> Iterator[ClassKind]:
    while name is not None:
        found = classes[name]
        yield found
        name = found.parent


@dataclass(frozen=True)
class ObjectModel(Definitions):
    """The merge of modules."""

    update_rates: Mapping[str, float] = field(default_factory=frozen)
    modules: tuple[Module, ...] = field(default=(), compare=False, repr=False)
    complete: bool = field(default=True, compare=False)
    mim: Module | None = field(default=None, compare=False, repr=False)

    def object_lineage(self, name: str) -> Iterator[ObjectClass]:
        """The class itself, then its parent, up to the root."""
        return _lineage(self.object_classes, name)

    def interaction_lineage(self, name: str) -> Iterator[InteractionClass]:
        """The class itself, then its parent, up to the root."""
        return _lineage(self.interaction_classes, name)

    def all_attributes(self, class_name: str) -> tuple[Attribute, ...]:
        """Own and inherited attributes, the root's first."""
        lineage = tuple(self.object_lineage(class_name))
        return tuple(attribute for owner in reversed(lineage) for attribute in owner.attributes)

    def all_parameters(self, class_name: str) -> tuple[Parameter, ...]:
        """Own and inherited parameters, the root's first."""
        lineage = tuple(self.interaction_lineage(class_name))
        return tuple(parameter for owner in reversed(lineage) for parameter in owner.parameters)

    def attribute_dimensions(self, class_name: str, attribute: str) -> tuple[str, ...]:
        """What is available to an attribute at a class: its own dimensions (2010) and the class's (2025)."""
        found: dict[str, None] = {}
        for owner in reversed(tuple(self.object_lineage(class_name))):
            found.update(dict.fromkeys(owner.dimensions))
            for own in owner.attributes:
                if own.name == attribute:
                    found.update(dict.fromkeys(own.dimensions))
        return tuple(found)

    def interaction_dimensions(self, class_name: str) -> tuple[str, ...]:
        """What is available to an interaction class: its own dimensions and the inherited."""
        lineage = reversed(tuple(self.interaction_lineage(class_name)))
        return tuple(dict.fromkeys(name for owner in lineage for name in owner.dimensions))

    @cached_property
    def codecs(self) -> Codecs:
        from weft.fom.encoding import Codecs

        return Codecs(self.data_types)

    def encode(self, type_name: str, value: object) -> bytes:
        return self.codecs.encode(type_name, value)

    def decode(self, type_name: str, data: bytes) -> Any:
        return self.codecs.decode(type_name, data)
