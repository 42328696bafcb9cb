"""Codecs for a federate without an object model: the data types of the standard MIM, and what is put together by hand."""

from __future__ import annotations

from collections.abc import Mapping

from weft.fom.encoding import basic
from weft.fom.encoding.arrays import LONGEST, Bounds, fixed_array_codec, variable_array_codec
from weft.fom.encoding.codec import Codec
from weft.fom.encoding.records import RecordField, record_codec
from weft.fom.encoding.variants import (
    Arm,
    Arms,
    Discriminant,
    discriminant,
    extendable_variant_codec,
    variant_codec,
)
from weft.model.errors import EncodingError

__all__ = [
    "HLAASCIIchar",
    "HLAASCIIstring",
    "HLAboolean",
    "HLAbyte",
    "HLAfloat32BE",
    "HLAfloat32LE",
    "HLAfloat64BE",
    "HLAfloat64LE",
    "HLAfloat64Time",
    "HLAinteger16BE",
    "HLAinteger16LE",
    "HLAinteger32BE",
    "HLAinteger32LE",
    "HLAinteger64BE",
    "HLAinteger64LE",
    "HLAinteger64Time",
    "HLAlogicalTime",
    "HLAoctet",
    "HLAoctetPairBE",
    "HLAoctetPairLE",
    "HLAopaqueData",
    "HLAtimeInterval",
    "HLAtoken",
    "HLAunicodeChar",
    "HLAunicodeString",
    "HLAunsignedInteger8",
    "HLAunsignedInteger16BE",
    "HLAunsignedInteger16LE",
    "HLAunsignedInteger32BE",
    "HLAunsignedInteger32LE",
    "HLAunsignedInteger64BE",
    "HLAunsignedInteger64LE",
    "enumeration",
    "extendable_variant_record",
    "fixed_array",
    "fixed_record",
    "variable_array",
    "variant_record",
]


def _integer(name: str, size: int, *, signed: bool = True, little: bool = False) -> Codec:
    return basic.leaf_codec(name, basic.integer_leaf(size, signed=signed, little=little))


HLAinteger16BE = _integer("HLAinteger16BE", 2)
HLAinteger32BE = _integer("HLAinteger32BE", 4)
HLAinteger64BE = _integer("HLAinteger64BE", 8)
HLAinteger16LE = _integer("HLAinteger16LE", 2, little=True)
HLAinteger32LE = _integer("HLAinteger32LE", 4, little=True)
HLAinteger64LE = _integer("HLAinteger64LE", 8, little=True)

HLAunsignedInteger8 = _integer("HLAunsignedInteger8", 1, signed=False)
HLAunsignedInteger16BE = _integer("HLAunsignedInteger16BE", 2, signed=False)
HLAunsignedInteger32BE = _integer("HLAunsignedInteger32BE", 4, signed=False)
HLAunsignedInteger64BE = _integer("HLAunsignedInteger64BE", 8, signed=False)
HLAunsignedInteger16LE = _integer("HLAunsignedInteger16LE", 2, signed=False, little=True)
HLAunsignedInteger32LE = _integer("HLAunsignedInteger32LE", 4, signed=False, little=True)
HLAunsignedInteger64LE = _integer("HLAunsignedInteger64LE", 8, signed=False, little=True)

HLAfloat32BE = basic.leaf_codec("HLAfloat32BE", basic.float_leaf(4))
HLAfloat64BE = basic.leaf_codec("HLAfloat64BE", basic.float_leaf(8))
HLAfloat32LE = basic.leaf_codec("HLAfloat32LE", basic.float_leaf(4, little=True))
HLAfloat64LE = basic.leaf_codec("HLAfloat64LE", basic.float_leaf(8, little=True))

HLAoctet = basic.leaf_codec("HLAoctet", basic.OCTET)
HLAoctetPairBE = _integer("HLAoctetPairBE", 2, signed=False)
HLAoctetPairLE = _integer("HLAoctetPairLE", 2, signed=False, little=True)
HLAbyte = basic.leaf_codec("HLAbyte", basic.OCTET)
HLAASCIIchar = basic.leaf_codec("HLAASCIIchar", basic.ASCII_CHARACTER)
HLAunicodeChar = basic.leaf_codec("HLAunicodeChar", basic.UNICODE_CHARACTER)
HLAboolean = basic.leaf_codec(
    "HLAboolean",
    basic.enumerated_leaf(
        "HLAboolean", basic.integer_leaf(4, signed=True), {"HLAfalse": (0,), "HLAtrue": (1,)}
    ),
)

HLAASCIIstring = variable_array_codec("HLAASCIIstring", HLAASCIIchar, Bounds())
HLAunicodeString = variable_array_codec("HLAunicodeString", HLAunicodeChar, Bounds())
HLAopaqueData = variable_array_codec("HLAopaqueData", HLAbyte, Bounds())
HLAtoken = fixed_array_codec("HLAtoken", HLAbyte, 0)

HLAinteger64Time = _integer("HLAinteger64Time", 8)
HLAfloat64Time = basic.leaf_codec("HLAfloat64Time", basic.float_leaf(8))
HLAlogicalTime = variable_array_codec("HLAlogicalTime", HLAbyte, Bounds())
HLAtimeInterval = variable_array_codec("HLAtimeInterval", HLAbyte, Bounds())

STANDARD: dict[str, Codec] = {
    name: codec for name, codec in list(globals().items()) if isinstance(codec, Codec)
}
"""Used where an object model refers to a standard type without defining it."""

CHARACTERS = frozenset({"HLAASCIIchar", "HLAunicodeChar"})
"""Defined in the MIM as octets; only their names say that they are text."""

# --- put together by hand ---------------------------------------------------------------------------------------

Alternatives = Mapping[int | str, tuple[str, Codec] | None]
"""Discriminant value (name or number) to the alternative's name and codec; None: no alternative."""


def enumeration(representation: Codec, enumerators: Mapping[str, int], name: str = "enumeration") -> Codec:
    """Values are enumerator names, or numbers; names come back where the number has one."""
    values = {enumerator: (value,) for enumerator, value in enumerators.items()}
    return basic.enumeration_codec(name, representation, values)


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
