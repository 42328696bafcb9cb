"""How two definitions of one thing join: the rules of merging, thing by thing.

The first definition is kept and the second may only

- repeat it (prose never counts),
- say what the first left open (a scaffold leaves everything open), or
- add to it, as IEEE 1516.2-2025 allows: attributes, parameters, directed interactions, dimensions,
  enumerators, alternatives of a variant record, fields of an extendable record.

What matters when federates talk (data types, order, transportation, dimensions, representation, bounds) may
not be contradicted.  What only documents (sharing, ownership, update policy, accuracy) may; that is a
warning.  The MIM is the authority for what it defines, so contradicting it is a warning too: files of 2010
often carry the MOM of 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from weft.fom.datatypes import (
    Alternative,
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.objectmodel import (
    MAX_PROBLEMS,
    Attribute,
    Dimension,
    InteractionClass,
    ObjectClass,
    Parameter,
    Problem,
    SynchronizationLabel,
    Transportation,
    UpdateRate,
)
from weft.model.errors import ConflictingObjectModels, ObjectModelError

_COLUMN_NAMES = {
    "data_types": "input data",
    "element": "element type",
    "include": "included record",
    "discriminant_type": "type of the discriminant",
}
"""Columns that are not called as the attributes are."""

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Definition = TypeVar("Definition", bound="DataclassInstance")
Item = TypeVar("Item", Attribute, Parameter)


class Judge:
    """Collects what is wrong while things are joined.

    `standard` is that of the later file; `lenient` says that the MIM defines the thing at hand.
    """

    def __init__(self, standard: str = "2025") -> None:
        self.standard = standard
        self.lenient = False
        self.errors: list[ObjectModelError] = []
        self.warnings: list[Problem] = []

    def warn(self, message: str, place: str) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(Problem("warning", message, place))

    def contradiction(self, what: str, detail: str, new_place: str, old_place: str) -> None:
        message = f"{what} contradicts {old_place or 'an earlier module'}: {detail}"
        if self.lenient:
            self.warn(f"{message}; the first definition is used", new_place)
        elif len(self.errors) < MAX_PROBLEMS:
            self.errors.append(ConflictingObjectModels(message, new_place))

    def agree(
        self, what: str, column: str, old: T, new: T, places: tuple[str, str], serious: bool = True
    ) -> T:
        """One of two values; an empty one gives way.  `places`: of the old and of the new definition."""
        if old == new or not new:
            return old
        if not old:
            return new
        detail = f"{column} is {new!r} here and {old!r} there"
        if serious:
            self.contradiction(what, detail, places[1], places[0])
        else:
            self.warn(f"{what} differs from {places[0]}: {detail}; the first is used", places[1])
        return old

    def joined(
        self,
        what: str,
        old: Definition,
        new: Definition,
        places: tuple[str, str],
        serious: tuple[str, ...],
        documents: tuple[str, ...] = (),
    ) -> Definition:
        """The first definition, with what both say in these columns."""
        agreed: dict[str, object] = {}
        for column in (*serious, *documents):
            here, there = getattr(new, column), getattr(old, column)
            shown = _COLUMN_NAMES.get(column) or column.replace("_", " ")
            agreed[column] = self.agree(what, shown, there, here, places, column in serious)
        return replace(old, **agreed)

    def dimensions(
        self, what: str, old: tuple[str, ...], new: tuple[str, ...], places: tuple[str, str]
    ) -> tuple[str, ...]:
        """Additions are allowed to files of 2025; older ones must repeat the same set."""
        if not new or set(new) == set(old):
            return old
        if self.standard in ("2010", "1.3"):
            return self.agree(what, "dimensions", old, new, places)
        return tuple(dict.fromkeys(old + new))

    def added(self, what: str, names: Sequence[str], place: str) -> None:
        """Older files had to repeat a definition in full: their authors may not have meant to add."""
        if names and self.standard in ("2010", "1.3"):
            self.warn(f"{what} gets {', '.join(names)} in addition, which is allowed since 2025", place)


def join_attribute(old: Attribute, new: Attribute, owner: str, judge: Judge) -> Attribute:
    if old == new:
        return old
    what, places = f"attribute {owner}.{new.name}", (old.place, new.place)
    documents = ("update_type", "value_required", "ownership", "sharing")
    return replace(
        judge.joined(what, old, new, places, ("data_type", "transportation", "order"), documents),
        dimensions=judge.dimensions(what, old.dimensions, new.dimensions, places),
        update_condition=old.update_condition or new.update_condition,
    )


def join_parameter(old: Parameter, new: Parameter, owner: str, judge: Judge) -> Parameter:
    return judge.joined(f"parameter {owner}.{new.name}", old, new, (old.place, new.place), ("data_type",))


def join_all(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> tuple[Item, ...]:
    """Attributes or parameters, those of one name joined where the first of them stands."""
    found: dict[str, Item] = {}
    for item in items:
        known = found.get(item.name)
        found[item.name] = item if known is None else join(known, item)
    return tuple(found.values())


def join_object_class(old: ObjectClass, new: ObjectClass, judge: Judge) -> ObjectClass:
    if new.scaffold or old == new:
        return old
    what, places = f"object class {new.name}", (old.place, new.place)
    attributes = join_all(
        [*old.attributes, *new.attributes], lambda known, item: join_attribute(known, item, new.name, judge)
    )
    if not old.scaffold and not judge.lenient:
        judge.added(what, [item.name for item in attributes[len(old.attributes) :]], new.place)
    return replace(
        judge.joined(what, old, new, places, (), ("sharing",)),
        attributes=attributes,
        directed_interactions=tuple(dict.fromkeys(old.directed_interactions + new.directed_interactions)),
        dimensions=judge.dimensions(what, old.dimensions, new.dimensions, places),
        scaffold=False,
        place=new.place if old.scaffold else old.place,
    )


def join_interaction_class(old: InteractionClass, new: InteractionClass, judge: Judge) -> InteractionClass:
    if new.scaffold or old == new:
        return old
    what, places = f"interaction class {new.name}", (old.place, new.place)
    parameters = join_all(
        [*old.parameters, *new.parameters], lambda known, item: join_parameter(known, item, new.name, judge)
    )
    if not old.scaffold and not judge.lenient:
        judge.added(what, [item.name for item in parameters[len(old.parameters) :]], new.place)
    return replace(
        judge.joined(what, old, new, places, ("transportation", "order"), ("sharing",)),
        parameters=parameters,
        dimensions=judge.dimensions(what, old.dimensions, new.dimensions, places),
        scaffold=False,
        place=new.place if old.scaffold else old.place,
    )


def join_dimension(old: Dimension, new: Dimension, judge: Judge) -> Dimension:
    what, places = f"dimension {new.name!r}", (old.place, new.place)
    found = judge.joined(what, old, new, places, ("upper_bound",), ("data_types", "value"))
    return replace(found, normalization=old.normalization or new.normalization)


def join_transportation(old: Transportation, new: Transportation, judge: Judge) -> Transportation:
    if old.reliable != new.reliable:
        judge.contradiction(
            f"transportation {new.name!r}", "one is reliable, one is not", new.place, old.place
        )
    return old


def join_update_rate(old: UpdateRate, new: UpdateRate, judge: Judge) -> UpdateRate:
    return judge.joined(f"update rate {new.name!r}", old, new, (old.place, new.place), ("rate",))


def join_synchronization(
    old: SynchronizationLabel, new: SynchronizationLabel, judge: Judge
) -> SynchronizationLabel:
    what, places = f"synchronization point {new.label!r}", (old.place, new.place)
    return judge.joined(what, old, new, places, ("data_type",), ("capability",))


# Data types

_COLUMNS: dict[type[DataType], tuple[str, ...]] = {
    BasicType: ("size", "endian"),
    SimpleType: ("representation", "units"),
    ReferenceType: ("representation", "referenced_class", "referenced_attribute"),
    EnumeratedType: ("representation",),
    ArrayType: ("element", "cardinality", "encoding"),
    FixedRecordType: ("encoding", "include"),
    VariantRecordType: ("discriminant", "discriminant_type", "encoding"),
}
"""What may not be contradicted of a data type."""


def join_data_type(old: DataType, new: DataType, old_place: str, new_place: str, judge: Judge) -> DataType:
    if old == new:
        return old
    join = _TypeJoin(f"data type {new.name!r}", (old_place, new_place), judge)
    if type(old) is not type(new):
        join.contradiction(f"a {kind(new)} here and a {kind(old)} there")
        return old
    documents = ("resolution", "accuracy") if isinstance(old, SimpleType) else ()
    found = judge.joined(join.what, old, new, join.places, _COLUMNS[type(old)], documents)
    match found, new:
        case BasicType(), BasicType():
            return replace(found, encoding=found.encoding or new.encoding)
        case EnumeratedType(), EnumeratedType():
            return replace(found, enumerators=join.enumerators(found, new))
        case FixedRecordType(), FixedRecordType():
            return replace(found, fields=join.fields(found, new))
        case VariantRecordType(), VariantRecordType():
            return replace(found, alternatives=join.alternatives(found, new))
        case _:
            return found


def kind(data_type: DataType) -> str:
    return type(data_type).__name__.removesuffix("Type").lower() + " type"


class _TypeJoin:
    """What a data type has several of, and may get more of."""

    def __init__(self, what: str, places: tuple[str, str], judge: Judge) -> None:
        self.what = what
        self.places = places
        self.judge = judge

    def contradiction(self, detail: str) -> None:
        self.judge.contradiction(self.what, detail, self.places[1], self.places[0])

    def enumerators(self, old: EnumeratedType, new: EnumeratedType) -> tuple[Enumerator, ...]:
        found = {item.name: item for item in old.enumerators}
        taken = {value: item.name for item in old.enumerators for value in item.values}
        added: list[str] = []
        for item in new.enumerators:
            known = found.get(item.name)
            clash = next((taken[value] for value in item.values if value in taken), None)
            if known is not None:
                if item.values and known.values != item.values:
                    here, there = list(item.values), list(known.values)
                    self.contradiction(f"enumerator {item.name!r} is {here} here and {there} there")
            elif clash is not None:
                self.contradiction(f"enumerator {item.name!r} here has the value of {clash!r} there")
            else:
                found[item.name] = item
                added.append(item.name)
        if old.enumerators:
            self.judge.added(self.what, added, self.places[1])
        return tuple(found.values())

    def fields(self, old: FixedRecordType, new: FixedRecordType) -> tuple[Field, ...]:
        if not old.fields or not new.fields:
            return old.fields or new.fields
        known = {item.name: item for item in old.fields}
        for item in new.fields:
            if item.name in known:
                there = known[item.name].type
                self.judge.agree(self.what, f"field {item.name!r}", there, item.type, self.places)
        if old.encoding == "HLAextendableFixedRecord":
            return old.fields + tuple(item for item in new.fields if item.name not in known)
        if [item.name for item in new.fields] != list(known):
            self.contradiction("the fields differ")
        return old.fields

    def alternatives(self, old: VariantRecordType, new: VariantRecordType) -> tuple[Alternative, ...]:
        found = {item.enumerators: item for item in old.alternatives}
        added: list[str] = []
        for item in new.alternatives:
            known = found.get(item.enumerators)
            if known is None:
                found[item.enumerators] = item
                added.append(item.enumerators)
            elif known != item:
                self.contradiction(f"the alternative for {item.enumerators!r} differs")
        if old.alternatives:
            self.judge.added(self.what, added, self.places[1])
        return tuple(found.values()) if added else old.alternatives
