"""Codecs put together by hand, for a federate without an object model."""

from __future__ import annotations

from collections.abc import Mapping

from weft.fom.encoding import basic
from weft.fom.encoding.arrays import LONGEST, Bounds, fixed_array_codec, variable_array_codec
from weft.fom.encoding.codec import Codec
from weft.fom.encoding.records import RecordField, record_codec
from weft.fom.encoding.shape import Leaf
from weft.fom.encoding.variants import (
    Arm,
    Arms,
    Discriminant,
    discriminant,
    extendable_variant_codec,
    variant_codec,
)
from weft.model.errors import EncodingError

Alternatives = Mapping[int | str, tuple[str, Codec] | None]
"""Discriminant value (name or number) to the alternative's name and codec; None: no alternative."""


def enumeration(representation: Codec, enumerators: Mapping[str, int], name: str = "enumeration") -> Codec:
    """Values are enumerator names, or numbers; names come back where the number has one."""
    base = representation.shape
    if not isinstance(base, Leaf):
        raise EncodingError(f"{name}: {representation.name} cannot represent an enumeration")
    values = {enumerator: (value,) for enumerator, value in enumerators.items()}
    return basic.leaf_codec(name, basic.enumerated_leaf(name, base, values))


def fixed_array(element: Codec, count: int, name: str = "array") -> Codec:
    """HLAfixedArray: a list of exactly `count` elements; octets are bytes, characters are a str."""
    return fixed_array_codec(name, element, count)


def variable_array(element: Codec, low: int = 0, high: int = LONGEST, name: str = "array") -> Codec:
    """HLAvariableArray: a list of `low` to `high` elements; octets are bytes, characters are a str."""
    return variable_array_codec(name, element, Bounds(low, high))


def fixed_record(fields: Mapping[str, Codec], name: str = "record") -> Codec:
    """HLAfixedRecord, its fields in the order of the mapping."""
    return record_codec(
        name, [RecordField(key, codec, codec.octet_boundary) for key, codec in fields.items()]
    )


def variant_record(
    discriminant_name: str,
    discriminant_codec: Codec,
    alternatives: Alternatives,
    other: tuple[str, Codec] | None = None,
    name: str = "variant",
) -> Codec:
    """HLAvariantRecord; `other` is the alternative of all discriminant values not listed (HLAother)."""
    by = discriminant(name, discriminant_name, discriminant_codec)
    return variant_codec(name, by, _arms(name, by, alternatives, other))


def extendable_variant_record(
    discriminant_name: str,
    discriminant_codec: Codec,
    alternatives: Alternatives,
    name: str = "variant",
) -> Codec:
    """HLAextendableVariantRecord; an unknown alternative keeps its bytes under the key `UNKNOWN`."""
    by = discriminant(name, discriminant_name, discriminant_codec)
    return extendable_variant_codec(name, by, _arms(name, by, alternatives, None))


def _arms(name: str, by: Discriminant, alternatives: Alternatives, other: tuple[str, Codec] | None) -> Arms:
    named = {pair[0]: Arm(*pair) for pair in (*alternatives.values(), other) if pair}
    if by.name in named:
        raise EncodingError(f"{name}: an alternative has the discriminant's name {by.name}")
    chosen = {by.number(key): named[pair[0]] if pair else None for key, pair in alternatives.items()}
    return Arms(chosen, named[other[0]] if other else None)
