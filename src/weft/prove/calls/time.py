"""Calls of time management."""

from __future__ import annotations

from weft.prove.author import NOBODY, Author, Choice
from weft.prove.script import ScriptedCall

_ADVANCES = (
    "time_advance_request", "time_advance_request", "time_advance_request_available", "next_message_request",
    "next_message_request_available", "flush_queue_request",
)  # fmt: skip
_ORDERS = ("RECEIVE", "TIMESTAMP", "TIMESTAMP", "CAUSAL", "TOTAL", "PRIORITY")


def regulate(a: Author, who: int) -> ScriptedCall | None:
    if a.one(who).regulating and not a.wild:
        return ScriptedCall(who, "disable_time_regulation") if a.chance(0.1) else None
    return ScriptedCall(who, "enable_time_regulation", (a.number(0, 4),))


def constrain(a: Author, who: int) -> ScriptedCall | None:
    if a.one(who).constrained and not a.wild:
        return ScriptedCall(who, "disable_time_constrained") if a.chance(0.1) else None
    return ScriptedCall(who, "enable_time_constrained")


def disable(a: Author, who: int) -> ScriptedCall | None:
    return (
        ScriptedCall(who, a.any(["disable_time_regulation", "disable_time_constrained"])) if a.wild else None
    )


def advance(a: Author, who: int) -> ScriptedCall | None:
    one = a.one(who)
    if not a.wild and (one.advancing or not (one.regulating or one.constrained)):
        waits = [
            i
            for i in a.known.joined()
            if not a.one(i).advancing and (a.one(i).regulating or a.one(i).constrained)
        ]
        if not waits:
            return None
        who = a.any(waits)
        one = a.one(who)
    time = a.number(0, 20) if a.wild else one.time + a.number(0, 5)
    return ScriptedCall(who, a.any(_ADVANCES), (time,))


def asynchronous(a: Author, who: int) -> ScriptedCall | None:
    return ScriptedCall(who, a.any(["enable_asynchronous_delivery", "disable_asynchronous_delivery"]))


def query(a: Author, who: int) -> ScriptedCall | None:
    return ScriptedCall(who, a.any(["query_galt", "query_logical_time", "query_lits", "query_lookahead"]))


def lookahead(a: Author, who: int) -> ScriptedCall | None:
    if not (a.one(who).regulating or a.wild):
        return None
    return ScriptedCall(who, "modify_lookahead", (a.number(0, 5),))


def retract(a: Author, who: int) -> ScriptedCall | None:
    mine = a.one(who).retractions
    if not mine and not a.wild:
        return None
    return ScriptedCall(who, "retract", (a.any(mine[-8:] or [NOBODY]),))


def order(a: Author, who: int) -> ScriptedCall | None:
    kind = a.random.randrange(3)
    how = a.any(_ORDERS)
    if kind == 0:
        mine = sorted(a.one(who).sends & set(a.words.interactions))
        return ScriptedCall(
            who,
            "change_interaction_order_type",
            (a.any(mine) if mine and not a.wild else a.interaction(), how),
        )
    if kind == 1:
        cls = a.cls()
        return ScriptedCall(who, "change_default_attribute_order_type", (cls, a.names_of(cls), how))
    instance = a.instance(who, mine=True)
    if instance is None:
        return None
    owned = sorted(a.one(who).owns.get(instance, set()))
    names = a.some(owned) if owned and not a.wild else a.names_of(a.class_of(who, instance))
    return ScriptedCall(who, "change_attribute_order_type", (instance, sorted(names), how))


CHOICES = [
    Choice(weight, "time", make)
    for weight, make in (
        (2.5, regulate), (2.5, constrain), (0.5, disable), (10, advance), (0.8, asynchronous), (2, query), (0.8, lookahead),
        (1.5, retract), (1.5, order),
    )
]  # fmt: skip
