"""From data types to codecs, each compiled when first asked for.

A type may contain itself only through a variable array, or no value of it could end; its codec is then looked
up when used (`_late`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.fom.datatypes import (
    Alternative,
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Field,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
    made_of,
)
from weft.fom.encoding import basic, notation, rpr
from weft.fom.encoding.arrays import Bounds, fixed_array_codec, variable_array_codec
from weft.fom.encoding.codec import Codec, Octets
from weft.fom.encoding.records import CountedBy, RecordField, record_codec
from weft.fom.encoding.shape import Leaf
from weft.fom.encoding.standard import CHARACTERS, STANDARD
from weft.fom.encoding.variants import Arm, Arms, discriminant, extendable_variant_codec, variant_codec
from weft.model.errors import EncodingError

_UNSIZED_ARRAYS: dict[str, Callable[[str, Codec, Bounds], Codec]] = {
    "HLAvariableArray": variable_array_codec,
    "RPRlengthlessArray": rpr.lengthless_codec,
    "RPRnullTerminatedArray": rpr.null_terminated_codec,
}


class Codecs:
    """Encodes and decodes values of the data types of an object model, by the name of the type."""

    def __init__(self, data_types: Mapping[str, DataType]) -> None:
        self.types = data_types
        self._ready: dict[str, Codec] = {}

    def encode(self, type_name: str, value: object) -> bytes:
        codec = self._ready.get(type_name)
        return (codec or self.codec(type_name)).encode(value)

    def decode(self, type_name: str, data: Octets) -> Any:
        codec = self._ready.get(type_name)
        return (codec or self.codec(type_name)).decode(data)

    def codec(self, type_name: str) -> Codec:
        """The codec of a type; raises EncodingError if the type is unknown or cannot be encoded."""
        ready = self._ready.get(type_name)
        if ready is not None:
            return ready
        try:
            return Compilation(self.types, self._ready).make(type_name)
        except RecursionError:
            raise EncodingError(f"{type_name}: the data types are nested too deeply") from None


class Compilation:
    """Makes one codec, and the codecs of the types it needs; `ready` is shared by all compilations of a model."""

    def __init__(self, types: Mapping[str, DataType], ready: dict[str, Codec]) -> None:
        self._types = types
        self._ready = ready
        self._making: list[str] = []

    def make(self, name: str) -> Codec:
        ready = self._ready.get(name)
        if ready is not None:
            return ready
        if name in self._making:
            return self._again(name)
        self._making.append(name)
        codec = self._compile(name)
        self._making.pop()
        self._ready[name] = codec
        return codec

    def _compile(self, name: str) -> Codec:
        data_type = self._types.get(name)
        if name in CHARACTERS or (data_type is None and name in STANDARD):
            return STANDARD[name]
        match data_type:
            case None:
                wanting = f"{self._making[-2]}: " if len(self._making) > 1 else ""
                raise EncodingError(f"{wanting}the data type {name} is not defined")
            case BasicType():
                return basic.leaf_codec(name, notation.representation(data_type))
            case SimpleType() | ReferenceType():
                return self._alias(name, data_type.representation)
            case EnumeratedType():
                values = notation.enumerator_values(data_type)
                return basic.enumeration_codec(name, self.make(data_type.representation), values)
            case ArrayType():
                return self._array(data_type)
            case FixedRecordType():
                return self._record(data_type)
            case VariantRecordType():
                return self._variant(data_type)

    def _again(self, name: str) -> Codec:
        """A type met again while it is being made."""
        cycle = self._making[self._making.index(name) :]
        arrays = [found for member in cycle if isinstance(found := self._types.get(member), ArrayType)]
        if not any(array.encoding == "HLAvariableArray" for array in arrays):
            path = " → ".join([*cycle, name])
            raise EncodingError(f"{name}: the type contains itself: {path}")
        return self._late(name)

    def _late(self, name: str) -> Codec:
        types, ready = self._types, self._ready

        def write(out: bytearray, value: object) -> None:
            (ready.get(name) or Compilation(types, ready).make(name)).write(out, value)

        def read(data: bytes, position: int) -> tuple[object, int]:
            return (ready.get(name) or Compilation(types, ready).make(name)).read(data, position)

        boundary = self._octet_boundary(name)
        # Not empty: the cycle passes an array, and so a count.
        return Codec(name, write, read, boundary=boundary, python_type="Any", min_size=1)

    def _octet_boundary(self, name: str) -> int:
        """Of a type that contains itself, which cannot be asked while its codec is being made.

        A boundary is only the largest one among everything that can be reached from the type, so a walk finds it.
        """
        seen: set[str] = set()
        waiting = [name]
        largest = 1
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                data_type = self._types.get(current)
                largest = max(largest, self._own_boundary(current, data_type))
                padding = isinstance(data_type, ArrayType) and data_type.encoding in rpr.PADDING_ARRAYS
                if data_type is not None and not padding:
                    waiting.extend(made_of(data_type))
        return largest

    def _own_boundary(self, name: str, data_type: DataType | None) -> int:
        """The boundary a type has apart from its parts."""
        match data_type:
            case None:
                return STANDARD[name].octet_boundary if name in STANDARD else 1
            case BasicType():
                return notation.representation(data_type).boundary
            case (
                ArrayType(encoding="HLAvariableArray")
                | VariantRecordType(encoding="RPRextendedVariantRecord")
            ):
                return 4
            case VariantRecordType(encoding="HLAextendableVariantRecord"):
                return 8
            case _:
                return 1

    def _alias(self, name: str, representation: str) -> Codec:
        codec = self.make(representation)
        if isinstance(codec.shape, Leaf):
            return basic.leaf_codec(name, codec.shape)
        return codec.named(name)

    def _array(self, array: ArrayType) -> Codec:
        boundary = rpr.PADDING_ARRAYS.get(array.encoding)
        if boundary is not None:
            return rpr.padding_codec(array.name, boundary)
        if array.encoding != "HLAfixedArray" and array.encoding not in _UNSIZED_ARRAYS:
            raise _unknown_encoding(array.name, array.encoding)
        codec = self.make(array.element)
        for bounds in reversed(notation.dimensions(array.name, array.cardinality)):
            codec = _array_codec(array, codec, bounds)
        return codec

    def _record(self, record: FixedRecordType) -> Codec:
        if record.encoding != "HLAfixedRecord":
            raise _unknown_encoding(record.name, record.encoding)
        return record_codec(record.name, self._fields(record, ()))

    def _fields(self, record: FixedRecordType, including: tuple[str, ...]) -> list[RecordField]:
        fields: list[RecordField] = []
        if record.include:
            included = self._types.get(record.include)
            if not isinstance(included, FixedRecordType):
                raise EncodingError(f"{record.name}: the included record {record.include} is not defined")
            if record.name in including:
                raise EncodingError(f"{record.name}: the record includes itself")
            fields = self._fields(included, (*including, record.name))
        for field in record.fields:
            codec = self.make(field.type)
            if any(field.name == earlier.name for earlier in fields):
                raise EncodingError(f"{record.name}.{field.name}: two fields of this name")
            fields.append(RecordField(field.name, codec, codec.octet_boundary, self._counted(record, field)))
        return fields

    def _counted(self, record: FixedRecordType, field: Field) -> CountedBy | None:
        rule = rpr.COUNTED.get((record.name, field.name))
        array = self._types.get(field.type)
        if rule is None or not isinstance(array, ArrayType) or array.encoding != "RPRlengthlessArray":
            return None
        return rpr.counted_by(*rule, self.make(array.element))

    def _variant(self, variant: VariantRecordType) -> Codec:
        name = variant.name
        by = discriminant(name, variant.discriminant, self.make(variant.discriminant_type))
        arms = self._arms(variant)
        match variant.encoding:
            case "HLAvariantRecord":
                return variant_codec(name, by, arms)
            case "HLAextendableVariantRecord":
                return extendable_variant_codec(name, by, arms)
            case "RPRextendedVariantRecord":
                return extendable_variant_codec(name, by, arms, arms.boundary)
            case encoding:
                raise _unknown_encoding(name, encoding)

    def _arms(self, variant: VariantRecordType) -> Arms:
        enumerated = self._types.get(variant.discriminant_type)
        values = notation.enumerator_values(enumerated) if isinstance(enumerated, EnumeratedType) else {}
        by_number: dict[int, Arm | None] = {}
        other: Arm | None = None
        for alternative in variant.alternatives:
            arm = self._arm(variant, alternative)
            if alternative.enumerators.strip() == notation.OTHER:
                other = arm
                continue
            for number in notation.selected(variant.name, alternative.enumerators, values):
                by_number.setdefault(number, arm)
        return Arms(by_number, other)

    def _arm(self, variant: VariantRecordType, alternative: Alternative) -> Arm | None:
        """None for an alternative without data, which the tables write as NA."""
        if alternative.type in ("", "NA"):
            return None
        name = alternative.name
        if name in ("", variant.discriminant):
            raise EncodingError(
                f"{variant.name}: the alternative {alternative.enumerators} needs a name of its own"
            )
        return Arm(name, self.make(alternative.type))


def _array_codec(array: ArrayType, element: Codec, bounds: Bounds) -> Codec:
    if array.encoding != "HLAfixedArray":
        return _UNSIZED_ARRAYS[array.encoding](array.name, element, bounds)
    if bounds.low != bounds.high:
        raise EncodingError(
            f"{array.name}: HLAfixedArray needs a number of elements, not {array.cardinality}"
        )
    return fixed_array_codec(array.name, element, bounds.low)


def _unknown_encoding(name: str, encoding: str) -> EncodingError:
    return EncodingError(f"{name}: unknown encoding {basic.shortened(encoding)!r}")
