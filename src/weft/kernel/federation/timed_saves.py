"""A federation save at a logical time: from its request until everybody is told to save.

    request     the requester's node looks at what it alone knows: the requester's own time (`prepare`)
    asked       the other nodes are asked how far their federates have come; from here on nobody goes beyond the save time
    scheduled   nobody had, so the request is accepted, and answered; a new one replaces it
    due         every time-constrained federate has asked for more than the save time and has been given all messages up to
                it: everybody is told to save (`federation.save`)

The *limit* (`SaveState.limit`) is what holds time-constrained federates: no message later than the save time is
delivered, and no later time granted, until the save is over.  Every node applies it to its own members from the command on
that sets it, so all that can be wrong is what was granted before: that is why the nodes are asked first.  Whoever is alone at
its node need not be.

What all nodes know of it are commands, so it outlives the federate that asked, its node, and the home's process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.kernel.federation.plain import from_plain, to_plain
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Caller
from weft.kernel.state.save_state import AskedSave, SaveState
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import FLUSH, GRANTED, Report
from weft.kernel.state.turn import Turn
from weft.kernel.time import blocking, galt_exchange, grants, stamps
from weft.model.errors import (
    FederateUnableToUseTime,
    LogicalTimeAlreadyPassed,
    RestoreInProgress,
    RTIexception,
    SaveInProgress,
)
from weft.model.handles import FederateHandle
from weft.model.time import LogicalTime, TimeValue

REQUEST = "request_federation_save"
SAVE_ASKED = "save_asked"
SAVE_REFUSED = "save_refused"
COMMANDS: tuple[str, ...] = (SAVE_ASKED, SAVE_REFUSED)
"""Commands by which the home begins and ends to ask the nodes.  (What it says when the time has come is in `federation.save`.)"""


# --- the request ------------------------------------------------------------------------------------------------


def _require_label(label: object) -> None:
    if not isinstance(label, str):
        raise TypeError(f"the label of a save is text, not {label!r}")
    preconditions.name("a save", label)


def require_idle(saves: SaveState, label: str) -> None:
    """Of whoever asks for a save or a restore with that label."""
    _require_label(label)
    if saves.saving is not None:
        raise SaveInProgress(f"the federation is being saved as {saves.saving.label!r}")
    if saves.restoring is not None:
        raise RestoreInProgress(f"the federation is being restored from {saves.restoring.label!r}")


def is_timed(service: str, arguments: tuple[object, ...]) -> bool:
    return service == REQUEST and len(arguments) > 1 and arguments[1] is not None


def prepare(node: str, federation: Federation, member: Member, arguments: tuple[Any, ...]) -> None:
    """At the requester's node, which alone knows its time: refuse what the requester may not ask for."""
    label, time = arguments
    _require_label(label)
    value = stamps.time_value(federation, time)
    if member.timing.regulating:
        if value <= member.timing.time:
            raise LogicalTimeAlreadyPassed(
                f"{member!r} is at {member.timing.time}; a save at {value} would be of its past"
            )
        return
    galt = galt_exchange.galt_of(federation, member, node)
    if galt is None:
        raise FederateUnableToUseTime(
            f"{member!r} does not regulate time, and nobody else does: ask for a save without a time"
        )
    if value <= galt[0]:
        raise LogicalTimeAlreadyPassed(
            f"{member!r} does not regulate time, and others may be at {galt[0]} (its GALT) by now; "
            f"ask for a save later than that, not at {value}"
        )


def passed(federation: Federation, time: LogicalTime) -> RTIexception | None:
    """At the home: why it is too late for a save at that time, if it is."""
    value: TimeValue = time.value
    for member in federation.members.values():
        if member.timing.constrained:
            report = report_at_home(federation, member)
            if report is not None and (report.time >= value or report.reached > (value, 1)):
                return LogicalTimeAlreadyPassed(
                    f"{member!r} is at {report.time} and has been given messages up to {report.reached[0]}; "
                    f"it is too late for a save at {value}"
                )
    return None


def report_at_home(federation: Federation, member: Member) -> Report | None:
    if member.node == federation.home:
        return galt_exchange.report_of(member)
    table = federation.clock.timetable
    return None if table is None else table.reports.get(member.handle)


def must_ask(federation: Federation) -> bool:
    """Are there nodes that know more of their members' times than the home does?"""
    if federation.saves.saving is not None or federation.saves.restoring is not None:
        return False
    return any(node != federation.home for node in federation.nodes)


# --- asking all nodes -------------------------------------------------------------------------------------------


def asking(label: str, time: LogicalTime, federate: FederateHandle, caller: Caller) -> tuple[Any, ...]:
    """The arguments of `save_asked`."""
    return label, time, federate.number, *caller


def save_asked(
    step: Step,
    label: str,
    time: LogicalTime,
    federate: int,
    *caller: Any,
) -> None:
    federation = step.federation
    asked = AskedSave(label, time, FederateHandle.of(federate), Caller(*caller))
    if federation.home == step.node:
        asked.version = galt_exchange.table_of(federation).version + 1
        step.turn.begins = True  # they are asked behind this command, so that it holds by then
    federation.saves.asked.append(asked)
    set_limit(step)


def answered(federation: Federation) -> AskedSave | None:
    """At the home: the first request that all nodes have answered to."""
    table = federation.clock.timetable
    if table is None or table.silent:
        return None
    for asked in federation.saves.asked:
        if not galt_exchange.owe_answer(federation, table, asked.version):
            return asked
    return None


def save_refused(step: Step, *caller: Any) -> None:
    federation = step.federation
    federation.saves.asked = [one for one in federation.saves.asked if one.caller != Caller(*caller)]
    set_limit(step)


# --- waiting for the time -----------------------------------------------------------------------------------------


def schedule(step: Step, label: str, time: LogicalTime) -> None:
    """The request is accepted; it takes the place of one that was before."""
    federation = step.federation
    for asked in federation.saves.asked:
        if (asked.label, asked.time, asked.federate) == (label, time, step.member.handle):
            federation.saves.asked.remove(asked)
            break
    federation.saves.scheduled = (label, time)
    set_limit(step)
    step.turn.begins = True


def set_limit(step: Step) -> None:
    """After each change of what is asked for, scheduled or going on; who was held may go on."""
    federation = step.federation
    times = [asked.time for asked in federation.saves.asked]
    if federation.saves.scheduled is not None:
        times.append(federation.saves.scheduled[1])
    if federation.saves.saving is not None and federation.saves.saving.time is not None:
        times.append(federation.saves.saving.time)
    before = federation.saves.limit
    values: list[TimeValue] = [time.value for time in times]
    federation.saves.limit = (min(values), 1) if values else None
    if before is not None and (federation.saves.limit is None or federation.saves.limit > before):
        grants.look_again(step)


def due(federation: Federation) -> bool:
    """At the home: may everybody be told to save?  Not while the operator holds back what they are to be given before."""
    if federation.clock.halt is not None and federation.saves.scheduled is not None:
        value: TimeValue = federation.saves.scheduled[1].value
        if not federation.clock.halt.lets(value):
            return False
    return all_have_come(federation)


def all_have_come(federation: Federation) -> bool:
    """Does a save wait for nobody but the operator?"""
    saves = federation.saves
    if saves.scheduled is None or saves.saving is not None or saves.restoring is not None:
        return False
    return next(not_there(federation, saves.scheduled[1]), None) is None


def not_there(federation: Federation, time: LogicalTime) -> Iterator[Member]:
    """At the home: those whom a save that waits for that time waits for."""
    value: TimeValue = time.value
    for member in federation.members.values():
        if member.timing.constrained and not _has_come(federation, member, value):
            yield member


def _has_come(federation: Federation, member: Member, value: TimeValue) -> bool:
    """It asks for more than the save time, and has been given all up to there."""
    table = federation.clock.timetable
    report = report_at_home(federation, member)
    if table is None or report is None or member.handle in table.silent or report.mode == GRANTED:
        return False
    if report.mode == FLUSH:
        return bool(report.requested == value)
    if galt_exchange.next_time(table, member, report) <= value:
        return False
    galt = table.bounds.galt(member.handle)
    return blocking.may_advance_alone(federation, member) if galt is None else galt >= (value, 1)


# --- as plain data (federation.snapshot) ---------------------------------------------------------------------------


def plain(federation: Federation) -> list[object]:
    scheduled = federation.saves.scheduled
    return [
        None if scheduled is None else [scheduled[0], to_plain(scheduled[1])],
        [
            [one.label, to_plain(one.time), one.federate.number, list(one.caller)]
            for one in federation.saves.asked
        ],
    ]


def restore(federation: Federation, data: list[Any] | None) -> None:
    if data is None:
        return
    scheduled, asked = data
    if scheduled is not None:
        federation.saves.scheduled = (scheduled[0], from_plain(scheduled[1]))
    for label, time, federate, caller in asked:
        federation.saves.asked.append(
            AskedSave(label, from_plain(time), FederateHandle.of(federate), Caller(*caller))
        )
    set_limit(Step(Turn("", 0.0), federation, federation.rti))
