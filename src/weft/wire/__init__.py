"""The Federate Protocol of IEEE 1516-2025, without I/O: sessions and frames, and the codec of calls and callbacks."""

from weft.wire.callbacks import CALLBACK_SUCCEEDED
from weft.wire.calls import DecodedCall
from weft.wire.codec import Codec
from weft.wire.codec_values import CompressedModule, ConveyedRegion, ModuleUrl
from weft.wire.codec_wire import WireError

__all__ = [
    "CALLBACK_SUCCEEDED",
    "Codec",
    "CompressedModule",
    "ConveyedRegion",
    "DecodedCall",
    "ModuleUrl",
    "WireError",
]
