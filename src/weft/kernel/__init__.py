"""The HLA services and the way of a message: stimuli in, effects out.  Start with `weft.kernel.path`."""

from weft.kernel.effects import Alarm, Callback, Effect, Record, Refuse, Reply, Transmit
from weft.kernel.lanes import Lane
from weft.kernel.node import Node
from weft.kernel.services import INTERNAL, PENDING, SERVICES

__all__ = [
    "INTERNAL",
    "PENDING",
    "SERVICES",
    "Alarm",
    "Callback",
    "Effect",
    "Lane",
    "Node",
    "Record",
    "Refuse",
    "Reply",
    "Transmit",
]
