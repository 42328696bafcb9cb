"""The HLA services and the way of a message: stimuli in, effects out.  Start with `weft.kernel.path`."""

from weft.kernel.effects import Callback, Effect, Refuse, Reply, Transmit
from weft.kernel.node import Node
from weft.kernel.services import PENDING, SERVICES

__all__ = ["PENDING", "SERVICES", "Callback", "Effect", "Node", "Refuse", "Reply", "Transmit"]
