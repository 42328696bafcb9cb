"""Calls of federation management: membership, synchronization points, save and restore."""

from __future__ import annotations

from weft.model.enums import ResignAction
from weft.prove.author import NOBODY, Author, one_of
from weft.prove.script import ScriptedCall

LABELS = ("ready", "over", "halfway")
SAVES = ("one", "two")


def create(a: Author, who: int) -> ScriptedCall:
    if a.chance(0.2):  # of a name that nobody has: of two reasons to refuse, any may be told
        return ScriptedCall(who, "create_federation_execution", ("H", "model", "HLAsundial"))
    return ScriptedCall(who, "create_federation_execution", (a.any(["F", "G"]), "model", a.time_name))


def destroy(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "destroy_federation_execution", (a.any(["F", "F", "G"]),))


def list_all(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "list_federation_executions")


def list_members(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "list_federation_execution_members", (a.any(["F", "F", "nowhere"]),))


def join(a: Author, who: int) -> ScriptedCall:
    if a.wild:
        return a.join(who, a.federate())
    away = [i for i, one in enumerate(a.known.of) if not one.joined]
    a.require(away)
    if not a.known.exists:
        return a.create(a.any(away))
    return a.join(a.any(away))


def resign(a: Author, who: int) -> ScriptedCall:
    a.require(len(a.known.joined()) >= 2 or a.chance(0.2))
    action = a.any(list(ResignAction)).name if a.chance(0.4) else "CANCEL_THEN_DELETE_THEN_DIVEST"
    return ScriptedCall(who, "resign_federation_execution", (action,))


def disconnect(a: Author, who: int) -> ScriptedCall:
    one = a.one(who)
    if not one.connected:
        return ScriptedCall(who, "connect")
    a.require(a.wild or not one.joined)
    asked = ScriptedCall(who, "list_federation_executions")
    return a.follow(
        ScriptedCall(who, "disconnect"), ScriptedCall(who, "disconnect"), asked, ScriptedCall(who, "connect")
    )


def point(a: Author, who: int) -> ScriptedCall:
    label = a.any(LABELS)
    if a.chance(0.6):
        return ScriptedCall(who, "register_federation_synchronization_point", (label, a.tag()))
    some = [f"f{i}" for i in a.known.joined() if a.chance(0.6)]
    if a.wild:
        some.append(NOBODY)
    return ScriptedCall(who, "register_federation_synchronization_point", (label, a.tag(), some))


def achieve(a: Author, who: int) -> ScriptedCall:
    if a.wild:
        return ScriptedCall(who, "synchronization_point_achieved", (a.any(LABELS),))
    points = sorted(a.one(who).points)
    a.require(points)
    arguments = (a.any(points),) if a.chance(0.7) else (a.any(points), a.chance(0.7))
    return ScriptedCall(who, "synchronization_point_achieved", arguments)


def save(a: Author, who: int) -> ScriptedCall:
    a.require(a.wild or not (a.known.is_saving() or a.known.is_restoring()))
    if a.one(who).regulating and a.chance(0.4):
        return ScriptedCall(who, "request_federation_save", (a.any(SAVES), a.stamp(who)))
    return ScriptedCall(who, "request_federation_save", (a.any(SAVES),))


def restore(a: Author, who: int) -> ScriptedCall:
    a.require(a.wild or (a.known.saves and not a.known.is_saving() and not a.known.is_restoring()))
    label = a.any(sorted(a.known.saves)) if a.known.saves else "nothing"
    return ScriptedCall(who, "request_federation_restore", (label,))


def out_of_turn(a: Author, who: int) -> ScriptedCall:
    """What is refused unless a save or restore is under way."""
    a.require(a.wild or a.known.is_saving() or a.known.is_restoring())
    calls = [
        "federate_save_begun", "federate_save_complete", "federate_save_not_complete", "abort_federation_save",
        "federate_restore_complete", "federate_restore_not_complete", "abort_federation_restore",
    ]  # fmt: skip
    return ScriptedCall(who, a.any(calls))


CHOICES = (
    (0.5, create), (0.4, destroy), (0.6, list_all), (0.6, list_members), (5, join), (1.0, resign), (0.5, disconnect),
    (1.5, point), (3, achieve), (1.0, save), (1.0, restore), (1, out_of_turn),
    (0.7, one_of("query_federation_save_status", "query_federation_restore_status")),
)  # fmt: skip
