"""The Federate Protocol of IEEE 1516-2025, without I/O: sessions and frames, and the codec of calls and callbacks."""

from weft.wire.codec.callbacks import CALLBACK_SUCCEEDED
from weft.wire.codec.calls import DecodedCall
from weft.wire.codec.codec import ServiceCodec
from weft.wire.codec.values import CompressedModule, ConveyedRegion, ModuleUrl
from weft.wire.protobuf import WireError

__all__ = [
    "CALLBACK_SUCCEEDED",
    "CompressedModule",
    "ConveyedRegion",
    "DecodedCall",
    "ModuleUrl",
    "ServiceCodec",
    "WireError",
]
