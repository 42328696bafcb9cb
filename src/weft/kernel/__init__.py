"""The HLA services and the way of a message: stimuli in, effects out.  Start with `weft.kernel.path`."""

from weft.kernel.effects import Callback, Effect, Fetch, Notice, Refuse, Reply, Store, Transmit
from weft.kernel.node import Node
from weft.kernel.pausing import PAUSES
from weft.kernel.services import DURING_RESTORE, DURING_SAVE, INTERNAL, PENDING, SERVICES

__all__ = [
    "DURING_RESTORE",
    "DURING_SAVE",
    "INTERNAL",
    "PAUSES",
    "PENDING",
    "SERVICES",
    "Callback",
    "Effect",
    "Fetch",
    "Node",
    "Notice",
    "Refuse",
    "Reply",
    "Store",
    "Transmit",
]
