"""Steering: the operator pauses logical time, lets it go on step by step, resumes it, or resigns a federate.

All of it are commands that the home gives, so every node holds them in the same order, a node that comes later is told, and a
home that is started again still knows them.

    paused      nobody is granted anything, and nothing in time stamp order is delivered.  All else goes on: calls, messages in
                receive order, sending, synchronization points, saves, who comes and who goes, also who begins to regulate or to
                be constrained.
    step        the next logical time of the federation is let through: the *gate* (`Halt.gate`) moves there, and whatever asks
                for no more than that is granted as it would be without a pause, now or later.
    resumed     the gate is gone

The next logical time is the least time that anybody can be granted when all who regulate or are constrained have asked for more
than the gate, or have come to that time already; until then the step waits for them.  So it is the least that will be granted
at all: who asks for less cannot come any more.  With a lookahead of zero a time may be granted to the same federate again and
again (TARA, NMRA); all of that is one step.

The home works it out from what nodes report.  Of who asks for the next message it may know a message sooner than whether it is
for that federate; so it moves the gate there, and counts the step when somebody has been granted that time.  A home that was
started again in between counts it in any case: better a step too few than a time too many.

A flush (FQR) could be granted at any moment, to the same time again and again.  Each step lets a flush through once, to the time
of the gate at most; while it waits, it promises what it did before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.kernel.federation import timed_saves
from weft.kernel.recording import call_rows
from weft.kernel.state.effects import Notice
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Caller, Request
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import FLUSH, GRANTED, NMR, NMRA, TAR, Halt, Report, Timetable
from weft.kernel.time import blocking, galt_exchange, grants
from weft.model.errors import NameNotFound, RTIinternalError
from weft.model.handles import FederateHandle
from weft.model.json_types import JsonObject
from weft.model.time import TimeValue
from weft.ordering.galt import Bound

OPERATOR = "operator"
RESIGNED = "resigned by the operator"
RESIGN_LOST = "resign_lost"
STEER = "steer"
ACTIONS = ("pause", "resume", "step", "resign")
MOST_STEPS = 1_000_000
PAUSED = "operator_paused"
RESUMED = "operator_resumed"
STEPPED = "operator_stepped"
GATE_MOVED = "gate_moved"
COMMANDS: tuple[str, ...] = (PAUSED, RESUMED, STEPPED, GATE_MOVED)


# --- what the operator asks for -----------------------------------------------------------------------------------


def request(caller: Caller, arguments: tuple[Any, ...]) -> Request:
    """What is sent to the home; raises if no home could do it."""
    action, federation, target = (*arguments, None)[:3] if len(arguments) in (2, 3) else (None, None, None)
    if not isinstance(federation, str):
        raise RTIinternalError(
            f"{STEER} takes an action, the name of a federation, and a target for some actions"
        )
    if action not in ACTIONS:
        raise RTIinternalError(f"{STEER}: there is no action {action!r}; there are {', '.join(ACTIONS)}")
    if action == "step":
        target = 1 if target is None else target
        if type(target) is not int or not 1 <= target <= MOST_STEPS:
            raise RTIinternalError(f"{STEER}: the number of steps is 1 to {MOST_STEPS}, not {target!r}")
    elif action == "resign" and not isinstance(target, str):
        raise RTIinternalError(f"{STEER}: resign takes the name of a federate, not {target!r}")
    return Request(federation, caller, None, STEER, (action, target))


def command(federation: Federation, action: str, target: Any) -> tuple[Member, str, tuple[Any, ...]]:
    """At the home: the command that does it, and in whose name."""
    halt = federation.clock.halt
    if action == "resign":
        return _named(federation, target), RESIGN_LOST, (RESIGNED,)
    if action == "pause":
        return federation.rti, PAUSED, (OPERATOR,)
    if action == "resume":
        return federation.rti, RESUMED, ()
    if halt is None:
        raise RTIinternalError(
            f"federation {federation.name!r} is not paused, so there are no steps; pause it first"
        )
    return federation.rti, STEPPED, (min(target, MOST_STEPS - halt.steps),)


def words(action: str, target: Any) -> str:
    """For logs and rows."""
    if action == "step":
        return f"the operator asks for {target} step{'' if target == 1 else 's'}"
    if action == "resign":
        return f"the operator resigns {target!r}"
    return "paused by the operator" if action == "pause" else "resumed by the operator"


def _named(federation: Federation, name: str) -> Member:
    member = federation.membership.names.get(name)
    if member is None or member.handle not in federation.members:
        known = ", ".join([repr(one.name) for one in federation.members.values()]) or "none"
        raise NameNotFound(f"federation {federation.name!r} has no federate {name!r}; it has {known}")
    return member


def answer(federation: Federation, action: str, now: float) -> JsonObject:
    found: JsonObject = {"action": action, "federation": federation.name, "home": federation.home}
    facts = paused_facts(federation, now)
    return found if facts is None else {**found, "paused": facts}


def told(step: Step, text: str, member: Member) -> None:
    """At the home: for its log, and a row of the run."""
    federation = step.federation
    step.effects.append(Notice(f"federation {federation.name!r}: {text}", warning=False))
    if federation.recorder is not None:
        call_rows.steered(step, federation.recorder, member, text)


# --- what can be said of it -----------------------------------------------------------------------------------------


def paused_facts(federation: Federation, now: float) -> JsonObject | None:
    """Since how many seconds, by whom, how many steps are still to come; None: it is not paused.

    `at`: the time that the last step has let through, if there was one.  `waits_for`: at the home, whom a step waits for.
    """
    halt = federation.clock.halt
    if halt is None:
        return None
    found: JsonObject = {
        "since": round(max(0.0, now - halt.since), 3),
        "by": halt.by,
        "steps": halt.steps,
    }
    if halt.gate is not None:
        found["at"] = halt.gate
    if halt.steps and federation.clock.timetable is not None:
        time = _least(*_ahead(federation, federation.clock.timetable, halt))
        waits_for = [one.name for one in _between(federation, federation.clock.timetable, halt, time)]
        if waits_for:
            found["waits_for"] = waits_for
    return found


# --- the commands -----------------------------------------------------------------------------------------------------


def operator_paused(step: Step, by: str) -> None:
    """A pause of what is paused takes back the steps that are still to come."""
    federation = step.federation
    if federation.clock.halt is not None:
        federation.clock.halt.steps = 0
        return
    halt = federation.clock.halt = Halt(step.now, by)
    if federation.home == step.node:
        halt.version = galt_exchange.table_of(federation).version + 1
        step.turn.begins = True  # the nodes are asked behind this command, so that it holds by then


def operator_resumed(step: Step) -> None:
    if step.federation.clock.halt is not None:
        step.federation.clock.halt = None
        grants.look_again(step)


def operator_stepped(step: Step, count: int) -> None:
    if step.federation.clock.halt is not None:
        step.federation.clock.halt.steps += count
        step.turn.begins = True


def gate_moved(step: Step, time: TimeValue, counted: bool) -> None:
    """That time is let through.  `counted`: that is a step; else it may become one."""
    halt = step.federation.clock.halt
    if halt is None:
        return
    halt.counted = counted
    if counted:
        halt.steps = max(0, halt.steps - 1)
    if halt.gate is None or time > halt.gate:
        halt.gate = time
        halt.round = step.federation.sequence + 1
        grants.look_again(step)
    step.turn.begins = True


# --- which time comes next ----------------------------------------------------------------------------------------------


def next_gate(federation: Federation) -> tuple[TimeValue, bool] | None:
    """At the home: where the gate is to be and if that counts as a step; None: nowhere else for now."""
    halt = federation.clock.halt
    table = federation.clock.timetable
    if halt is None or not halt.steps or table is None or not _answered(federation, table, halt):
        return None
    if federation.saves.saving is not None or federation.saves.restoring is not None:
        return None
    sure, hopefuls = _ahead(federation, table, halt)
    time = _least(sure, hopefuls)
    if next(_between(federation, table, halt, time), None) is not None:
        return None
    gate = halt.gate
    if gate is not None and not halt.counted and any(_is_at(federation, h, gate) for h in halt.hopefuls):
        return gate, True
    if time is None:
        return None
    halt.hopefuls = {handle: None for handle, one in hopefuls.items() if one == time}
    return time, time in sure


def _answered(federation: Federation, table: Timetable, halt: Halt) -> bool:
    """Have all nodes said, since the pause, who has been granted what?"""
    return not table.silent and not galt_exchange.owe_answer(federation, table, halt.version)


def _is_at(federation: Federation, handle: FederateHandle, time: TimeValue) -> bool:
    member = federation.members.get(handle)
    report = None if member is None else timed_saves.report_at_home(federation, member)
    return report is not None and bool(report.time >= time)


def _least(sure: list[TimeValue], hopefuls: dict[FederateHandle, TimeValue]) -> TimeValue | None:
    """None: nobody can be granted anything."""
    return min([*sure, *hopefuls.values()], default=None)


def _between(
    federation: Federation, table: Timetable, halt: Halt, time: TimeValue | None
) -> Iterator[Member]:
    """Who takes part in time and has not asked for more than the gate, or is about to be granted no more than that.

    Who has come to `time`, which would be let through next, will not ask for less: it may have ended, and need not ask again.
    """
    for member in federation.members.values():
        if not (member.timing.regulating or member.timing.constrained):
            continue
        report = timed_saves.report_at_home(federation, member)
        if report is None:
            yield member
        elif report.mode == GRANTED and report.head is None:
            if time is None or report.time < time:
                yield member
        elif report.mode not in (GRANTED, FLUSH):
            own = could_have(federation, table, member, report)
            if own is not None and halt.lets(own):
                yield member


def _ahead(
    federation: Federation, table: Timetable, halt: Halt
) -> tuple[list[TimeValue], dict[FederateHandle, TimeValue]]:
    """The times beyond the gate that somebody can be granted: surely, or if a message is for it that may not be."""
    sure: list[TimeValue] = []
    hopefuls: dict[FederateHandle, TimeValue] = {}
    for member in federation.members.values():
        report = timed_saves.report_at_home(federation, member)
        time = None if report is None else could_have(federation, table, member, report)
        if report is None or time is None or halt.lets(time):
            continue
        if report.mode in (NMR, NMRA) and member.timing.constrained:
            hopefuls[member.handle] = time
        else:
            sure.append(time)
    if timed_saves.all_have_come(federation) and federation.saves.scheduled is not None:
        save: TimeValue = federation.saves.scheduled[1].value
        if not halt.lets(save):
            sure.append(save)  # the save is what comes next
    return sure, hopefuls


def could_have(federation: Federation, table: Timetable, member: Member, report: Report) -> TimeValue | None:
    """The time that it would be granted now if the federation were not paused, as far as the home knows; None: it would not."""
    galt = table.bounds.galt(member.handle)
    if report.mode == GRANTED:
        if report.head is None:
            return None
        return max(report.time, report.head if galt is None else min(report.head, galt[0]))
    if report.mode == FLUSH:
        return None if federation.saves.limit is not None else report.requested
    if not member.timing.constrained:
        return report.requested
    if galt is None and not blocking.may_advance_alone(federation, member):
        return None
    if federation.saves.limit is not None:
        galt = federation.saves.limit if galt is None else min(galt, federation.saves.limit)
    time = galt_exchange.next_time(table, member, report)
    goal: Bound = (time, 1 if report.mode in (TAR, NMR) else 0)
    return time if galt is None or galt >= goal else None


# --- as plain data (federation.snapshot) -------------------------------------------------------------------------------


def plain(federation: Federation, now: float) -> list[object] | None:
    """For a node that comes later, and for the home's own process after this one.  A save has nothing of it."""
    halt = federation.clock.halt
    if halt is None:
        return None
    return [halt.by, now - halt.since, halt.gate, halt.steps, halt.round, halt.counted]


def restore(federation: Federation, data: list[Any] | None, now: float) -> None:
    if data is None:
        return
    by, seconds, gate, steps, number, counted = data
    halt = federation.clock.halt = Halt(now - seconds, by)
    halt.gate, halt.steps, halt.round, halt.counted = gate, steps, number, counted


def begin_again(federation: Federation) -> tuple[TimeValue, bool] | None:
    """The home was started again: it does not know any more who may have been granted the time of the gate, so that counts."""
    halt = federation.clock.halt
    if halt is None:
        return None
    halt.version = 1
    return None if halt.counted or halt.gate is None else (halt.gate, True)


def inherit(federation: Federation, successor: Federation) -> None:
    """What a paused federation is restored to is paused, too, and nothing is let through of the times before."""
    if federation.clock.halt is not None:
        successor.clock.halt = Halt(federation.clock.halt.since, federation.clock.halt.by)
