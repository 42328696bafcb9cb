"""Federation save (clauses 4.19 to 4.26).

    request    everybody is told to save; of a save at a logical time when that has come (`federation.timed_saves`)
    begun      the federate saves its own state, and does nothing else from then on
    point      everybody has begun: what the federation is now is what will be saved
    complete   everybody has: the host writes it (`node.pausing`), and everybody is told how it ended

A federate that fails or resigns in between does not end the save at once: the others are told when they have completed theirs, so
nobody is surprised in the middle of it.  An abort ends it at once, unless it is being written.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation import timed_saves
from weft.kernel.state.federation import Federation
from weft.kernel.state.save_state import Saving
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import GRANTED
from weft.kernel.time import tso_queue
from weft.model.enums import SaveFailureReason, SaveStatus
from weft.model.errors import FederateHasNotBegunSave, SaveNotInitiated, SaveNotInProgress
from weft.model.time import LogicalTime

SAVE_DUE = "save_due"
SAVE_WRITING = "save_writing"
SAVE_ENDED = "save_ended"
"""Commands by which the home says that the time of a save has come, that it is being written, and how that has ended."""

_COMPLETE = SaveStatus.FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE


def request_federation_save(step: Step, label: str, time: LogicalTime | None = None) -> None:
    timed_saves.require_idle(step.federation.saves, label)
    if time is None:
        initiate(step, label, None)
    else:
        timed_saves.schedule(step, label, time)
        _note(step)


def save_due(step: Step) -> None:
    """All time-constrained federates have come to the time of the save, and nobody will send anything up to it any more.

    A node may hear of that by this very command, before it has been told the bound that it follows from.
    """
    federation = step.federation
    if federation.saves.scheduled is not None:
        label, time = federation.saves.scheduled
        value: Any = time.value
        for one in federation.members.values():
            if one.node == step.node and one.timing.constrained and one.timing.mode != GRANTED:
                tso_queue.deliver_until(step, one, (value, 1))
        initiate(step, label, time)


def initiate(step: Step, label: str, time: LogicalTime | None) -> None:
    federation = step.federation
    saving = Saving(label, time)
    federation.saves.saving = saving
    federation.saves.scheduled = None
    timed_saves.set_limit(step)
    arguments = (label,) if time is None else (label, time)
    for member in federation.members.values():
        saving.status[member.handle] = SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE
        step.pause_callback(member, "initiate_federate_save", arguments)
    _note(step)


def federate_save_begun(step: Step) -> None:
    member = step.member
    saving = step.federation.saves.saving
    if saving is None or saving.status.get(member.handle) is not SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE:
        raise SaveNotInitiated(f"{member!r} is not told to save, or has already begun")
    saving.status[member.handle] = SaveStatus.FEDERATE_SAVING
    if not saving.point and SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE not in saving.status.values():
        saving.point = step.federation.sequence + 1


def federate_save_complete(step: Step) -> None:
    _complete(step, None)


def federate_save_not_complete(step: Step) -> None:
    _complete(step, SaveFailureReason.FEDERATE_REPORTED_FAILURE_DURING_SAVE)


def _complete(step: Step, failure: SaveFailureReason | None) -> None:
    member = step.member
    saving = step.federation.saves.saving
    if saving is None or saving.status.get(member.handle) is not SaveStatus.FEDERATE_SAVING:
        raise FederateHasNotBegunSave(f"{member!r} has not begun to save")
    saving.status[member.handle] = _COMPLETE
    saving.failure = saving.failure or failure
    _conclude(step, saving)


def all_complete(saving: Saving) -> bool:
    return all(status is _COMPLETE for status in saving.status.values())


def _conclude(step: Step, saving: Saving) -> None:
    """A save that has failed ends with the last federate; one that has not is first written by the home's host."""
    if saving.failure is not None and all_complete(saving):
        _end(step, saving.failure)


def abort_federation_save(step: Step) -> None:
    saving = step.federation.saves.saving
    if saving is None:
        scheduled = step.federation.saves.scheduled
        waits = "" if scheduled is None else f"; {scheduled[0]!r} waits for {scheduled[1]}: request another"
        raise SaveNotInProgress(f"the federation is not being saved{waits}")
    if saving.writing:
        raise SaveNotInProgress(
            f"all federates have completed the save {saving.label!r}; it is being written"
        )
    _end(step, SaveFailureReason.SAVE_ABORTED)


def save_writing(step: Step) -> None:
    """All is there and the home's host writes it: from here on a federate that resigns does so after the save."""
    if step.federation.saves.saving is not None:
        step.federation.saves.saving.writing = True


def is_writing(federation: Federation, label: str) -> bool:
    saving = federation.saves.saving
    return saving is not None and saving.writing and saving.label == label


def save_ended(step: Step, written: bool) -> None:
    saving = step.federation.saves.saving
    if saving is not None:
        if written:
            step.federation.saves.last = (saving.label, saving.time)
        _end(step, None if written else SaveFailureReason.RTI_UNABLE_TO_SAVE)


def after_resign(step: Step) -> None:
    saving = step.federation.saves.saving
    if saving is not None:
        saving.status.pop(step.member.handle, None)
        if not saving.writing:
            saving.failure = saving.failure or SaveFailureReason.FEDERATE_RESIGNED_DURING_SAVE
            _conclude(step, saving)


def _end(step: Step, reason: SaveFailureReason | None) -> None:
    step.federation.saves.saving = None
    for member in step.federation.members.values():
        if reason is None:
            step.pause_callback(member, "federation_saved", ())
        else:
            step.pause_callback(member, "federation_not_saved", (reason,))
    _note(step)
    if reason is None:
        step.note(None, "HLAlastSaveName", "HLAlastSaveTime")
    timed_saves.set_limit(step)
    step.turn.begins = True  # another may have waited for the end of this one


def _note(step: Step) -> None:
    step.note(None, "HLAnextSaveName", "HLAnextSaveTime")
    for member in step.federation.members.values():
        step.note(member, "HLAfederateState")


def query_federation_save_status(step: Step) -> None:
    federation = step.federation
    saving = federation.saves.saving
    status = {} if saving is None else saving.status
    none = SaveStatus.NO_SAVE_IN_PROGRESS
    response = [(handle, status.get(handle, none)) for handle in federation.members]
    step.callback(step.member, "federation_save_status_response", (response,))
