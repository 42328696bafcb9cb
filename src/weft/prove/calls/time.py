"""Calls of time management."""

from __future__ import annotations

from weft.prove.author import NOBODY, Author, one_of
from weft.prove.script import ScriptedCall
from weft.prove.signatures import ADVANCES

_ADVANCES = ("time_advance_request", *ADVANCES)
_ORDERS = ("RECEIVE", "TIMESTAMP", "TIMESTAMP", "CAUSAL", "TOTAL", "PRIORITY")


def regulate(a: Author, who: int) -> ScriptedCall:
    if a.one(who).regulating and not a.wild:
        a.require(a.chance(0.1))
        return ScriptedCall(who, "disable_time_regulation")
    return ScriptedCall(who, "enable_time_regulation", (a.number(0, 4),))


def constrain(a: Author, who: int) -> ScriptedCall:
    if a.one(who).constrained and not a.wild:
        a.require(a.chance(0.1))
        return ScriptedCall(who, "disable_time_constrained")
    return ScriptedCall(who, "enable_time_constrained")


def disable(a: Author, who: int) -> ScriptedCall:
    a.require(a.wild)
    return ScriptedCall(who, a.any(["disable_time_regulation", "disable_time_constrained"]))


def advance(a: Author, who: int) -> ScriptedCall:
    one = a.one(who)
    if not a.wild and (one.advancing or not (one.regulating or one.constrained)):
        waits = [
            i
            for i in a.known.joined()
            if not a.one(i).advancing and (a.one(i).regulating or a.one(i).constrained)
        ]
        a.require(waits)
        who = a.any(waits)
        one = a.one(who)
    time = a.number(0, 20) if a.wild else one.time + a.number(0, 5)
    return ScriptedCall(who, a.any(_ADVANCES), (time,))


def lookahead(a: Author, who: int) -> ScriptedCall:
    a.require(a.one(who).regulating or a.wild)
    return ScriptedCall(who, "modify_lookahead", (a.number(0, 5),))


def retract(a: Author, who: int) -> ScriptedCall:
    mine = a.one(who).retractions
    a.require(mine or a.wild)
    return ScriptedCall(who, "retract", (a.any(mine[-8:] or [NOBODY]),))


def order(a: Author, who: int) -> ScriptedCall:
    kind = a.random.randrange(3)
    how = a.any(_ORDERS)
    if kind == 0:
        mine = sorted(a.one(who).sends & set(a.words.interactions))
        name = a.any(mine) if mine and not a.wild else a.interaction()
        return ScriptedCall(who, "change_interaction_order_type", (name, how))
    if kind == 1:
        cls = a.cls()
        return ScriptedCall(who, "change_default_attribute_order_type", (cls, a.names_of(cls), how))
    return ScriptedCall(who, "change_attribute_order_type", (*a.owned(who), how))


CHOICES = (
    (2.5, regulate), (2.5, constrain), (0.5, disable), (10, advance),
    (0.8, one_of("enable_asynchronous_delivery", "disable_asynchronous_delivery")),
    (2, one_of("query_galt", "query_logical_time", "query_lits", "query_lookahead")),
    (0.8, lookahead), (1.5, retract), (1.5, order),
)  # fmt: skip
