"""The data types every object model has: those of the standard MIM, as codecs."""

from __future__ import annotations

from weft.fom.encoding import basic
from weft.fom.encoding.arrays import Bounds, fixed_array_codec, variable_array_codec
from weft.fom.encoding.codec import Codec

HLAinteger16BE = basic.leaf_codec("HLAinteger16BE", basic.integer_leaf(2, signed=True))
HLAinteger32BE = basic.leaf_codec("HLAinteger32BE", basic.integer_leaf(4, signed=True))
HLAinteger64BE = basic.leaf_codec("HLAinteger64BE", basic.integer_leaf(8, signed=True))
HLAinteger16LE = basic.leaf_codec("HLAinteger16LE", basic.integer_leaf(2, signed=True, little=True))
HLAinteger32LE = basic.leaf_codec("HLAinteger32LE", basic.integer_leaf(4, signed=True, little=True))
HLAinteger64LE = basic.leaf_codec("HLAinteger64LE", basic.integer_leaf(8, signed=True, little=True))

HLAunsignedInteger8 = basic.leaf_codec("HLAunsignedInteger8", basic.integer_leaf(1, signed=False))
HLAunsignedInteger16BE = basic.leaf_codec("HLAunsignedInteger16BE", basic.integer_leaf(2, signed=False))
HLAunsignedInteger32BE = basic.leaf_codec("HLAunsignedInteger32BE", basic.integer_leaf(4, signed=False))
HLAunsignedInteger64BE = basic.leaf_codec("HLAunsignedInteger64BE", basic.integer_leaf(8, signed=False))
HLAunsignedInteger16LE = basic.leaf_codec(
    "HLAunsignedInteger16LE", basic.integer_leaf(2, signed=False, little=True)
)
HLAunsignedInteger32LE = basic.leaf_codec(
    "HLAunsignedInteger32LE", basic.integer_leaf(4, signed=False, little=True)
)
HLAunsignedInteger64LE = basic.leaf_codec(
    "HLAunsignedInteger64LE", basic.integer_leaf(8, signed=False, little=True)
)

HLAfloat32BE = basic.leaf_codec("HLAfloat32BE", basic.float_leaf(4))
HLAfloat64BE = basic.leaf_codec("HLAfloat64BE", basic.float_leaf(8))
HLAfloat32LE = basic.leaf_codec("HLAfloat32LE", basic.float_leaf(4, little=True))
HLAfloat64LE = basic.leaf_codec("HLAfloat64LE", basic.float_leaf(8, little=True))

HLAoctet = basic.leaf_codec("HLAoctet", basic.OCTET)
HLAoctetPairBE = basic.leaf_codec("HLAoctetPairBE", basic.integer_leaf(2, signed=False))
HLAoctetPairLE = basic.leaf_codec("HLAoctetPairLE", basic.integer_leaf(2, signed=False, little=True))
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

HLAinteger64Time = basic.leaf_codec("HLAinteger64Time", basic.integer_leaf(8, signed=True))
HLAfloat64Time = basic.leaf_codec("HLAfloat64Time", basic.float_leaf(8))
HLAlogicalTime = variable_array_codec("HLAlogicalTime", HLAbyte, Bounds())
HLAtimeInterval = variable_array_codec("HLAtimeInterval", HLAbyte, Bounds())

STANDARD: dict[str, Codec] = {
    name: codec for name, codec in list(globals().items()) if isinstance(codec, Codec)
}
"""Used where an object model refers to a standard type without defining it."""

CHARACTERS = frozenset({"HLAASCIIchar", "HLAunicodeChar"})
"""Defined in the MIM as octets; only their names say that they are text."""
