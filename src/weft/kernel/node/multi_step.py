"""What goes on in a federation in several steps, each of them a command that its home gives when the time for it has come:
who begins to regulate time or to be constrained, saves at a logical time, save and restore, and the end of a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.kernel.federation import operator, restore, save, timed_saves
from weft.kernel.message import causal_views
from weft.kernel.node import faults, pausing
from weft.kernel.node.calls import PendingCalls
from weft.kernel.services import time_management
from weft.kernel.state.parcels import Invocation, Mark, Request, Share
from weft.kernel.state.save_state import AskedSave
from weft.kernel.state.sessions import NodeState
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, grants
from weft.model.errors import RTIexception

if TYPE_CHECKING:
    from weft.kernel.node.command_log import Commands


class MultiStep:
    def __init__(self, here: NodeState, calls: PendingCalls, commands: Commands) -> None:
        self._here = here
        self._calls = calls
        self._commands = commands

    # --- logical time -----------------------------------------------------------------------------------------

    def end_times(self, turn: Turn) -> None:
        """What logical time asks for at the end of a turn (`time.grants`, `services.time_management`)."""
        while turn.orders is not None or turn.queued or turn.begins:
            if turn.queued:
                turn.queued = False
                for federation in list(self._here.federations.values()):
                    grants.queued(Step(turn, federation, federation.rti))
            for federation, member, command, arguments in turn.take_orders() or ():
                if self._here.federations.get(federation.name) is federation:
                    asked = Invocation(None, member.handle, command, arguments)
                    self._commands.order(Step(turn, federation, member), asked)
            if turn.begins and turn.orders is None:
                turn.begins = False
                for federation in list(self._here.federations.values()):
                    if federation.home == self._here.name and (
                        federation.clock.timetable is not None or federation.saves.scheduled is not None
                    ):
                        self._begin_times(Step(turn, federation, federation.rti))

    def _begin_times(self, step: Step) -> None:
        """At the home: those who may begin to regulate or to be constrained do, and saves at a logical time.

        Not while the federation is saved or restored: nodes have said by then what they know of their members' times.
        """
        federation = step.federation
        galt_exchange.publish(step)
        if federation.saves.saving is None and federation.saves.restoring is None:
            self._begin_to_take_part(step)
        if federation.saves.asked or federation.saves.scheduled is not None:
            self._schedule_saves(step)
        if federation.clock.halt is not None and federation.clock.halt.steps:
            self._move_gate(step)

    def _begin_to_take_part(self, step: Step) -> None:
        federation = step.federation
        ready = galt_exchange.ready_to_regulate(federation)
        while ready is not None:
            handle, time, exclusive = ready
            arguments = (handle.number, time, exclusive)
            self._commands.carry_out_by_rti(step, time_management.REGULATION_BEGUN, arguments)
            ready = galt_exchange.ready_to_regulate(federation)
        waits = time_management.ready_to_be_constrained(federation)
        while waits is not None:
            self._commands.carry_out_by_rti(step, time_management.CONSTRAINED_BEGUN, (waits.number,))
            waits = time_management.ready_to_be_constrained(federation)

    # --- steering (federation.operator) ----------------------------------------------------------------------

    def steer(self, step: Step, request: Request) -> None:
        """At the home: do what the operator asks for, and answer."""
        federation = step.federation
        action, target = request.arguments
        who, command, arguments = operator.command(federation, action, target)
        answer: dict[str, Any] = {}  # it goes out when the turn is over
        self._calls.answer(step.turn, request.caller, (), answer)
        operator.told(step, operator.words(action, target), who)
        self._commands.carry_out(step, Invocation(None, who.handle, command, arguments))
        answer.update(operator.answer(federation, action, step.now))

    def _move_gate(self, step: Step) -> None:
        """At the home: let the next time through, for each step that is still to come, as soon as it is known."""
        federation = step.federation
        moved = operator.next_gate(federation)
        while moved is not None:
            time, counted = moved
            galt_exchange.publish(step)
            self._commands.carry_out_by_rti(step, operator.GATE_MOVED, moved)
            if counted:
                operator.told(step, f"a step has let {time} through", federation.rti)
            moved = operator.next_gate(federation)

    # --- saves at a logical time (federation.timed_saves) ----------------------------------------------------

    def asks_first(self, step: Step, asked: Invocation) -> bool:
        """At the home: is it the request of a save that other nodes must be asked about?  Then they are."""
        caller, federate, service, arguments = asked
        federation = step.federation
        if caller is None or not timed_saves.is_timed(service, arguments):
            return False
        if federate is None or federate not in federation.members or not timed_saves.must_ask(federation):
            error = timed_saves.passed(federation, arguments[1])
            if error is not None and federation.saves.saving is None and federation.saves.restoring is None:
                raise error
            return False
        asking = timed_saves.asking(arguments[0], arguments[1], federate, caller)
        self._commands.carry_out_by_rti(step, timed_saves.SAVE_ASKED, asking)
        return True

    def _schedule_saves(self, step: Step) -> None:
        """At the home: answer requests that all nodes have answered to, begin the save whose time has come."""
        federation = step.federation
        asked = timed_saves.answered(federation)
        while asked is not None:
            self._answer_asked(step, asked)
            asked = timed_saves.answered(federation)
        if timed_saves.due(federation):
            galt_exchange.publish(step)
            self._commands.carry_out_by_rti(step, save.SAVE_DUE, ())

    def _answer_asked(self, step: Step, asked: AskedSave) -> None:
        federation = step.federation
        arguments = (asked.label, asked.time)
        before = len(step.effects)
        error = timed_saves.passed(federation, asked.time)
        try:
            if error is None:
                request = Invocation(asked.caller, asked.federate, timed_saves.REQUEST, arguments)
                self._commands.carry_out(step, request)
                return
        except RTIexception as refusal:
            del step.effects[before:]
            error = refusal
        self._commands.carry_out_by_rti(step, timed_saves.SAVE_REFUSED, tuple(asked.caller))
        self._calls.refuse_asked(step.turn, asked, error)

    # --- save and restore (node.pausing), views (message.causal_views) ------------------------------------

    def stored(self, step: Step, label: str, well: bool) -> None:
        """The host has written a save, or could not."""
        if save.is_writing(step.federation, label):
            self._let_follow(step, save.SAVE_ENDED, (well,))

    def fetched(self, step: Step, label: str, data: object) -> None:
        """The host has found a save (None: it has not)."""
        if restore.is_pending(step.federation, label):
            try:
                arguments = restore.decision(step, label, data)
            except Exception as error:
                name = step.federation.name
                step.effects.append(faults.fault(error, "restoring the federation", federation=name))
                arguments = (None, None)
            self._let_follow(step, restore.RESTORE_DECIDED, arguments)

    def _let_follow(self, step: Step, command: str, arguments: tuple[object, ...]) -> None:
        federation = step.federation
        try:
            self._commands.carry_out_by_rti(step, command, arguments)
        except Exception as error:
            step.effects.append(faults.fault(error, command, federation=federation.name))

    def go_on(self, step: Step) -> None:
        """What a save or restore that is under way needs next."""
        federation = step.federation
        try:
            store = pausing.go_on(step, self._here.sessions)
        except Exception as error:
            # Nobody would ever be told how the save ended: it has failed.
            step.effects.append(faults.fault(error, "saving the federation", federation=federation.name))
            self._commands.order_by_rti(step, save.SAVE_ENDED, (False,))
            return
        if store is not None:
            self._commands.carry_out_by_rti(step, save.SAVE_WRITING, ())
            step.effects.append(store)

    def told(self, turn: Turn, sender: str, parcel: Mark | Share) -> None:
        federation = self._here.federations.get(parcel.federation)
        if federation is None:
            return
        if pausing.told(federation, sender, parcel):
            self.go_on(Step(turn, federation, federation.rti))
        elif causal_views.told(federation, sender, parcel):
            self.flush(Step(turn, federation, federation.rti))

    def flush(self, step: Step) -> None:
        """What the end of a view that is under way needs next (`message.causal_views`)."""
        federation = step.federation
        if causal_views.go_on(step):
            self._commands.carry_out_by_rti(step, causal_views.VIEW_BEGINS, ())
        elif causal_views.ask_again(federation):
            view = federation.orders.view
            self._commands.order_by_rti(step, causal_views.VIEW_ENDS, (view,))
