"""The octet boundary of a type that contains itself.

While its codec is being made it cannot be asked; but a boundary is only the largest one among everything that
can be reached from the type, so a walk finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from weft.fom.datatypes import (
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
)
from weft.fom.datatypes import VariantRecordType as Variant
from weft.fom.encoding.rpr import PADDING_ARRAYS


def octet_boundary(types: Mapping[str, DataType], name: str, leaf_boundary: Callable[[str], int]) -> int:
    """`leaf_boundary` answers for basic representations and for names the model does not define."""
    seen: set[str] = set()
    waiting = [name]
    largest = 1
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        data_type = types.get(current)
        largest = max(largest, _own(data_type) or leaf_boundary(current))
        waiting.extend(_reached(data_type))
    return largest


def _own(data_type: DataType | None) -> int:
    """The boundary a type has apart from its parts; 0 for a leaf."""
    match data_type:
        case None | BasicType():
            return 0
        case ArrayType(encoding="HLAvariableArray") | Variant(encoding="RPRextendedVariantRecord"):
            return 4
        case Variant(encoding="HLAextendableVariantRecord"):
            return 8
        case _:
            return 1


def _reached(data_type: DataType | None) -> Iterator[str]:
    match data_type:
        case SimpleType() | ReferenceType() | EnumeratedType():
            yield data_type.representation
        case ArrayType() if data_type.encoding not in PADDING_ARRAYS:
            yield data_type.element
        case FixedRecordType():
            yield from (field.type for field in data_type.fields)
            if data_type.include:
                yield data_type.include
        case Variant():
            yield data_type.discriminant_type
            yield from (alternative.type for alternative in data_type.alternatives if alternative.type)
