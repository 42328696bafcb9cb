"""The data type tables of OMT XML."""

from __future__ import annotations

from collections.abc import Callable

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
from weft.fom.joins import Judge, join_data_type
from weft.fom.xmltree import Element, Warnings


def integer(text: str) -> int | None:
    """A decimal or 0x… number, or None."""
    if len(text) > 40:
        return None
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return int(text)  # leading zeros
    except ValueError:
        return None


def _some(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values)) or "nothing"


class TypeReader:
    """Reads the tables one by one into `types`; `places` says where each type was first defined."""

    def __init__(self, warnings: Warnings, judge: Judge) -> None:
        self.warnings = warnings
        self.judge = judge
        self.types: dict[str, DataType] = {}
        self.places: dict[str, str] = {}
        self._readers: dict[str, Callable[[Element, str], DataType]] = {
            "basicData": self.basic,
            "simpleData": self.simple,
            "referenceDataType": self.reference,
            "enumeratedData": self.enumerated,
            "arrayData": self.array,
            "fixedRecordData": self.record,
            "variantRecordData": self.variant,
        }

    def read(self, table: Element) -> None:
        for row in table.children:
            name = row.name()
            found = self._readers[row.tag](row, name)
            known = self.types.get(name)
            if known is None:
                self.types[name] = found
                self.places[name] = row.place
            else:
                self.warnings.add(f"data type {name!r} is given twice; leave one out", row.line)
                self.types[name] = join_data_type(known, found, self.places[name], row.place, self.judge)

    def basic(self, element: Element, name: str) -> BasicType:
        size = integer(element.value("size"))
        if size is None or size <= 0:
            self.warnings.add(
                f"basic type {name!r} has no size; <size> must be a number of bits", element.line
            )
        endian = element.value("endian").lower()
        if endian not in ("big", "little", ""):
            self.warnings.add(
                f"basic type {name!r} has the endian {endian!r}; it must be Big or Little", element.line
            )
            endian = ""
        text = element.value("encoding") or element.value("interpretation")
        return BasicType(name, max(size or 0, 0), endian, text)

    def simple(self, element: Element, name: str) -> SimpleType:
        value = element.value
        return SimpleType(
            name, value("representation"), value("units"), value("resolution"), value("accuracy")
        )

    def reference(self, element: Element, name: str) -> ReferenceType:
        referenced = element.value("referenceClass") or element.value("referencedClass")
        return ReferenceType(
            name, element.value("representation"), referenced, element.value("referencedAttribute")
        )

    def enumerated(self, element: Element, name: str) -> EnumeratedType:
        found: dict[str, Enumerator] = {}
        for row in element.all("enumerator"):
            item = self.enumerator(row, name)
            known = found.get(item.name)
            if known is None:
                found[item.name] = item
                continue
            # Published object models have it, with other values too (RPR FOM 2.0, draft 18).
            text = f"enumerator {item.name!r} of {name!r} is given twice"
            more = tuple(value for value in item.values if value not in known.values)
            if more:
                text += f": {_some(more)} is read as it, too, and {_some(known.values[:1])} is written"
                found[item.name] = Enumerator(item.name, known.values + more)
            self.warnings.add(f"{text}; leave one out", row.line)
        return EnumeratedType(name, element.value("representation"), tuple(found.values()))

    def enumerator(self, element: Element, owner: str) -> Enumerator:
        name = element.name()
        values: list[int] = []
        for row in element.all("value"):
            for text in row.text.split(","):
                value = integer(text.strip())
                if value is None:
                    self.warnings.add(
                        f"enumerator {name!r} of {owner!r} has the odd value {text!r}", row.line
                    )
                else:
                    values.append(value)
        if not values:
            self.warnings.add(f"enumerator {name!r} of {owner!r} has no value", element.line)
        return Enumerator(name, tuple(values))

    def array(self, element: Element, name: str) -> ArrayType:
        value = element.value
        return ArrayType(name, value("dataType"), value("cardinality"), value("encoding"))

    def record(self, element: Element, name: str) -> FixedRecordType:
        fields = tuple(
            Field(row.name(), row.value("dataType"), integer(row.value("version")) or 0)
            for row in element.all("field")
        )
        return FixedRecordType(name, element.value("encoding"), fields, element.value("include"))

    def variant(self, element: Element, name: str) -> VariantRecordType:
        value = element.value
        alternatives = tuple(
            Alternative(row.raw("enumerator"), row.value("name"), row.value("dataType"))
            for row in element.all("alternative")
        )
        return VariantRecordType(
            name, value("discriminant"), value("dataType"), alternatives, value("encoding")
        )
