"""The HLA services and the way of a message: stimuli in, effects out.  Start with `message.pipeline`."""

from weft.kernel.message.fast_lanes import Lane
from weft.kernel.node.node import Node
from weft.kernel.node.pausing import PAUSES
from weft.kernel.node.service_table import DURING_RESTORE, DURING_SAVE, INTERNAL, SERVICES
from weft.kernel.qos.consumers import ClassSchedule, Wish
from weft.kernel.state.callback_queue import LastMile
from weft.kernel.state.effects import (
    LEAST_URGENT,
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
from weft.kernel.state.federation import Absence
from weft.kernel.survey.survey import SECTIONS, Surroundings

__all__ = [
    "DURING_RESTORE",
    "DURING_SAVE",
    "INTERNAL",
    "LEAST_URGENT",
    "PAUSES",
    "SECTIONS",
    "SERVICES",
    "Absence",
    "Alarm",
    "Callback",
    "Carried",
    "Cast",
    "ClassSchedule",
    "Effect",
    "Fetch",
    "Lane",
    "LastMile",
    "Listen",
    "Named",
    "Node",
    "Notice",
    "Record",
    "Refuse",
    "Remember",
    "Reply",
    "Store",
    "Surroundings",
    "Transmit",
    "UrgentCallback",
    "Wish",
]
