"""Random values of the data types of an object model, as plain data that a script can say and the encoders take.

Records and variant records are objects by field, arrays lists, enumerations names of enumerators, opaque data lists of octets.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from weft.fom import (
    ArrayType,
    BasicType,
    EnumeratedType,
    FixedRecordType,
    ObjectModel,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.encoding import Codec
from weft.fom.encoding.notation import OTHER, dimensions, enumerator_values, selected
from weft.fom.encoding.rpr import COUNTED
from weft.fom.encoding.shape import Leaf
from weft.fom.encoding.standard import CHARACTERS
from weft.model.errors import EncodingError
from weft.model.json_types import Json

_MOST = 3  # elements of an array that may have any number
_DEPTH = 5  # of types in one another, from where arrays that may be empty are
_LETTERS = "abcdefgh"


class Values:
    def __init__(self, model: ObjectModel, chance: random.Random) -> None:
        self._model = model
        self._chance = chance

    def of(self, data_type: str) -> Json:
        """{"value": …}, or None where the encoders know no value of that type."""
        try:
            value = self._of(data_type, 0)
            self._model.encode(data_type, value)
        except EncodingError:
            return None
        return {"value": value}

    def _of(self, name: str, depth: int) -> Json:
        kind = self._model.data_types.get(name)
        codec = self._model.codecs.codec(name)
        if name in CHARACTERS:
            return self._leaf(codec)
        if codec.python_type in ("str", "bytes") and isinstance(kind, ArrayType):
            return self._text(kind, codec)
        match kind:
            case EnumeratedType():
                return self._one_of(kind, codec)
            case SimpleType() | ReferenceType():
                return self._of(kind.representation, depth)
            case ArrayType():
                bounds = dimensions(name, kind.cardinality)
                return self._array(kind.element, [(one.low, one.high) for one in bounds], depth)
            case FixedRecordType():
                return self._record(kind, depth)
            case VariantRecordType():
                return self._variant(kind, depth)
            case BasicType() | None:
                return self._leaf(codec)

    def _record(self, record: FixedRecordType, depth: int) -> Json:
        value = {field: self._of(its, depth + 1) for field, its in self._fields(record)}
        for field, its in self._fields(record):
            by, count_of = COUNTED.get((record.name, field), ("", int))
            array = self._model.data_types.get(its)
            if by and isinstance(array, ArrayType):  # another field says how many there are
                value[by] = count = self._chance.randint(0, 2)
                value[field] = [self._of(array.element, depth + 1) for _ in range(count_of(count))]
        return value

    def _fields(self, record: FixedRecordType) -> Iterable[tuple[str, str]]:
        included = self._model.data_types.get(record.include)
        if isinstance(included, FixedRecordType):
            yield from self._fields(included)
        for field in record.fields:
            if not self._model.codecs.codec(field.type).padding:
                yield field.name, field.type

    def _leaf(self, codec: Codec) -> Json:
        leaf = codec.shape
        if codec.python_type == "str":
            return self._chance.choice(_LETTERS)
        if codec.python_type == "bytes":
            return self._octets(0, _MOST)
        if codec.python_type == "bool":
            return self._chance.random() < 0.5
        if isinstance(leaf, Leaf) and leaf.low is not None and leaf.high is not None:
            near = self._chance.randint(max(leaf.low, -9), min(leaf.high, 9))
            return self._chance.choice([near, near, leaf.low, leaf.high])
        # Halves and quarters are the same in every size of floating point.
        return self._chance.randint(-400, 400) / 4

    def _text(self, array: ArrayType, codec: Codec) -> Json:
        bounds = dimensions(array.name, array.cardinality)[-1]
        low, high = bounds.low, min(bounds.high, bounds.low + _MOST)
        if codec.python_type == "bytes":
            return self._octets(low, high)
        return "".join(self._chance.choices(_LETTERS, k=self._chance.randint(low, high)))

    def _octets(self, low: int, high: int) -> list[int]:
        # None is zero, which would end an array that zero ends.
        return [self._chance.randint(1, 255) for _ in range(self._chance.randint(low, high))]

    def _one_of(self, enumerated: EnumeratedType, codec: Codec) -> Json:
        names = [name for name, numbers in enumerator_values(enumerated).items() if numbers]
        return self._chance.choice(names) if names else self._leaf(codec)

    def _array(self, element: str, bounds: list[tuple[int, int]], depth: int) -> Json:
        if not bounds:
            return self._of(element, depth + 1)
        low, high = bounds[0]
        count = low if depth >= _DEPTH else self._chance.randint(low, min(high, low + _MOST))
        if len(bounds) == 1 and count > 64 and element in self._model.data_types:
            return [self._of(element, depth + 1)] * count  # who would read a hundred different ones
        return [self._array(element, bounds[1:], depth) for _ in range(count)]

    def _variant(self, variant: VariantRecordType, depth: int) -> Json:
        enumerated = self._model.data_types.get(variant.discriminant_type)
        names = enumerator_values(enumerated) if isinstance(enumerated, EnumeratedType) else {}
        word_of = {number: word for word, numbers in names.items() for number in numbers[:1]}
        alternative = self._chance.choice(variant.alternatives)
        if alternative.enumerators.strip() == OTHER:
            taken = {
                number
                for one in variant.alternatives
                if one.enumerators.strip() != OTHER
                for number in selected(variant.name, one.enumerators, names)
            }
            free = [number for number in (word_of or range(256)) if number not in taken]
            if not free:
                raise EncodingError(f"{variant.name}: {OTHER} stands for nothing")
            number = self._chance.choice(free)
        else:
            number = self._chance.choice(list(selected(variant.name, alternative.enumerators, names)))
        value: dict[str, Json] = {variant.discriminant: word_of.get(number, number)}
        if alternative.type not in ("", "NA"):
            value[alternative.name] = self._of(alternative.type, depth + 1)
        return value
