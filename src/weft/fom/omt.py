"""OMT XML (IEEE 1516.2, 2010 and 2025) to a `Module`.

Real files break their own schema, so the reader takes what it finds: a missing or odd value is a warning
with its line, and the value stays open.  Only what has no meaning at all is an error: a class, attribute or
type without a name, or a class that does not hang below the root.

The same name twice in one file is treated like the same name in two files (`joins.py`): equal or
complementary definitions join, contradictory ones are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from weft.fom import joins, omt_types
from weft.fom.objectmodel import (
    INTERACTION_ROOT,
    MAX_UPPER_BOUND,
    OBJECT_ROOT,
    Attribute,
    Dimension,
    InteractionClass,
    Module,
    ObjectClass,
    Parameter,
    RoutingSpace,
    SynchronizationLabel,
    TimeTypes,
    Transportation,
    UpdateRate,
    frozen,
)
from weft.fom.orders import spelled, standard
from weft.fom.schema import NAMESPACES, TIMES
from weft.fom.xmltree import Element, Warnings, read_tree
from weft.model.errors import InvalidObjectModel
from weft.model.records import Source

MAX_NAME = 1024
"""Longest qualified class name; longer ones only occur in attempts to exhaust memory."""

SHARINGS = frozenset(("Publish", "Subscribe", "PublishSubscribe", "Neither", ""))
TRUE = frozenset(("true", "1", "yes"))
FALSE = frozenset(("false", "0", "no"))

T = TypeVar("T")


def read_omt(source: Source) -> Module:
    warnings = Warnings(source.name)
    root, namespace = read_tree(source, warnings)
    return _OmtReader(source, warnings, NAMESPACES.get(namespace, "2025")).module(root)


class _OmtReader:
    def __init__(self, source: Source, warnings: Warnings, standard: str) -> None:
        self.source = source
        self.warnings = warnings
        self.standard = standard
        self.judge = joins.Judge(standard)

    def module(self, root: Element) -> Module:
        identification = next(root.all("modelIdentification"), None)
        if identification is None:
            self.warnings.add(
                "<modelIdentification> is missing; a model begins with it, and it with <name> and <type>",
                root.line,
            )
        types = omt_types.TypeReader(self.warnings, self.judge)
        for table in self.rows(root, "dataTypes"):
            types.read(table)
        dimensions = self.named(root, "dimensions", self.dimension, joins.join_dimension)
        module = Module(
            source=self.source,
            name=identification.value("name") if identification else "",
            standard=self.standard,
            object_classes=self.classes(
                root, "objects", OBJECT_ROOT, self.object_class, joins.join_object_class
            ),
            interaction_classes=self.classes(
                root, "interactions", INTERACTION_ROOT, self.interaction_class, joins.join_interaction_class
            ),
            dimensions=dimensions,
            data_types=frozen(types.types),
            transportations=self.named(
                root, "transportations", self.transportation, joins.join_transportation
            ),
            update_rates=self.named(root, "updateRates", self.update_rate, joins.join_update_rate),
            switches=frozen(self.switches(root)),
            spaces=frozen(spaces_of(dimensions)),
            synchronizations=self.named(
                root, "synchronizations", self.synchronization, joins.join_synchronization
            ),
            tags=frozen({row.tag: row.value("dataType") for row in self.rows(root, "tags")}),
            time=self.time(root),
            type_places=frozen(types.places),
        )
        if self.judge.errors:
            raise self.judge.errors[0]
        return replace(module, warnings=self.warnings.all() + tuple(self.judge.warnings))

    # Common

    def rows(self, root: Element, section: str) -> Iterator[Element]:
        for found in root.all(section):
            yield from found.children

    def named(
        self,
        root: Element,
        section: str,
        read: Callable[[Element, str], T | None],
        join: Callable[[T, T, joins.Judge], T],
    ) -> Mapping[str, T]:
        found: dict[str, T] = {}
        for row in self.rows(root, section):
            name = row.name("label" if any(row.all("label")) else "name")
            item = read(row, name)
            if item is not None:
                found[name] = join(found[name], item, self.judge) if name in found else item
        return frozen(found)

    def sharing(self, element: Element) -> str:
        text = element.value("sharing")
        if text not in SHARINGS:
            self.warnings.add(
                f"unknown sharing {text!r}; it is one of {', '.join(sorted(SHARINGS - {''}))}",
                element.line,
            )
            return ""
        return text

    def order(self, element: Element) -> str:
        text = element.value("order")
        order = spelled(text)
        if text and text != order:
            self.warnings.add(
                f"order {text!r} is read as {order or 'Receive'!r}, which is how to write it", element.line
            )
        if not standard(order):
            self.warnings.add(
                f"order {order!r} is Weft's own: other RTIs know Receive and TimeStamp", element.line, "note"
            )
        return order

    def boolean(self, text: str, line: int, what: str) -> bool:
        low = text.lower()
        if low not in TRUE and low not in FALSE:
            self.warnings.add(f"{what} is {text!r}, which is neither; write true or false", line)
        return low in TRUE

    def dimension_names(self, element: Element) -> tuple[str, ...]:
        found = (item.text for item in self.rows(element, "dimensions"))
        return tuple(dict.fromkeys(name for name in found if name and name != "NA"))

    # Classes

    def classes(
        self,
        root: Element,
        section: str,
        top: str,
        read: Callable[[Element, str, str | None], T],
        join: Callable[[T, T, joins.Judge], T],
    ) -> Mapping[str, T]:
        """Every class by its qualified name, parents first."""
        found: dict[str, T] = {}
        for outermost in self.rows(root, section):
            if outermost.name() != top:
                known = f"the outermost <{outermost.tag}> must be {top!r}"
                raise InvalidObjectModel(
                    f"class {outermost.name()!r} has no known parent: {known}", outermost.place
                )
            waiting: list[tuple[Element, str, str | None]] = [(outermost, top, None)]
            while waiting:
                element, name, parent = waiting.pop()
                if len(name) > MAX_NAME:
                    message = f"a class name of {len(name)} characters: {name[:60]}…"
                    raise InvalidObjectModel(message, element.place)
                item = read(element, name, parent)
                found[name] = join(found[name], item, self.judge) if name in found else item
                for child in reversed(list(element.all(element.tag))):
                    if "." in child.name():
                        message = (
                            f"class name {child.name()!r} holds a dot; nest the class in its parent instead"
                        )
                        raise InvalidObjectModel(message, child.place)
                    waiting.append((child, f"{name}.{child.name()}", name))
        return frozen(found)

    def object_class(self, element: Element, name: str, parent: str | None) -> ObjectClass:
        attributes: dict[str, Attribute] = {}
        for row in element.all("attribute"):
            item = self.attribute(row)
            known = attributes.get(item.name)
            if known is not None:
                self.warnings.add(f"attribute {item.name!r} is given twice; leave one out", row.line)
            attributes[item.name] = joins.join_attribute(known, item, name, self.judge) if known else item
        return ObjectClass(
            name=name,
            parent=parent,
            attributes=tuple(attributes.values()),
            sharing=self.sharing(element),
            directed_interactions=tuple(row.name() for row in element.all("directedInteraction")),
            dimensions=self.dimension_names(element),
            scaffold=is_scaffold(element),
            place=element.place,
        )

    def attribute(self, element: Element) -> Attribute:
        return Attribute(
            name=element.name(),
            data_type=element.value("dataType"),
            transportation=element.value("transportation"),
            order=self.order(element),
            dimensions=self.dimension_names(element),
            update_type=element.value("updateType"),
            update_condition=element.value("updateCondition"),
            value_required=element.value("valueRequired").lower(),
            ownership=element.value("ownership"),
            sharing=self.sharing(element),
            place=element.place,
        )

    def interaction_class(self, element: Element, name: str, parent: str | None) -> InteractionClass:
        parameters: dict[str, Parameter] = {}
        for row in element.all("parameter"):
            item = Parameter(row.name(), row.value("dataType"), row.place)
            known = parameters.get(item.name)
            if known is not None:
                self.warnings.add(f"parameter {item.name!r} is given twice; leave one out", row.line)
            parameters[item.name] = joins.join_parameter(known, item, name, self.judge) if known else item
        return InteractionClass(
            name=name,
            parent=parent,
            parameters=tuple(parameters.values()),
            transportation=element.value("transportation"),
            order=self.order(element),
            dimensions=self.dimension_names(element),
            sharing=self.sharing(element),
            scaffold=is_scaffold(element),
            place=element.place,
        )

    # The small tables

    def dimension(self, element: Element, name: str) -> Dimension:
        inputs = [item.text for item in self.rows(element, "inputDataTypes")]
        data_types = tuple(item for item in (element.value("dataType"), *inputs) if item and item != "NA")
        text = element.value("upperBound")
        bound = omt_types.integer(text)
        if text and (bound is None or bound <= 0):
            self.warnings.add(
                f"the upper bound of dimension {name!r} is {text!r}; it must be a whole number of at least 1",
                element.line,
            )
        elif bound is not None and bound > MAX_UPPER_BOUND:
            self.warnings.add(
                f"the upper bound of dimension {name!r} is {bound}; {MAX_UPPER_BOUND} is used, the most there can be",
                element.line,
            )
            bound = MAX_UPPER_BOUND
        return Dimension(
            name,
            max(bound or 0, 0),
            data_types,
            element.value("normalization"),
            element.value("value"),
            element.place,
        )

    def transportation(self, element: Element, name: str) -> Transportation:
        text = element.value("reliable") or ("no" if name == "HLAbestEffort" else "yes")
        reliable = self.boolean(text, element.line, f"'reliable' of transportation {name!r}")
        return Transportation(name, reliable, element.place)

    def update_rate(self, element: Element, name: str) -> UpdateRate | None:
        try:
            rate = float(element.value("rate"))
        except ValueError:
            rate = 0.0
        if not 0 < rate < float("inf"):
            self.warnings.add(
                f"update rate {name!r} is left out: <rate> must be a number of updates per second, more than 0",
                element.line,
            )
            return None
        return UpdateRate(name, rate, element.place)

    def synchronization(self, element: Element, name: str) -> SynchronizationLabel:
        return SynchronizationLabel(
            name, element.value("dataType"), element.value("capability"), element.place
        )

    def switches(self, root: Element) -> dict[str, str | bool]:
        found: dict[str, str | bool] = {}
        for row in self.rows(root, "switches"):
            if row.tag == "automaticResignAction":
                found[row.tag] = row.attributes.get("resignAction", "NoAction")
            else:
                text = row.attributes.get("isEnabled", "false")
                found[row.tag] = self.boolean(text, row.line, f"switch {row.tag}")
        return found

    def time(self, root: Element) -> TimeTypes:
        rows = list(self.rows(root, "time"))
        found = {TIMES[row.tag]: row.value("dataType") for row in rows}
        return TimeTypes(**found, place=rows[0].place if rows else "")


def is_scaffold(element: Element) -> bool:
    """Only a name and subclasses.  Without a subclass it is a definition: a scaffold carries something."""
    return not element.described and {child.tag for child in element.children} == {"name", element.tag}


def spaces_of(dimensions: Mapping[str, Dimension]) -> dict[str, RoutingSpace]:
    """Routing spaces, told by the names of their dimensions ("Space.dimension"), as `fed.py` gives them."""
    found: dict[str, list[str]] = {}
    for name in dimensions:
        space, dot, _ = name.partition(".")
        if dot:
            found.setdefault(space, []).append(name)
    return {space: RoutingSpace(space, tuple(names)) for space, names in found.items()}
