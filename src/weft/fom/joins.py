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
from typing import TypeVar

from weft.fom.objectmodel import (
    MAX_PROBLEMS,
    Attribute,
    Dimension,
    InteractionClass,
    Module,
    ObjectClass,
    Parameter,
    Problem,
    SynchronizationLabel,
    Transportation,
    UpdateRate,
)
from weft.model.errors import ConflictingObjectModels, ObjectModelError

T = TypeVar("T")
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


def with_warnings(module: Module, warnings: tuple[Problem, ...]) -> Module:
    return replace(module, warnings=warnings)


def join_attribute(old: Attribute, new: Attribute, owner: str, judge: Judge) -> Attribute:
    if old == new:
        return old
    what, places = f"attribute {owner}.{new.name}", (old.place, new.place)

    def documents(column: str) -> str:
        here, there = str(getattr(new, column)), str(getattr(old, column))
        return judge.agree(what, column.replace("_", " "), there, here, places, serious=False)

    return Attribute(
        name=old.name,
        data_type=judge.agree(what, "data type", old.data_type, new.data_type, places),
        transportation=judge.agree(what, "transportation", old.transportation, new.transportation, places),
        order=judge.agree(what, "order", old.order, new.order, places),
        dimensions=judge.dimensions(what, old.dimensions, new.dimensions, places),
        update_type=documents("update_type"),
        update_condition=old.update_condition or new.update_condition,
        value_required=documents("value_required"),
        ownership=documents("ownership"),
        sharing=documents("sharing"),
        place=old.place,
    )


def join_parameter(old: Parameter, new: Parameter, owner: str, judge: Judge) -> Parameter:
    what, places = f"parameter {owner}.{new.name}", (old.place, new.place)
    return Parameter(
        old.name, judge.agree(what, "data type", old.data_type, new.data_type, places), old.place
    )


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
    return ObjectClass(
        name=old.name,
        parent=old.parent,
        attributes=attributes,
        sharing=judge.agree(what, "sharing", old.sharing, new.sharing, places, serious=False),
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
    return InteractionClass(
        name=old.name,
        parent=old.parent,
        parameters=parameters,
        transportation=judge.agree(what, "transportation", old.transportation, new.transportation, places),
        order=judge.agree(what, "order", old.order, new.order, places),
        dimensions=judge.dimensions(what, old.dimensions, new.dimensions, places),
        sharing=judge.agree(what, "sharing", old.sharing, new.sharing, places, serious=False),
        scaffold=False,
        place=new.place if old.scaffold else old.place,
    )


def join_dimension(old: Dimension, new: Dimension, judge: Judge) -> Dimension:
    what, places = f"dimension {new.name!r}", (old.place, new.place)
    return Dimension(
        name=old.name,
        upper_bound=judge.agree(what, "upper bound", old.upper_bound, new.upper_bound, places),
        data_types=judge.agree(what, "input data", old.data_types, new.data_types, places, serious=False),
        normalization=old.normalization or new.normalization,
        value=judge.agree(what, "value", old.value, new.value, places, serious=False),
        place=old.place,
    )


def join_transportation(old: Transportation, new: Transportation, judge: Judge) -> Transportation:
    if old.reliable != new.reliable:
        judge.contradiction(
            f"transportation {new.name!r}", "one is reliable, one is not", new.place, old.place
        )
    return old


def join_update_rate(old: UpdateRate, new: UpdateRate, judge: Judge) -> UpdateRate:
    judge.agree(f"update rate {new.name!r}", "rate", old.rate, new.rate, (old.place, new.place))
    return old


def join_synchronization(
    old: SynchronizationLabel, new: SynchronizationLabel, judge: Judge
) -> SynchronizationLabel:
    what, places = f"synchronization point {new.label!r}", (old.place, new.place)
    return SynchronizationLabel(
        label=old.label,
        data_type=judge.agree(what, "data type", old.data_type, new.data_type, places),
        capability=judge.agree(what, "capability", old.capability, new.capability, places, serious=False),
        place=old.place,
    )
