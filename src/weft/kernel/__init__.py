"""The HLA services and the way of a message: stimuli in, effects out.  Start with `weft.kernel.path`."""

from weft.kernel.causal import URGENT
from weft.kernel.effects import (
    Alarm,
    Callback,
    Carried,
    Cast,
    Effect,
    Fetch,
    Listen,
    Named,
    Notice,
    Record,
    Refuse,
    Remember,
    Reply,
    Store,
    Transmit,
    UrgentCallback,
)
from weft.kernel.lanes import Lane
from weft.kernel.node import Node
from weft.kernel.pausing import PAUSES
from weft.kernel.services import DURING_RESTORE, DURING_SAVE, INTERNAL, SERVICES

__all__ = [
    "DURING_RESTORE",
    "DURING_SAVE",
    "INTERNAL",
    "PAUSES",
    "SERVICES",
    "URGENT",
    "Alarm",
    "Callback",
    "Carried",
    "Cast",
    "Effect",
    "Fetch",
    "Lane",
    "Listen",
    "Named",
    "Node",
    "Notice",
    "Record",
    "Refuse",
    "Remember",
    "Reply",
    "Store",
    "Transmit",
    "UrgentCallback",
]
