"""Services of Weft's own by which a federate says how urgent its classes are, sets deadlines and asks for groups of messages.

Their arguments are plain data, so that they can come over the Federate Protocol (`weft.wire.own.extensions`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

from weft.channel.qos import DEEPEST
from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.kernel.qos import consumers
from weft.kernel.qos.correlation import Group, class_handle
from weft.kernel.state import preconditions
from weft.kernel.state.effects import LEAST_URGENT
from weft.kernel.state.federation import Federation
from weft.kernel.state.step import Step
from weft.model.errors import AttributeNotDefined, ChannelError, RTIinternalError
from weft.model.handles import AttributeHandle, Handle, InteractionClassHandle, ObjectClassHandle
from weft.model.json_types import Json, JsonObject

SERVICES: tuple[str, ...] = (
    "set_class_qos",
    "query_qos",
    "correlate",
    "correlate_singly",
    "cancel_correlation",
)
ALWAYS: tuple[str, ...] = ("set_class_qos", "query_qos")
"""Also while the federation is saved or restored."""

SHORTEST = 0.001  # seconds of an interval
MOST_GROUPS = 4096  # of one federate


def set_class_qos(
    step: Step, word: str, number: int, urgency: Sequence[int | float | None] | None, deadline: float
) -> None:
    """For a class and those below it; no urgency and a deadline of 0: as if nothing had been said."""
    kind = _class_handle(word, number)
    _entry(step.federation, kind)
    _check(urgency, deadline)
    _of(step).say(kind, consumers.Wish(consumers.urgency_from(urgency), float(deadline)))


def query_qos(step: Step) -> JsonObject:
    """What holds for this federate: of each class urgency, deadline and misses, in plain data."""
    found = _of(step)
    classes = []
    for kind, wish in found.classes.items():
        entry = _entry(step.federation, kind)
        said, deadline = wish.data()
        classes.append({"class": entry.name, "urgency": said, "deadline": deadline})
    return {
        "classes": classes,
        "misses": dict(found.missed),
        "handed": found.handed,
        "open": len(found.open),
        "groups": list(found.groups),
    }


def correlate(step: Step, asked: Sequence[Json], singly: bool, number: int) -> int:
    """The number by which its callbacks name it: that given, or with 0 one that is free."""
    _check_classes(step.federation, asked)
    found = _of(step)
    if type(number) is not int or number < 0 or number in found.groups:
        raise RTIinternalError(f"correlate: {number!r} cannot be the number of another group; give 0")
    if len(found.groups) >= MOST_GROUPS:
        raise RTIinternalError(f"correlate: {step.member!r} has {MOST_GROUPS} groups; cancel some")
    try:
        return found.correlate(step.turn, asked, bool(singly), number)
    except (ChannelError, TypeError, ValueError) as error:
        raise RTIinternalError(f"correlate: {error}") from error


def correlate_singly(step: Step, number: int, singly: bool) -> None:
    _group(step, number).singly = bool(singly)


def cancel_correlation(step: Step, number: int) -> None:
    """What its group has is dropped; a callback that was issued still comes."""
    _group(step, number).stop()
    del _of(step).groups[number]


def _of(step: Step) -> consumers.Qos:
    found = consumers.begin(step.federation, step.member, step.federation.qos.schedule)
    found.listens = True
    return found


def _group(step: Step, number: int) -> Group:
    found = _of(step).groups.get(number)
    if found is None:
        raise RTIinternalError(
            f"{step.member!r} has no correlation {number!r}; correlate returned its number"
        )
    return found


def _entry(federation: Federation, kind: Handle) -> InteractionClassEntry | ObjectClassEntry:
    if isinstance(kind, InteractionClassHandle):
        return preconditions.interaction_class(federation, kind)
    assert isinstance(kind, ObjectClassHandle)
    return preconditions.object_class(federation, kind)


def _check(urgency: object, deadline: object) -> None:
    if not isinstance(deadline, (int, float)) or not math.isfinite(deadline) or deadline < 0.0:
        raise RTIinternalError(f"a deadline is a number of seconds, 0 for none, not {deadline!r}")
    if urgency is None:
        return
    if not isinstance(urgency, (list, tuple)) or len(urgency) != 3:
        raise RTIinternalError(f"an urgency is [priority, sub-priority, lead], not {str(urgency)[:100]}")
    preemption, sub, lead = urgency
    if type(preemption) is not int or not 0 <= preemption < LEAST_URGENT:
        raise RTIinternalError(f"an urgency is a whole number, 0 the most urgent, not {preemption!r}")
    if type(sub) is not int or (lead is not None and not (type(lead) is float and math.isfinite(lead))):
        raise RTIinternalError(f"an urgency has a sub-priority and a lead, not {sub!r} and {lead!r}")


def _class_handle(word: object, number: object) -> Handle:
    if not isinstance(word, str) or word not in ("interaction", "object") or not _is_number(number):
        raise RTIinternalError(f"{str(word)[:100]!r}, {str(number)[:100]!r} is no class")
    return class_handle(word, number)


def _is_number(number: object) -> TypeGuard[int]:
    """Of a handle."""
    return type(number) is int and 0 <= number < 1 << 28


def _check_classes(federation: Federation, asked: object, depth: int = 0) -> None:
    """All that it waits for is in the object model, and it does not keep the node busy."""
    if not isinstance(asked, (list, tuple)) or not asked or depth > DEEPEST:
        raise RTIinternalError(
            f"correlate: {str(asked)[:100]} is no dependency, or has too many groups within groups"
        )
    if asked[0] == "interval" and len(asked) == 2 and isinstance(asked[1], (int, float)):
        if not asked[1] >= SHORTEST:
            raise RTIinternalError(
                f"correlate: an interval of {asked[1]!r} s is too short; {SHORTEST} s is the shortest"
            )
    elif asked[0] == "on" and len(asked) == 5:
        entry = _entry(federation, _class_handle(asked[1], asked[2]))
        known = entry.attributes if isinstance(entry, ObjectClassEntry) else {}
        for number in asked[3]:
            if not _is_number(number) or AttributeHandle.of(number) not in known:
                raise AttributeNotDefined(
                    f"correlate: {entry.name} has no attribute with the number {number!r}"
                )
    elif asked[0] in ("all", "any"):
        for part in asked[1:]:
            _check_classes(federation, part, depth + 1)
