"""Encoding and decoding of HLA data types.

With an object model, `Codecs(data_types).encode("WorldLocationStruct", {...})`; without one, the standard types
and the factories below, which are codecs themselves: `HLAfloat64BE.encode(1.5)`.

Values in Python:

| data type | value |
|---|---|
| integers, HLAoctet, HLAbyte, HLAoctetPair… | int |
| floats | float |
| HLAboolean, and enumerations of just false (0) and true (1) | bool |
| other enumerations | the enumerator's name, or a number; an unknown number decodes to the number |
| HLAASCIIchar, HLAunicodeChar, and arrays of them | str |
| arrays of HLAoctet under any name (HLAopaqueData, handles) | bytes |
| other arrays | list (a tuple is taken too) |
| fixed records | dict by field name; any object with these attributes is taken too |
| variant records | `{discriminant: value, alternative: value}`, see `weft.fom.encoding.variants` |

Padding on the wire is written as zeros and ignored when read.  What does not fit raises `EncodingError` with the
path to the field.
"""

from weft.fom.encoding.codec import Codec
from weft.fom.encoding.compiler import Codecs
from weft.fom.encoding.factories import (
    enumeration,
    extendable_variant_record,
    fixed_array,
    fixed_record,
    variable_array,
    variant_record,
)
from weft.fom.encoding.standard import (
    HLAASCIIchar,
    HLAASCIIstring,
    HLAboolean,
    HLAbyte,
    HLAfloat32BE,
    HLAfloat32LE,
    HLAfloat64BE,
    HLAfloat64LE,
    HLAfloat64Time,
    HLAinteger16BE,
    HLAinteger16LE,
    HLAinteger32BE,
    HLAinteger32LE,
    HLAinteger64BE,
    HLAinteger64LE,
    HLAinteger64Time,
    HLAlogicalTime,
    HLAoctet,
    HLAoctetPairBE,
    HLAoctetPairLE,
    HLAopaqueData,
    HLAtimeInterval,
    HLAtoken,
    HLAunicodeChar,
    HLAunicodeString,
    HLAunsignedInteger8,
    HLAunsignedInteger16BE,
    HLAunsignedInteger16LE,
    HLAunsignedInteger32BE,
    HLAunsignedInteger32LE,
    HLAunsignedInteger64BE,
    HLAunsignedInteger64LE,
)
from weft.fom.encoding.variants import UNKNOWN

__all__ = [
    "UNKNOWN",
    "Codec",
    "Codecs",
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
