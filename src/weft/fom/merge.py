"""FOM modules to one object model (IEEE 1516.2, merging rules).

Modules are joined one after the other, so the first to name a thing fixes its place in the model and a
module that comes later only appends: handles given by position stay right when a federate joins with
further modules (`extend`). What happens when two modules define the same thing is in `joins.py`; what the
whole must hold is in `checks.py`.

The MIM always comes first and is the authority for what it defines.  Its switches are only defaults: the
first FOM module that sets a switch decides, and a later one that differs is warned about.

A complete model is one a federation can run: the MIM is in it, every class is defined by some module and
every dimension and transportation that is used exists.  Single modules are not complete, so `weft fom
check` asks for an incomplete merge, where the same findings are warnings and the MIM is only there if it is
given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from weft.fom import joins
from weft.fom.checks import check_model
from weft.fom.datatypes import BasicType, DataType
from weft.fom.joins import Judge
from weft.fom.mim import standard_mim
from weft.fom.objectmodel import (
    MAX_UPPER_BOUND,
    Attribute,
    Dimension,
    InteractionClass,
    Module,
    ObjectClass,
    ObjectModel,
    RoutingSpace,
    SynchronizationLabel,
    TimeTypes,
    Transportation,
    UpdateRate,
    frozen,
)
from weft.model.errors import ObjectModelError

T = TypeVar("T")
Sent = TypeVar("Sent", Attribute, InteractionClass)
Rule = Callable[[Any, Any, Judge], Any]

_RULES: dict[str, Rule] = {
    "object_classes": joins.join_object_class,
    "interaction_classes": joins.join_interaction_class,
    "dimensions": joins.join_dimension,
    "transportations": joins.join_transportation,
    "update_rates": joins.join_update_rate,
    "synchronizations": joins.join_synchronization,
}


@dataclass(frozen=True, slots=True)
class Findings:
    """A merge with all that is wrong with it; the model is of use only where there are no errors."""

    model: ObjectModel
    errors: tuple[ObjectModelError, ...] = ()


def merge(modules: Iterable[Module], *, mim: Module | None = None, complete: bool = True) -> ObjectModel:
    """The merge of `modules`; with `complete` the MIM (the standard one, if none is given) is put first."""
    return _accept(examine(modules, mim=mim, complete=complete))


def extend(model: ObjectModel, modules: Iterable[Module]) -> ObjectModel:
    """`model` and further modules: what `model` has keeps its position, what is new comes after."""
    fresh = [module for module in modules if module not in model.modules]
    if not fresh:
        return model
    return _accept(_examine((*model.modules, *fresh), model.mim or standard_mim(), model.complete))


def examine(modules: Iterable[Module], *, mim: Module | None = None, complete: bool = False) -> Findings:
    """Like `merge`, but gives all errors instead of raising the first."""
    authority = standard_mim() if mim is None else mim
    given = list(modules)
    if complete or authority in given:
        given = [authority, *(module for module in given if module != authority)]
    return _examine(tuple(given), authority, complete)


def _accept(findings: Findings) -> ObjectModel:
    if not findings.errors:
        return findings.model
    first, more = findings.errors[0], len(findings.errors) - 1
    if more:
        raise type(first)(f"{first.message} (and {more} more)", first.place)
    raise first


def _examine(modules: tuple[Module, ...], authority: Module, complete: bool) -> Findings:
    merger = _Merger(authority)
    for module in modules:
        if module not in merger.modules:
            merger.add(module)
    model = merger.model(complete)
    warnings, errors = check_model(model)
    model = replace(model, warnings=model.warnings + tuple(warnings))
    return Findings(model, (*merger.judge.errors, *errors))


class _Merger:
    def __init__(self, authority: Module) -> None:
        self.authority = authority
        self.judge = Judge()
        self.modules: list[Module] = []
        self.object_classes: dict[str, ObjectClass] = {}
        self.interaction_classes: dict[str, InteractionClass] = {}
        self.dimensions: dict[str, Dimension] = {}
        self.data_types: dict[str, DataType] = {}
        self.type_places: dict[str, str] = {}
        self.transportations: dict[str, Transportation] = {}
        self.update_rates: dict[str, UpdateRate] = {}
        self.switches: dict[str, str | bool] = {}
        self.spaces: dict[str, RoutingSpace] = {}
        self.synchronizations: dict[str, SynchronizationLabel] = {}
        self.tags: dict[str, str] = {}
        self.time = TimeTypes()
        self._switch_setters: dict[str, str] = {}

    def add(self, module: Module) -> None:
        self.modules.append(module)
        self.judge.standard = module.standard
        for table, rule in _RULES.items():
            self.join(getattr(self, table), getattr(module, table), getattr(self.authority, table), rule)
        self.join_data_types(module)
        self.join_switches(module)
        self.join_spaces(module)
        self.join_tags(module)
        self.judge.lenient = False

    def join(
        self, into: dict[str, T], new: Mapping[str, T], defined_by_mim: Mapping[str, T], rule: Rule
    ) -> None:
        for name, item in new.items():
            if name in into:
                self.judge.lenient = name in defined_by_mim
                into[name] = rule(into[name], item, self.judge)
            else:
                into[name] = item

    def join_data_types(self, module: Module) -> None:
        for name, new in module.data_types.items():
            old, place = self.data_types.get(name), module.type_places.get(name, module.designator)
            if old is None:
                self.data_types[name] = new
                self.type_places[name] = place
            else:
                self.judge.lenient = name in self.authority.data_types
                self.data_types[name] = joins.join_data_type(
                    old, new, self.type_places[name], place, self.judge
                )

    def join_switches(self, module: Module) -> None:
        for name, value in module.switches.items():
            setter = self._switch_setters.get(name)
            if setter is None:
                self.switches[name] = value
                if module != self.authority:
                    self._switch_setters[name] = module.designator
            elif value != self.switches[name]:
                message = (
                    f"switch {name} is {value} here and {self.switches[name]} in {setter}; the first is used"
                )
                self.judge.warn(message, module.designator)

    def join_spaces(self, module: Module) -> None:
        for name, space in module.spaces.items():
            old = self.spaces.setdefault(name, space)
            if old.dimensions != space.dimensions:
                self.judge.contradiction(
                    f"routing space {name!r}",
                    "the dimensions differ",
                    space.place or module.designator,
                    old.place,
                )

    def join_tags(self, module: Module) -> None:
        """User-supplied tags and time types: a data type each."""
        self.judge.lenient = False
        places = (", ".join(earlier.designator for earlier in self.modules[:-1]), module.designator)
        for name, data_type in module.tags.items():
            self.tags[name] = self.judge.agree(name, "data type", self.tags.get(name, ""), data_type, places)
        new, old = module.time, self.time
        places = (old.place, new.place)
        self.time = TimeTypes(
            self.judge.agree("logical time", "data type", old.time_stamp, new.time_stamp, places),
            self.judge.agree("logical time interval", "data type", old.lookahead, new.lookahead, places),
            old.place or new.place,
        )

    def model(self, complete: bool) -> ObjectModel:
        warnings = [problem for module in self.modules for problem in module.warnings]
        return ObjectModel(
            object_classes=_settled(self.object_classes, _settled_object_class),
            interaction_classes=_settled(self.interaction_classes, _settled_interaction),
            dimensions=_settled(self.dimensions, _settled_dimension),
            data_types=_settled(self.data_types, _settled_type),
            transportations=frozen(self.transportations),
            update_rates=frozen({name: item.rate for name, item in self.update_rates.items()}),
            switches=frozen(self.switches),
            spaces=frozen(self.spaces),
            synchronizations=frozen(self.synchronizations),
            tags=frozen({name: data_type for name, data_type in self.tags.items() if data_type}),
            time=self.time,
            modules=tuple(self.modules),
            warnings=tuple(dict.fromkeys(warnings + self.judge.warnings)),
            complete=complete,
            mim=self.authority,
        )


# Defaults, for what no module says


def _settled(items: Mapping[str, T], settle: Callable[[T], T]) -> Mapping[str, T]:
    return frozen({name: settle(item) for name, item in items.items()})


def _settled_object_class(item: ObjectClass) -> ObjectClass:
    attributes = tuple(_with_quality(attribute) for attribute in item.attributes)
    return replace(item, attributes=attributes, sharing=item.sharing or ("" if item.scaffold else "Neither"))


def _settled_interaction(item: InteractionClass) -> InteractionClass:
    return replace(_with_quality(item), sharing=item.sharing or ("" if item.scaffold else "Neither"))


def _with_quality(item: Sent) -> Sent:
    if item.transportation and item.order:
        return item
    return replace(item, transportation=item.transportation or "HLAreliable", order=item.order or "Receive")


def _settled_dimension(item: Dimension) -> Dimension:
    return item if item.upper_bound else replace(item, upper_bound=MAX_UPPER_BOUND)


def _settled_type(item: DataType) -> DataType:
    return replace(item, endian="big") if isinstance(item, BasicType) and not item.endian else item
