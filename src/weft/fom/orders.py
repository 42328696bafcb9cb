"""How object models name the orders of messages: the two of the standard, and Weft's own (docs/explanation/ordering.md).

Spelled in any case, and with or without HLA before it.  `Priority(3)`, or `Priority:3` in FED files, also says how urgent: 0,
which is also meant where nothing is said, is the most urgent.
"""

from __future__ import annotations

import re

from weft.model.enums import OrderType

MOST = 1_000_000
NAMES = {
    "Receive": OrderType.RECEIVE,
    "TimeStamp": OrderType.TIMESTAMP,
    "Causal": OrderType.CAUSAL,
    "Total": OrderType.TOTAL,
    "Priority": OrderType.PRIORITY,
}
_SPELLED = {name.lower(): name for name in NAMES}
_URGENT = re.compile(r"(?:hla)?priority\s*(?::|\()\s*(\d{1,7})\s*\)?", re.IGNORECASE)


def spelled(text: str) -> str:
    """The order as Weft writes it; empty if it is none."""
    low = text.strip().lower()
    urgent = _URGENT.fullmatch(low)
    if urgent is not None:
        return f"Priority({int(urgent[1])})" if int(urgent[1]) <= MOST else ""
    return _SPELLED.get(low.removeprefix("hla"), "")


def standard(name: str) -> bool:
    """Does the standard know it too?  Other tools may refuse an object model with one of ours."""
    return name in ("", "Receive", "TimeStamp")


def meaning(name: str) -> tuple[OrderType, int]:
    """What a spelled order stands for, and its priority; no order is time stamp order, as in the standard's tables."""
    urgent = _URGENT.fullmatch(name)
    if urgent is not None:
        return OrderType.PRIORITY, int(urgent[1])
    return NAMES.get(spelled(name), OrderType.TIMESTAMP), 0
