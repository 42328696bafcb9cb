"""Services of Weft's own by which a federate says how urgent its classes are, sets deadlines and asks for groups of messages.

Their arguments are plain data, so that they can come over the Federate Protocol (`weft.wire.extensions`).
"""

from __future__ import annotations

import math
from typing import Any

from weft.kernel import qos, require
from weft.kernel.effects import LEAST_URGENT
from weft.kernel.state import Federation, Member
from weft.kernel.turn import Turn
from weft.model.errors import AttributeNotDefined, ChannelError, RTIinternalError
from weft.model.handles import AttributeHandle, Handle, InteractionClassHandle, ObjectClassHandle

SERVICES = ("set_class_qos", "query_qos", "correlate", "correlate_singly", "cancel_correlation")
ALWAYS = ("set_class_qos", "query_qos")
"""Also while the federation is saved or restored."""


def set_class_qos(
    turn: Turn,
    federation: Federation,
    member: Member,
    word: str,
    number: int,
    urgency: list[Any] | None,
    deadline: float,
) -> None:
    """For a class and those below it; no urgency and a deadline of 0: as if nothing had been said."""
    kind = qos.class_handle(word, number)
    _entry(federation, kind)
    _check(urgency, deadline)
    found = _of(federation, member)
    found.say(kind, qos.Wish(qos.urgency_from(urgency), float(deadline)))


def query_qos(turn: Turn, federation: Federation, member: Member) -> dict[str, Any]:
    """What holds for this federate: of each class urgency, deadline and misses, in plain data."""
    found = _of(federation, member)
    classes = []
    for kind, wish in found.classes.items():
        entry = _entry(federation, kind)
        said, deadline = wish.data()
        classes.append({"class": entry.name, "urgency": said, "deadline": deadline})
    return {
        "classes": classes,
        "misses": dict(found.missed),
        "handed": found.handed,
        "open": len(found.open),
        "groups": list(found.groups),
    }


def correlate(
    turn: Turn, federation: Federation, member: Member, asked: list[Any], singly: bool, number: int
) -> int:
    """The number by which its callbacks name it: that given, or with 0 one that is free."""
    _check_classes(federation, asked)
    found = _of(federation, member)
    if type(number) is not int or number < 0 or number in found.groups:
        raise RTIinternalError(f"correlate: {number!r} cannot be the number of another group; give 0")
    try:
        return found.correlate(turn, asked, bool(singly), number)
    except (ChannelError, TypeError, ValueError) as error:
        raise RTIinternalError(f"correlate: {error}") from error


def correlate_singly(turn: Turn, federation: Federation, member: Member, number: int, singly: bool) -> None:
    _group(federation, member, number).singly = bool(singly)


def cancel_correlation(turn: Turn, federation: Federation, member: Member, number: int) -> None:
    """What its group has is dropped; a callback that was issued still comes."""
    _group(federation, member, number).stop()
    del member.qos.groups[number]


def _of(federation: Federation, member: Member) -> qos.Qos:
    found = qos.begin(federation, member, federation.schedule)
    found.listens = True
    return found


def _group(federation: Federation, member: Member, number: int) -> Any:
    found = _of(federation, member).groups.get(number)
    if found is None:
        raise RTIinternalError(f"{member!r} has no correlation {number!r}; correlate returned its number")
    return found


def _entry(federation: Federation, kind: Handle) -> Any:
    if isinstance(kind, InteractionClassHandle):
        return require.interaction_class(federation, kind)
    assert isinstance(kind, ObjectClassHandle)
    return require.object_class(federation, kind)


def _check(urgency: list[Any] | None, deadline: Any) -> None:
    if not isinstance(deadline, (int, float)) or not math.isfinite(deadline) or deadline < 0.0:
        raise RTIinternalError(f"a deadline is a number of seconds, 0 for none, not {deadline!r}")
    if urgency is None:
        return
    preemption, sub, lead = urgency
    if type(preemption) is not int or not 0 <= preemption < LEAST_URGENT:
        raise RTIinternalError(f"an urgency is a whole number, 0 the most urgent, not {preemption!r}")
    if type(sub) is not int or (lead is not None and not (type(lead) is float and math.isfinite(lead))):
        raise RTIinternalError(f"an urgency has a sub-priority and a lead, not {sub!r} and {lead!r}")


def _check_classes(federation: Federation, asked: Any) -> None:
    """All that it waits for is in the object model."""
    if not isinstance(asked, (list, tuple)):
        return
    if len(asked) == 5 and asked[0] == "on" and isinstance(asked[2], int):
        entry = _entry(federation, qos.class_handle(asked[1], asked[2]))
        for number in asked[3]:
            if asked[1] != "object" or AttributeHandle.of(number) not in entry.attributes:
                raise AttributeNotDefined(
                    f"correlate: {entry.name} has no attribute with the number {number}"
                )
    else:
        for part in asked[1:]:
            _check_classes(federation, part)
