"""An object model as one OMT XML file of 2025, which reads back to an equal model.

Two things have no place in the schema of 2025 and are written all the same, where they occur: dimensions of
single attributes (2010, 1.3), and "Space.dimension" names, from which routing spaces are read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

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

C = TypeVar("C", ObjectClass, InteractionClass)

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

    def leaves(self, **texts: str) -> None:
        """An element for each text that is not empty, by its tag."""
        for tag, text in texts.items():
            if text:
                self.line(f"<{tag}>{escape(text)}</{tag}>")

    def row(self, tag: str, **texts: str) -> None:
        with self.element(tag):
            self.leaves(**texts)

    def names(self, tag: str, row: str, names: Iterable[str]) -> None:
        names = tuple(names)
        if names:
            with self.element(tag):
                for name in names:
                    self.leaves(**{row: name})

    # The document

    def document(self, model: ObjectModel | Module, name: str) -> bytes:
        self.line('<?xml version="1.0" encoding="UTF-8"?>')
        self.line(f"<objectModel xmlns={quote(NAMESPACE_2025)}>")
        self.depth += 1
        self.row("modelIdentification", name=name, type="FOM")
        self.classes("objects", model.object_classes, self.object_class)
        self.classes("interactions", model.interaction_classes, self.interaction_class)
        self.dimensions(model)
        self.time_and_tags(model)
        self.small_tables(model)
        self.data_types(model.data_types)
        self.depth -= 1
        self.line("</objectModel>")
        return ("\n".join(self.lines) + "\n").encode()

    def classes(
        self,
        section: str,
        classes: Mapping[str, C],
        write: Callable[[C, Callable[[str], None]], None],
    ) -> None:
        """`write` is given a class, and what writes the classes below one of that name."""
        children: dict[str | None, list[str]] = {}
        for name, item in classes.items():
            children.setdefault(item.parent, []).append(name)

        def below(parent: str | None) -> None:
            for name in children.get(parent, ()):
                write(classes[name], below)

        if classes:
            with self.element(section):
                below(None)

    def object_class(self, item: ObjectClass, below: Callable[[str], None]) -> None:
        with self.element("objectClass"):
            self.leaves(name=item.name.rpartition(".")[2], sharing=item.sharing)
            for name in item.directed_interactions:
                self.row("directedInteraction", name=name)
            self.names("dimensions", "dimension", item.dimensions)
            for attribute in item.attributes:
                self.attribute(attribute)
            below(item.name)

    def attribute(self, item: Attribute) -> None:
        with self.element("attribute"):
            self.leaves(
                name=item.name,
                dataType=item.data_type,
                updateType=item.update_type,
                updateCondition=item.update_condition,
                valueRequired=item.value_required,
                ownership=item.ownership,
                sharing=item.sharing,
            )
            self.names("dimensions", "dimension", item.dimensions)
            self.leaves(transportation=item.transportation, order=item.order)

    def interaction_class(self, item: InteractionClass, below: Callable[[str], None]) -> None:
        with self.element("interactionClass"):
            self.leaves(name=item.name.rpartition(".")[2])
            if not item.scaffold:
                self.leaves(sharing=item.sharing)
                self.names("dimensions", "dimension", item.dimensions)
                self.leaves(transportation=item.transportation, order=item.order)
            for parameter in item.parameters:
                self.row("parameter", name=parameter.name, dataType=parameter.data_type)
            below(item.name)

    def dimensions(self, model: ObjectModel | Module) -> None:
        if not model.dimensions:
            return
        with self.element("dimensions"):
            for item in model.dimensions.values():
                with self.element("dimension"):
                    self.leaves(name=item.name)
                    self.names("inputDataTypes", "dataType", item.data_types)
                    bound = str(item.upper_bound or "")
                    self.leaves(upperBound=bound, normalization=item.normalization, value=item.value)

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
                    self.row(
                        "synchronizationPoint",
                        label=point.label,
                        dataType=point.data_type,
                        capability=point.capability,
                    )
        if model.transportations:
            with self.element("transportations"):
                for item in model.transportations.values():
                    self.row("transportation", name=item.name, reliable="Yes" if item.reliable else "No")
        self.switches(model.switches)
        if model.update_rates:
            with self.element("updateRates"):
                for name, rate in model.update_rates.items():
                    number = rate if isinstance(rate, float) else rate.rate
                    self.row("updateRate", name=name, rate=repr(number))

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
                                self.leaves(name=item.name)
                                self.data_type(item)

    def data_type(self, item: DataType) -> None:
        match item:
            case BasicType():
                size, endian = str(item.size or ""), item.endian.capitalize()
                self.leaves(size=size, endian=endian, encoding=item.encoding)
            case SimpleType():
                self.leaves(representation=item.representation, units=item.units)
                self.leaves(resolution=item.resolution, accuracy=item.accuracy)
            case ReferenceType():
                self.leaves(representation=item.representation, referenceClass=item.referenced_class)
                self.leaves(referencedAttribute=item.referenced_attribute)
            case EnumeratedType():
                self.leaves(representation=item.representation)
                for enumerator in item.enumerators:
                    with self.element("enumerator"):
                        self.leaves(name=enumerator.name)
                        for value in enumerator.values:
                            self.leaves(value=str(value))
            case ArrayType():
                self.leaves(dataType=item.element, cardinality=item.cardinality, encoding=item.encoding)
            case FixedRecordType():
                self.leaves(encoding=item.encoding, include=item.include)
                for member in item.fields:
                    version = str(member.version or "")
                    self.row("field", name=member.name, dataType=member.type, version=version)
            case VariantRecordType():
                self.leaves(discriminant=item.discriminant, dataType=item.discriminant_type)
                for arm in item.alternatives:
                    self.row("alternative", enumerator=arm.enumerators, name=arm.name, dataType=arm.type)
                self.leaves(encoding=item.encoding)
