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

from weft.fom.encoding import standard
from weft.fom.encoding.codec import Codec
from weft.fom.encoding.compiler import Codecs
from weft.fom.encoding.standard import *  # noqa: F403
from weft.fom.encoding.variants import UNKNOWN

__all__ = ["UNKNOWN", "Codec", "Codecs"]
__all__ += standard.__all__
