"""The HLA services and the way of a message: stimuli in, effects out.  Start with `weft.kernel.path`."""

from weft.kernel.absence import Absence
from weft.kernel.effects import (
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
from weft.kernel.lanes import Lane
from weft.kernel.last_mile import LastMile
from weft.kernel.node import Node
from weft.kernel.pausing import PAUSES
from weft.kernel.qos import ClassSchedule, Wish
from weft.kernel.services import DURING_RESTORE, DURING_SAVE, INTERNAL, SERVICES
from weft.kernel.survey import SECTIONS, Surroundings

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
