"""Federation restore (clauses 4.27 to 4.35).

    request    the home's host looks for the save; the requester is told whether it is there and fits
    begun      everybody is told, and told who it will be: federates that are joined now take the places of those that were
               joined at the save, by type, and among equal types by name where one is the same
    complete   everybody has: at this command every node replaces the federation by the saved one

Nothing of the present federation is touched before that, so a restore that fails leaves it as it was.  As with a save, a federate
that fails or resigns does not end it before the others have completed; an abort does.
"""

from __future__ import annotations

from weft.kernel.federation import operator, snapshot, timed_saves
from weft.kernel.federation.plain import SnapshotError
from weft.kernel.state.effects import Callback, Notice
from weft.kernel.state.federation import Federation
from weft.kernel.state.save_state import Restoring
from weft.kernel.state.step import Step
from weft.model.enums import RestoreFailureReason, RestoreStatus
from weft.model.errors import RestoreNotInProgress, RestoreNotRequested, SaveInProgress
from weft.model.handles import FederateHandle
from weft.model.log_text import ERROR, LogText
from weft.model.records import FederateRestoreStatus

RESTORE_DECIDED = "restore_decided"
"""The command by which the home says whether a restore that was requested begins."""

Places = list[tuple[FederateHandle, FederateHandle, str]]
"""Of each joined federate: its handle now, and handle and name after the restore."""


def request_federation_restore(step: Step, label: str) -> None:
    saves = step.federation.saves
    timed_saves.require_idle(saves, label)
    if saves.asked:
        raise SaveInProgress(f"a save is being asked for: {saves.asked[0].label!r}; try again")
    saves.restoring = Restoring(label, step.member.handle)


def places(federation: Federation, data: object) -> Places | str:
    """Who becomes whom; or, in words, why the saved federation does not fit the present one."""
    saved = snapshot.outline(data)
    if saved.name != federation.name:
        return f"it is a save of federation {saved.name!r}"
    if saved.time != federation.time.name:
        return f"it was saved with {saved.time}, and the federation now has {federation.time.name}"
    free = list(saved.members)
    taken: dict[FederateHandle, tuple[FederateHandle, str]] = {}
    for by_name in (True, False):
        for member in federation.members.values():
            if member.handle in taken:
                continue
            for one in free:
                if one.kind == member.kind and (one.name == member.name or not by_name):
                    free.remove(one)
                    taken[member.handle] = (one.handle, one.name)
                    break
    missing = sorted(one.kind for one in free)
    surplus = sorted(m.kind for m in federation.members.values() if m.handle not in taken)
    if missing or surplus:
        return f"federates of these types are missing: {missing}, and these are not in the save: {surplus}"
    return [(now, *after) for now, after in taken.items()]


def is_pending(federation: Federation, label: str) -> bool:
    restoring = federation.saves.restoring
    return restoring is not None and restoring.label == label and restoring.data is None


def decision(step: Step, label: str, data: object) -> tuple[object, Places | None]:
    """What to do with what the host has found: the arguments of `restore_decided`."""
    federation = step.federation
    if data is None:
        return None, None
    try:
        snapshot.restored(data)
        who = places(federation, data)
    except SnapshotError as error:
        who = str(error)
    if isinstance(who, str):
        text = f"federation {federation.name!r} cannot be restored from {label!r}: {who}"
        told = LogText(text, "restore-failed", ERROR, federation=federation.name, label=label)
        step.effects.append(Notice(told))
        return None, None
    return data, who


def restore_decided(step: Step, data: object, who: Places | None) -> None:
    federation = step.federation
    restoring = federation.saves.restoring
    if restoring is None:
        return
    requester = federation.members.get(restoring.requester)
    if who is None:
        federation.saves.restoring = None
        step.turn.begins = True  # a save may have waited
        if requester is not None:
            step.callback(requester, "request_federation_restore_failed", (restoring.label,))
        return
    restoring.data = data
    if requester is not None:
        step.callback(requester, "request_federation_restore_succeeded", (restoring.label,))
    for now, after, name in who:
        restoring.handles[now] = after
        told = federation.members[now]
        step.pause_callback(told, "federation_restore_begun", ())
        step.pause_callback(told, "initiate_federate_restore", (restoring.label, name, after))
    _note(step)


def federate_restore_complete(step: Step) -> None:
    _complete(step, None)


def federate_restore_not_complete(step: Step) -> None:
    _complete(step, RestoreFailureReason.FEDERATE_REPORTED_FAILURE_DURING_RESTORE)


def _complete(step: Step, failure: RestoreFailureReason | None) -> None:
    member = step.member
    restoring = step.federation.saves.restoring
    if restoring is None or restoring.data is None or member.handle in restoring.done:
        raise RestoreNotRequested(f"{member!r} is not told to restore, or has already done so")
    restoring.done[member.handle] = None
    restoring.failure = restoring.failure or failure
    _conclude(step, restoring)


def _conclude(step: Step, restoring: Restoring) -> None:
    if all(handle in restoring.done for handle in step.federation.members):
        if restoring.failure is not None:
            _fail(step, restoring.failure)
        else:
            _succeed(step, restoring)


def abort_federation_restore(step: Step) -> None:
    restoring = step.federation.saves.restoring
    if restoring is None:
        raise RestoreNotInProgress("the federation is not being restored")
    if restoring.data is None:
        restore_decided(step, None, None)
    else:
        _fail(step, RestoreFailureReason.RESTORE_ABORTED)


def after_resign(step: Step) -> None:
    restoring = step.federation.saves.restoring
    if restoring is None:
        return
    if restoring.data is None:
        if restoring.requester == step.member.handle:
            step.federation.saves.restoring = None
        return
    restoring.handles.pop(step.member.handle, None)
    restoring.failure = restoring.failure or RestoreFailureReason.FEDERATE_RESIGNED_DURING_RESTORE
    _conclude(step, restoring)


def _fail(step: Step, reason: RestoreFailureReason) -> None:
    step.federation.saves.restoring = None
    step.turn.begins = True
    for member in step.federation.members.values():
        step.pause_callback(member, "federation_not_restored", (reason,))
    _note(step)


def _succeed(step: Step, restoring: Restoring) -> None:
    """The saved federation takes the place of this one; messages that are still under way in this one are not for it."""
    federation = step.federation
    successor = snapshot.restored(restoring.data, step.now)
    successor.execution = f"{federation.execution}/{federation.sequence + 1}"
    successor.home = successor.rti.node = federation.home
    successor.nodes = dict(federation.nodes)
    successor.sequence = federation.sequence
    successor.saves.renamed = (federation.execution, dict(restoring.handles))
    successor.saves.last = (restoring.label, snapshot.time_of_save(restoring.data))
    held = snapshot.held(restoring.data)
    for now, after in restoring.handles.items():
        member = successor.members[after]
        member.node = federation.members[now].node
        member.session = federation.members[now].session
        if member.node != step.node:
            successor.mom.due.pop(after, None)
    restored = Step(step.turn, successor, successor.rti)
    for member in successor.members.values():
        restored.pause_callback(member, "federation_restored", ())
        if member.node == step.node:
            for method, arguments in held.get(member.handle, ()):
                step.effects.append(Callback(member.session, method, arguments))
    snapshot.begin_orders_anew(successor)
    operator.inherit(federation, successor)
    federation.saves.successor = successor
    _note(restored)
    restored.note(None, "HLAlastSaveName", "HLAlastSaveTime", "HLAfederatesInFederation")


def _note(step: Step) -> None:
    for member in step.federation.members.values():
        step.note(member, "HLAfederateState")


def query_federation_restore_status(step: Step) -> None:
    federation = step.federation
    response = [
        FederateRestoreStatus(handle, *_status(federation.saves.restoring, handle))
        for handle in federation.members
    ]
    step.callback(step.member, "federation_restore_status_response", (response,))


def _status(restoring: Restoring | None, handle: FederateHandle) -> tuple[FederateHandle, RestoreStatus]:
    if restoring is None:
        return handle, RestoreStatus.NO_RESTORE_IN_PROGRESS
    if restoring.data is None:
        asked = restoring.requester == handle
        pending = RestoreStatus.FEDERATE_RESTORE_REQUEST_PENDING
        return handle, pending if asked else RestoreStatus.NO_RESTORE_IN_PROGRESS
    after = restoring.handles.get(handle, handle)
    if handle in restoring.done:
        return after, RestoreStatus.FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE
    return after, RestoreStatus.FEDERATE_RESTORING
