"""An object model as one OMT XML file of 2025, which reads back to an equal model.

Two things have no place in the schema of 2025 and are written all the same, where they occur: dimensions of
single attributes (2010, 1.3), and "Space.dimension" names, from which routing spaces are read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from weft.fom.datatypes import (
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.objectmodel import Attribute, InteractionClass, Module, ObjectClass, ObjectModel
from weft.fom.schema import NAMESPACE_2025

_TABLES: dict[type[DataType], tuple[str, str]] = {
    BasicType: ("basicDataRepresentations", "basicData"),
    SimpleType: ("simpleDataTypes", "simpleData"),
    ReferenceType: ("referenceDataTypes", "referenceDataType"),
    EnumeratedType: ("enumeratedDataTypes", "enumeratedData"),
    ArrayType: ("arrayDataTypes", "arrayData"),
    FixedRecordType: ("fixedRecordDataTypes", "fixedRecordData"),
    VariantRecordType: ("variantRecordDataTypes", "variantRecordData"),
}


def write_omt(model: ObjectModel | Module, name: str = "") -> bytes:
    return _OmtWriter().document(model, name or getattr(model, "name", "") or "Merged object model")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quote(text: str) -> str:
    return '"' + escape(text).replace('"', "&quot;") + '"'


class _OmtWriter:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    # XML

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def element(self, tag: str) -> Iterator[None]:
        self.line(f"<{tag}>")
        self.depth += 1
        yield
        self.depth -= 1
        self.line(f"</{tag}>")

    def leaf(self, tag: str, text: str, always: bool = False) -> None:
        if text or always:
            self.line(f"<{tag}>{escape(text)}</{tag}>")

    def names(self, tag: str, row: str, names: Iterable[str]) -> None:
        names = tuple(names)
        if names:
            with self.element(tag):
                for name in names:
                    self.leaf(row, name)

    # The document

    def document(self, model: ObjectModel | Module, name: str) -> bytes:
        self.line('<?xml version="1.0" encoding="UTF-8"?>')
        self.line(f"<objectModel xmlns={quote(NAMESPACE_2025)}>")
        self.depth += 1
        with self.element("modelIdentification"):
            self.leaf("name", name)
            self.leaf("type", "FOM")
        self.objects(model.object_classes)
        self.interactions(model.interaction_classes)
        self.dimensions(model)
        self.time_and_tags(model)
        self.small_tables(model)
        self.data_types(model.data_types)
        self.depth -= 1
        self.line("</objectModel>")
        return ("\n".join(self.lines) + "\n").encode()

    def objects(self, classes: Mapping[str, ObjectClass]) -> None:
        if classes:
            children = _children(classes)
            with self.element("objects"):
                for root in children[None]:
                    self.object_class(classes[root], classes, children)

    def object_class(
        self, item: ObjectClass, classes: Mapping[str, ObjectClass], children: dict[str | None, list[str]]
    ) -> None:
        with self.element("objectClass"):
            self.leaf("name", item.name.rpartition(".")[2])
            self.leaf("sharing", item.sharing)
            for name in item.directed_interactions:
                with self.element("directedInteraction"):
                    self.leaf("name", name)
            self.names("dimensions", "dimension", item.dimensions)
            for attribute in item.attributes:
                self.attribute(attribute)
            for child in children.get(item.name, ()):
                self.object_class(classes[child], classes, children)

    def attribute(self, item: Attribute) -> None:
        with self.element("attribute"):
            self.leaf("name", item.name)
            self.leaf("dataType", item.data_type)
            self.leaf("updateType", item.update_type)
            self.leaf("updateCondition", item.update_condition)
            self.leaf("valueRequired", item.value_required)
            self.leaf("ownership", item.ownership)
            self.leaf("sharing", item.sharing)
            self.names("dimensions", "dimension", item.dimensions)
            self.leaf("transportation", item.transportation)
            self.leaf("order", item.order)

    def interactions(self, classes: Mapping[str, InteractionClass]) -> None:
        if classes:
            children = _children(classes)
            with self.element("interactions"):
                for root in children[None]:
                    self.interaction_class(classes[root], classes, children)

    def interaction_class(
        self,
        item: InteractionClass,
        classes: Mapping[str, InteractionClass],
        children: dict[str | None, list[str]],
    ) -> None:
        with self.element("interactionClass"):
            self.leaf("name", item.name.rpartition(".")[2])
            if not item.scaffold:
                self.leaf("sharing", item.sharing)
                self.names("dimensions", "dimension", item.dimensions)
                self.leaf("transportation", item.transportation)
                self.leaf("order", item.order)
            for parameter in item.parameters:
                with self.element("parameter"):
                    self.leaf("name", parameter.name)
                    self.leaf("dataType", parameter.data_type)
            for child in children.get(item.name, ()):
                self.interaction_class(classes[child], classes, children)

    def dimensions(self, model: ObjectModel | Module) -> None:
        if not model.dimensions:
            return
        with self.element("dimensions"):
            for item in model.dimensions.values():
                with self.element("dimension"):
                    self.leaf("name", item.name)
                    self.names("inputDataTypes", "dataType", item.data_types)
                    self.leaf("upperBound", str(item.upper_bound or ""))
                    self.leaf("normalization", item.normalization)
                    self.leaf("value", item.value)

    def time_and_tags(self, model: ObjectModel | Module) -> None:
        times = {"logicalTime": model.time.time_stamp, "logicalTimeInterval": model.time.lookahead}
        for section, rows in (("time", times), ("tags", model.tags)):
            if any(rows.values()):
                with self.element(section):
                    for tag, data_type in rows.items():
                        self.names(tag, "dataType", (data_type,) if data_type else ())

    def small_tables(self, model: ObjectModel | Module) -> None:
        if model.synchronizations:
            with self.element("synchronizations"):
                for point in model.synchronizations.values():
                    with self.element("synchronizationPoint"):
                        self.leaf("label", point.label)
                        self.leaf("dataType", point.data_type)
                        self.leaf("capability", point.capability)
        if model.transportations:
            with self.element("transportations"):
                for item in model.transportations.values():
                    with self.element("transportation"):
                        self.leaf("name", item.name)
                        self.leaf("reliable", "Yes" if item.reliable else "No")
        self.switches(model.switches)
        if model.update_rates:
            with self.element("updateRates"):
                for name, rate in model.update_rates.items():
                    with self.element("updateRate"):
                        self.leaf("name", name)
                        self.leaf("rate", repr(rate if isinstance(rate, float) else rate.rate))

    def switches(self, switches: Mapping[str, str | bool]) -> None:
        if not switches:
            return
        with self.element("switches"):
            for name, value in switches.items():
                if isinstance(value, bool):
                    self.line(f'<{name} isEnabled="{str(value).lower()}"/>')
                else:
                    self.line(f"<{name} resignAction={quote(value)}/>")

    # Data types

    def data_types(self, types: Mapping[str, DataType]) -> None:
        if not types:
            return
        with self.element("dataTypes"):
            for kind, (table, row) in _TABLES.items():
                found = [item for item in types.values() if isinstance(item, kind)]
                if found:
                    with self.element(table):
                        for item in found:
                            with self.element(row):
                                self.leaf("name", item.name)
                                self.data_type(item)

    def data_type(self, item: DataType) -> None:
        match item:
            case BasicType():
                self.leaf("size", str(item.size or ""))
                self.leaf("endian", item.endian.capitalize())
                self.leaf("encoding", item.encoding)
            case SimpleType():
                self.leaf("representation", item.representation)
                self.leaf("units", item.units)
                self.leaf("resolution", item.resolution)
                self.leaf("accuracy", item.accuracy)
            case ReferenceType():
                self.leaf("representation", item.representation)
                self.leaf("referenceClass", item.referenced_class)
                self.leaf("referencedAttribute", item.referenced_attribute)
            case EnumeratedType():
                self.enumerated(item)
            case ArrayType():
                self.leaf("dataType", item.element)
                self.leaf("cardinality", item.cardinality)
                self.leaf("encoding", item.encoding)
            case FixedRecordType():
                self.record(item)
            case VariantRecordType():
                self.variant(item)

    def enumerated(self, item: EnumeratedType) -> None:
        self.leaf("representation", item.representation)
        for enumerator in item.enumerators:
            with self.element("enumerator"):
                self.leaf("name", enumerator.name)
                for value in enumerator.values:
                    self.leaf("value", str(value))

    def record(self, item: FixedRecordType) -> None:
        self.leaf("encoding", item.encoding)
        self.leaf("include", item.include)
        for member in item.fields:
            with self.element("field"):
                self.leaf("name", member.name)
                self.leaf("dataType", member.type)
                self.leaf("version", str(member.version or ""))

    def variant(self, item: VariantRecordType) -> None:
        self.leaf("discriminant", item.discriminant)
        self.leaf("dataType", item.discriminant_type)
        for alternative in item.alternatives:
            with self.element("alternative"):
                self.leaf("enumerator", alternative.enumerators)
                self.leaf("name", alternative.name)
                self.leaf("dataType", alternative.type)
        self.leaf("encoding", item.encoding)


def _children(
    classes: Mapping[str, ObjectClass] | Mapping[str, InteractionClass],
) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {None: []}
    for name, item in classes.items():
        found.setdefault(item.parent, []).append(name)
    return found
