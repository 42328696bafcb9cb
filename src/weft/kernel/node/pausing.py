"""Pausing: what becomes of calls and callbacks while a federation is saved or restored.

A federate is paused from Initiate Federate Save to Federation (Not) Saved, or from Federation Restore Begun to Federation (Not)
Restored.  Calls that the standard refuses meanwhile are refused; callbacks that have nothing to do with it are held.

    callbacks   are held from the moment the pausing callback is issued: what comes before it is part of the federate's state when
                it saves, what comes after is saved with the federation.  When it is over they follow, and nothing is lost; after
                a restore they are those of the save, and those of the time before it are dropped.
    calls       are refused from the moment the federate has taken that callback (its host says so: `Node.took`) or has answered
                it.  Until then it cannot know, and what it does belongs to the time before.

A save must not miss what is under way between nodes.  When all have begun (the *point*), each node sends every other a
`Mark`, behind all it has sent before.  Once a node has the marks of all others, it has everything that was for its members, and
sends the home its `Share`: the callbacks held by then, and what else it alone knows of them.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation import save, snapshot
from weft.kernel.federation.snapshot_times import log_data
from weft.kernel.node.service_table import DURING_RESTORE, DURING_SAVE
from weft.kernel.state.effects import Callback, Effect, Fetch, Store, Transmit, UrgentCallback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Mark, Share
from weft.kernel.state.save_state import Saving
from weft.kernel.state.sessions import Session
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.enums import SaveStatus
from weft.model.errors import RestoreInProgress, RTIexception, SaveInProgress

PAUSES = {"initiate_federate_save": "save", "federation_restore_begun": "restore"}
"""Callbacks that pause a federate, and for what."""

_GO_ON = frozenset(["federation_saved", "federation_not_saved", "federation_not_restored"])
_RESTORED = "federation_restored"
_MEANWHILE = frozenset(
    [
        "federation_save_status_response",
        "request_federation_restore_succeeded",
        "request_federation_restore_failed",
        "initiate_federate_restore",
        "federation_restore_status_response",
        "connection_lost",
        "federate_resigned",
        "report_federation_executions",
        "report_federation_execution_members",
        "report_federation_execution_does_not_exist",
    ]
)


# --- calls ----------------------------------------------------------------------------------------------------


def refusal(pause: str, service: str, who: object) -> RTIexception | None:
    if pause == "save" and service not in DURING_SAVE:
        return SaveInProgress(
            f"{service}: {who!r} is saving; wait for federation_saved or federation_not_saved"
        )
    if pause == "restore" and service not in DURING_RESTORE:
        return RestoreInProgress(
            f"{service}: {who!r} is being restored; wait for federation_restored or federation_not_restored"
        )
    return None


def refuse_command(federation: Federation, member: Member, service: str) -> None:
    """Where commands get their place: refuse those of a federate that has answered the pausing callback."""
    error = None
    if federation.saves.saving is not None:
        status = federation.saves.saving.status.get(member.handle)
        if status is not None and status is not SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE:
            error = refusal("save", service, member)
    elif federation.saves.restoring is not None and member.handle in federation.saves.restoring.done:
        error = refusal("restore", service, member)
    if error is not None:
        raise error


def refuse_join(federation: Federation) -> None:
    if federation.saves.saving is not None:
        raise SaveInProgress(f"{federation.name!r} is being saved; join when that is over")
    if federation.saves.restoring is not None:
        raise RestoreInProgress(f"{federation.name!r} is being restored; join when that is over")


def took(session: Session, method: str) -> None:
    """It knows once it has taken the last one: one before may be of a save that was aborted."""
    session.untaken = max(0, session.untaken - 1)
    if session.held is not None and not session.untaken:
        session.paused = PAUSES[method]


def answered(session: Session, service: str) -> None:
    """The federate has answered the pausing callback, so it knows of it."""
    if session.held is not None:
        if service == "federate_save_begun":
            session.paused = "save"
        elif service in ("federate_restore_complete", "federate_restore_not_complete"):
            session.paused = "restore"


# --- callbacks ------------------------------------------------------------------------------------------------


def hold(turn: Turn, sessions: dict[int, Session], effects: list[Effect]) -> list[Effect]:
    """The effects without the callbacks that are to wait; in front of them, what has waited long enough."""
    out: list[Effect] = []
    for effect in effects:
        session = sessions.get(effect.session) if isinstance(effect, Callback) else None
        if session is None or not isinstance(effect, Callback):
            out.append(effect)
        elif effect.method in PAUSES:
            session.held = session.held or []
            session.untaken += 1
            out.append(effect)
        elif effect.method in _GO_ON or effect.method == _RESTORED:
            out.append(effect)
            if session.held is not None and effect.method != _RESTORED:
                out.extend(session.held)
                _resume(turn, session)
            release(session)
        elif session.held is None or effect.method in _MEANWHILE:
            out.append(effect)
        else:
            session.held.append(effect)
            if (
                isinstance(effect, UrgentCallback)
                and session.member is not None
                and session.member.qos is not None
            ):
                session.member.qos.suspend(effect)
    return out


def _resume(turn: Turn, session: Session) -> None:
    """Deadlines of what was held run from now on."""
    qos = None if session.member is None else session.member.qos
    if qos is not None:
        for effect in session.held or ():
            if isinstance(effect, UrgentCallback):
                qos.resume(turn, effect)


def release(session: Session) -> None:
    session.held = None
    session.paused = ""


def leave(session: Session) -> None:
    """Its federate has resigned: what it has not taken is not its business any more."""
    release(session)
    session.untaken = 0


# --- the save of several nodes ----------------------------------------------------------------------------------


def nodes_of(federation: Federation) -> list[str]:
    """All that may send something: where there are members, and the home, for the RTI itself."""
    return federation.taking_part()


def go_on(step: Step, sessions: dict[int, Session]) -> Store | None:
    """After each command, mark and share: what this node has to do now.  At the home, once all is there: what to write."""
    federation = step.federation
    home = federation.home == step.node
    asked = federation.saves.restoring
    if asked is not None and home and not asked.fetching:
        asked.fetching = True
        step.effects.append(Fetch(federation.name, federation.execution, asked.label))
    going = federation.saves.saving
    if going is None or not going.point or going.failure is not None or going.writing:
        return None
    if step.node not in going.marks and _may_mark(step, going):
        going.marks[step.node] = None
        for node in nodes_of(federation):
            if node != step.node:
                mark = Mark(federation.name, federation.execution, going.point)
                step.effects.append(Transmit(node, mark))
    flushed = federation.orders.flush is None  # else messages wait for a view to begin
    if flushed and not going.shared and all(node in going.marks for node in nodes_of(federation)):
        going.shared = True
        _share(step, going, sessions)
    if home and save.all_complete(going) and all(node in going.shares for node in nodes_of(federation)):
        return _written(federation, going, step.now)
    return None


def _may_mark(step: Step, going: Saving) -> bool:
    """Messages in total order go by the home.  So it comes last: what others had sent by way of it is then before its mark."""
    federation = step.federation
    if going.point > federation.sequence:
        return False
    if federation.home != step.node or not federation.ordered:
        return True
    return all(node in going.marks for node in nodes_of(federation) if node != step.node)


def told(federation: Federation, sender: str, parcel: Mark | Share) -> bool:
    """Another node has said something about a save; False if it is not about this one."""
    going = federation.saves.saving
    if going is None or parcel.execution != federation.execution:
        return False
    if isinstance(parcel, Mark):
        if parcel.after != going.point:
            return False
        going.marks[sender] = None
    else:
        if parcel.point != going.point:
            return False
        going.shares[sender] = parcel.data
    return True


def _share(step: Step, going: Saving, sessions: dict[int, Session]) -> None:
    federation = step.federation
    federation.count_up()
    step.effects[:] = hold(step.turn, sessions, step.effects)
    data: dict[int, Any] = {}
    for member in federation.members.values():
        if member.node == step.node:
            session = sessions.get(member.session)
            held = [] if session is None or session.held is None else session.held
            callbacks = [(callback.method, callback.arguments) for callback in held]
            data[member.handle.number] = snapshot.share(federation, member, callbacks, step.now)
            data[member.handle.number]["clock"]["log"] = log_data(federation, member)
    if federation.home == step.node:
        going.shares[step.node] = data
    else:
        share = Share(federation.name, federation.execution, going.point, data)
        step.effects.append(Transmit(federation.home, share))


def _written(federation: Federation, going: Saving, now: float) -> Store:
    shares = {number: data for share in going.shares.values() for number, data in share.items()}
    data = snapshot.snapshot(federation, now, shares, going.label)
    return Store(federation.name, federation.execution, going.label, data)


# --- the end of a restore ---------------------------------------------------------------------------------------


def succeed(federation: Federation, sessions: dict[int, Session]) -> Federation:
    """The federation is restored: its successor takes its place, with the same federates."""
    successor = federation.saves.successor
    assert successor is not None
    federation.changed()  # closes its lanes
    _, handles = successor.saves.renamed
    for session in sessions.values():
        if session.federation is federation and session.member is not None:
            session.federation = successor
            session.member = successor.members[handles[session.member.handle]]
    return successor
