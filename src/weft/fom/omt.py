"""OMT XML (IEEE 1516.2, 2010 and 2025) to a `Module`.

Real files break their own schema, so the reader takes what it finds: a missing or odd value is a warning
with its line, and the value stays open.  Only what has no meaning at all is an error: a class, attribute or
type without a name, or a class that does not hang below the root.

The same name twice in one file is treated like the same name in two files (`joins.py`): equal or
complementary definitions join, contradictory ones are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        identification = root.child("modelIdentification")
        if identification is None:
            self.warnings.add(
                "<modelIdentification> is missing; a model begins with it, and it with <name> and <type>",
                root.line,
            )
        types = omt_types.TypeReader(self.place, self.warnings, self.judge)
        for table in self.rows(root, "dataTypes"):
            types.read(table)
        dimensions = self.named(root, "dimensions", self.dimension, joins.join_dimension)
        module = Module(
            source=self.source,
            name=identification.value("name") if identification else "",
            standard=self.standard,
            object_classes=frozen(self.object_classes(root)),
            interaction_classes=frozen(self.interaction_classes(root)),
            dimensions=frozen(dimensions),
            data_types=frozen(types.types),
            transportations=frozen(
                self.named(root, "transportations", self.transportation, joins.join_transportation)
            ),
            update_rates=frozen(self.named(root, "updateRates", self.update_rate, joins.join_update_rate)),
            switches=frozen(self.switches(root)),
            spaces=frozen(spaces_of(dimensions)),
            synchronizations=frozen(
                self.named(root, "synchronizations", self.synchronization, joins.join_synchronization)
            ),
            tags=frozen({row.tag: row.value("dataType") for row in self.rows(root, "tags")}),
            time=self.time(root),
            type_places=frozen(types.places),
            warnings=(),
        )
        return self.finish(module)

    def finish(self, module: Module) -> Module:
        """Join the reader's own warnings with those of the judge; a contradiction ends here."""
        if self.judge.errors:
            raise self.judge.errors[0]
        return joins.with_warnings(module, self.warnings.all() + tuple(self.judge.warnings))

    # Common

    def place(self, element: Element) -> str:
        return f"{self.source.name}:{element.line}"

    def rows(self, root: Element, section: str) -> Iterator[Element]:
        for found in root.all(section):
            yield from found.children

    def name(self, element: Element, tag: str = "name") -> str:
        found = element.raw(tag)
        if not found:
            raise InvalidObjectModel(f"<{element.tag}> has no <{tag}>", self.place(element))
        return found

    def named(
        self,
        root: Element,
        section: str,
        read: Callable[[Element, str], T | None],
        join: Callable[[T, T, joins.Judge], T],
    ) -> dict[str, T]:
        found: dict[str, T] = {}
        for row in self.rows(root, section):
            name = self.name(row, "label" if row.child("label") else "name")
            item = read(row, name)
            if item is not None:
                found[name] = join(found[name], item, self.judge) if name in found else item
        return found

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
        self, root: Element, section: str, tag: str, top: str
    ) -> Iterator[tuple[Element, str, str | None]]:
        """Every class element with its qualified name and its parent's, parents first."""
        for element in self.rows(root, section):
            name = self.name(element)
            if name != top:
                message = f"class {name!r} has no known parent: the outermost <{tag}> must be {top!r}"
                raise InvalidObjectModel(message, self.place(element))
            yield from self.nested(element, tag, name)

    def nested(self, top: Element, tag: str, top_name: str) -> Iterator[tuple[Element, str, str | None]]:
        waiting: list[tuple[Element, str, str | None]] = [(top, top_name, None)]
        while waiting:
            element, name, parent = waiting.pop()
            if len(name) > MAX_NAME:
                message = f"a class name of {len(name)} characters: {name[:60]}…"
                raise InvalidObjectModel(message, self.place(element))
            yield element, name, parent
            children = [child for child in element.children if child.tag == tag]
            waiting.extend((child, f"{name}.{self.plain(child)}", name) for child in reversed(children))

    def plain(self, element: Element) -> str:
        name = self.name(element)
        if "." in name:
            message = f"class name {name!r} holds a dot; nest the class in its parent instead"
            raise InvalidObjectModel(message, self.place(element))
        return name

    def object_classes(self, root: Element) -> dict[str, ObjectClass]:
        found: dict[str, ObjectClass] = {}
        for element, name, parent in self.classes(root, "objects", "objectClass", OBJECT_ROOT):
            item = self.object_class(element, name, parent)
            found[name] = joins.join_object_class(found[name], item, self.judge) if name in found else item
        return found

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
            directed_interactions=tuple(self.name(row) for row in element.all("directedInteraction")),
            dimensions=self.dimension_names(element),
            scaffold=is_scaffold(element),
            place=self.place(element),
        )

    def attribute(self, element: Element) -> Attribute:
        return Attribute(
            name=self.name(element),
            data_type=element.value("dataType"),
            transportation=element.value("transportation"),
            order=self.order(element),
            dimensions=self.dimension_names(element),
            update_type=element.value("updateType"),
            update_condition=element.value("updateCondition"),
            value_required=element.value("valueRequired").lower(),
            ownership=element.value("ownership"),
            sharing=self.sharing(element),
            place=self.place(element),
        )

    def interaction_classes(self, root: Element) -> dict[str, InteractionClass]:
        found: dict[str, InteractionClass] = {}
        for element, name, parent in self.classes(root, "interactions", "interactionClass", INTERACTION_ROOT):
            item = self.interaction_class(element, name, parent)
            found[name] = (
                joins.join_interaction_class(found[name], item, self.judge) if name in found else item
            )
        return found

    def interaction_class(self, element: Element, name: str, parent: str | None) -> InteractionClass:
        parameters: dict[str, Parameter] = {}
        for row in element.all("parameter"):
            item = Parameter(self.name(row), row.value("dataType"), self.place(row))
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
            place=self.place(element),
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
            self.place(element),
        )

    def transportation(self, element: Element, name: str) -> Transportation:
        text = element.value("reliable") or ("no" if name == "HLAbestEffort" else "yes")
        reliable = self.boolean(text, element.line, f"'reliable' of transportation {name!r}")
        return Transportation(name, reliable, self.place(element))

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
        return UpdateRate(name, rate, self.place(element))

    def synchronization(self, element: Element, name: str) -> SynchronizationLabel:
        return SynchronizationLabel(
            name, element.value("dataType"), element.value("capability"), self.place(element)
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
        return TimeTypes(**found, place=self.place(rows[0]) if rows else "")


def is_scaffold(element: Element) -> bool:
    """Only a name and subclasses.  Without a subclass it is a definition: a scaffold carries something."""
    return not element.described and {child.tag for child in element.children} == {"name", element.tag}


def spaces_of(dimensions: dict[str, Dimension]) -> dict[str, RoutingSpace]:
    """Routing spaces, told by the names of their dimensions ("Space.dimension"), as `fed.py` gives them."""
    found: dict[str, list[str]] = {}
    for name in dimensions:
        space, dot, _ = name.partition(".")
        if dot:
            found.setdefault(space, []).append(name)
    return {space: RoutingSpace(space, tuple(names)) for space, names in found.items()}
