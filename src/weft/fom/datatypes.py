"""Data types of an object model, as frozen data.

A data type refers to others by name; the encoders resolve the names once, when a type is compiled
(`weft.fom.encoding`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BasicType:
    """A fixed-size representation, e.g. HLAfloat64BE; `size` is in bits."""

    name: str
    size: int
    endian: str  # "big" | "little"
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class SimpleType:
    """A basic representation with a meaning, e.g. metres as HLAfloat64BE."""

    name: str
    representation: str
    units: str = ""
    resolution: str = ""
    accuracy: str = ""


@dataclass(frozen=True, slots=True)
class Enumerator:
    name: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EnumeratedType:
    name: str
    representation: str
    enumerators: tuple[Enumerator, ...]


@dataclass(frozen=True, slots=True)
class ReferenceType:
    """IEEE 1516.2-2025: a reference to an object instance of a class, held as another type."""

    name: str
    representation: str
    referenced_class: str = ""
    referenced_attribute: str = ""


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array; `cardinality` is as written ("3", "Dynamic", "2..5", "3, Dynamic")."""

    name: str
    element: str
    cardinality: str
    encoding: str  # "HLAfixedArray", "HLAvariableArray" or a name the encoders do not know


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class FixedRecordType:
    """A record; `include` (2025) names a record whose fields come first."""

    name: str
    encoding: str  # "HLAfixedRecord", "HLAextendableFixedRecord" or another name
    fields: tuple[Field, ...]
    include: str = ""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One arm of a variant record; `enumerators` is as written ("A", "A, C", "[A..C]", "HLAother")."""

    enumerators: str
    name: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class VariantRecordType:
    name: str
    discriminant: str
    discriminant_type: str
    alternatives: tuple[Alternative, ...]
    encoding: str  # "HLAvariantRecord", "HLAextendableVariantRecord" or another name


DataType = (
    BasicType | SimpleType | EnumeratedType | ReferenceType | ArrayType | FixedRecordType | VariantRecordType
)


def made_of(item: DataType) -> Iterator[str]:
    """The names of the data types a data type refers to; empty where it leaves one open."""
    match item:
        case BasicType():
            pass
        case SimpleType() | EnumeratedType() | ReferenceType():
            yield item.representation
        case ArrayType():
            yield item.element
        case FixedRecordType():
            yield item.include
            yield from (member.type for member in item.fields)
        case VariantRecordType():
            yield item.discriminant_type
            yield from (alternative.type for alternative in item.alternatives)
