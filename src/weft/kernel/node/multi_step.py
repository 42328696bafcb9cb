"""What goes on in a federation in several steps, each of them a command that its home gives when the time for it has come:
who begins to regulate time or to be constrained, saves at a logical time, save and restore, and the end of a view.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation import operator, restore, save, timed_saves
from weft.kernel.message import causal_views
from weft.kernel.node import faults, pausing
from weft.kernel.node.peers import Peers
from weft.kernel.services import time_management
from weft.kernel.state.effects import Effect
from weft.kernel.state.parcels import Caller, Mark, Request, Share
from weft.kernel.state.save_state import AskedSave
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, grants
from weft.model.errors import RTIexception
from weft.model.handles import FederateHandle


class Proceedings(Peers):
    # --- logical time -----------------------------------------------------------------------------------------

    def _end_times(self, turn: Turn) -> None:
        """What logical time asks for at the end of a turn (`time.grants`, `services.time_management`)."""
        while turn.orders is not None or turn.queued or turn.begins:
            if turn.queued:
                turn.queued = False
                for federation in list(self.federations.values()):
                    grants.queued(Step(turn, federation, federation.rti))
            orders, turn.orders = turn.orders, None
            for federation, member, command, arguments in orders or ():
                if self.federations.get(federation.name) is federation:
                    self._order(Step(turn, federation, member), None, member.handle, command, arguments)
            if turn.begins and turn.orders is None:
                turn.begins = False
                for federation in list(self.federations.values()):
                    if federation.home == self.name and (
                        federation.timetable is not None or federation.save_scheduled is not None
                    ):
                        self._begin_times(Step(turn, federation, federation.rti))

    def _begin_times(self, step: Step) -> None:
        """At the home: those who may begin to regulate or to be constrained do, and saves at a logical time.

        Not while the federation is saved or restored: nodes have said by then what they know of their members' times.
        """
        federation = step.federation
        galt_exchange.publish(step)
        if federation.saving is None and federation.restoring is None:
            self._begin_to_take_part(step)
        if federation.save_asked or federation.save_scheduled is not None:
            self._schedule_saves(step)
        if federation.halt is not None and federation.halt.steps:
            self._move_gate(step)

    def _begin_to_take_part(self, step: Step) -> None:
        federation = step.federation
        rti = federation.rti.handle
        ready = galt_exchange.ready_to_regulate(federation)
        while ready is not None:
            handle, time, exclusive = ready
            arguments = (handle.number, time, exclusive)
            self._carry_out(step, None, rti, time_management.REGULATION_BEGUN, arguments)
            ready = galt_exchange.ready_to_regulate(federation)
        waits = time_management.ready_to_be_constrained(federation)
        while waits is not None:
            self._carry_out(step, None, rti, time_management.CONSTRAINED_BEGUN, (waits.number,))
            waits = time_management.ready_to_be_constrained(federation)

    # --- steering (federation.operator) ----------------------------------------------------------------------

    def _steer(self, step: Step, request: Request) -> None:
        """At the home: do what the operator asks for, and answer."""
        federation = step.federation
        action, target = request.arguments
        who, command, arguments = operator.command(federation, action, target)
        answer: dict[str, Any] = {}  # it goes out when the turn is over
        self._answer(step.turn, request.caller, (), answer)
        operator.told(step, operator.words(action, target), who)
        self._carry_out(step, None, who.handle, command, arguments)
        answer.update(operator.answer(federation, action, step.now))

    def _move_gate(self, step: Step) -> None:
        """At the home: let the next time through, for each step that is still to come, as soon as it is known."""
        federation = step.federation
        moved = operator.next_gate(federation)
        while moved is not None:
            time, counted = moved
            galt_exchange.publish(step)
            self._carry_out(step, None, federation.rti.handle, operator.GATE_MOVED, moved)
            if counted:
                operator.told(step, f"a step has let {time} through", federation.rti)
            moved = operator.next_gate(federation)

    # --- saves at a logical time (federation.timed_saves) ----------------------------------------------------

    def _asks_first(
        self,
        step: Step,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
    ) -> bool:
        """At the home: is it the request of a save that other nodes must be asked about?  Then they are."""
        federation = step.federation
        if caller is None or not timed_saves.is_timed(service, arguments):
            return False
        if federate not in federation.members or not timed_saves.must_ask(federation):
            error = timed_saves.passed(federation, arguments[1])
            if error is not None and federation.saving is None and federation.restoring is None:
                raise error
            return False
        asked = timed_saves.asking(arguments[0], arguments[1], federate, caller)
        self._carry_out(step, None, federation.rti.handle, timed_saves.SAVE_ASKED, asked)
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
            self._carry_out(step, None, federation.rti.handle, save.SAVE_DUE, ())

    def _answer_asked(self, step: Step, asked: AskedSave) -> None:
        federation = step.federation
        arguments = (asked.label, asked.time)
        before = len(step.effects)
        error = timed_saves.passed(federation, asked.time)
        try:
            if error is None:
                self._carry_out(step, asked.caller, asked.federate, timed_saves.REQUEST, arguments)
                return
        except RTIexception as refusal:
            del step.effects[before:]
            error = refusal
        rti = federation.rti.handle
        self._carry_out(step, None, rti, timed_saves.SAVE_REFUSED, tuple(asked.caller))
        self._refuse_asked(step.turn, asked, error)

    # --- save and restore (node.pausing), views (message.causal_views) ------------------------------------

    def took(self, session: int, method: str) -> None:
        """The federate has taken a callback that pauses it (`pausing.PAUSES`): now it knows."""
        found = self.sessions.get(session)
        if found is not None:
            pausing.took(found, method)

    def stored(self, federation: str, execution: str, label: str, well: bool, now: float) -> list[Effect]:
        """The host has written a save, or could not."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution and save.is_writing(found, label):
            self._let_follow(Step(turn, found, found.rti), save.SAVE_ENDED, (well,))
        return self._end(turn)

    def fetched(self, federation: str, execution: str, label: str, data: Any, now: float) -> list[Effect]:
        """The host has found a save (None: it has not)."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution and restore.is_pending(found, label):
            step = Step(turn, found, found.rti)
            try:
                arguments = restore.decision(step, label, data)
            except Exception as error:
                turn.effects.append(faults.fault(error, "restoring the federation", federation=federation))
                arguments = (None, None)
            self._let_follow(step, restore.RESTORE_DECIDED, arguments)
        return self._end(turn)

    def _let_follow(self, step: Step, command: str, arguments: tuple[Any, ...]) -> None:
        federation = step.federation
        try:
            self._carry_out(step, None, federation.rti.handle, command, arguments)
        except Exception as error:
            step.effects.append(faults.fault(error, command, federation=federation.name))

    def _go_on(self, step: Step) -> None:
        """What a save or restore that is under way needs next."""
        federation = step.federation
        try:
            store = pausing.go_on(step, self.sessions)
        except Exception as error:
            # Nobody would ever be told how the save ended: it has failed.
            step.effects.append(faults.fault(error, "saving the federation", federation=federation.name))
            self._order(step, None, federation.rti.handle, save.SAVE_ENDED, (False,))
            return
        if store is not None:
            self._carry_out(step, None, federation.rti.handle, save.SAVE_WRITING, ())
            step.effects.append(store)

    def _told(self, turn: Turn, sender: str, parcel: Mark | Share) -> None:
        federation = self.federations.get(parcel.federation)
        if federation is None:
            return
        if pausing.told(federation, sender, parcel):
            self._go_on(Step(turn, federation, federation.rti))
        elif causal_views.told(federation, sender, parcel):
            self._flush(Step(turn, federation, federation.rti))

    def _flush(self, step: Step) -> None:
        """What the end of a view that is under way needs next (`message.causal_views`)."""
        federation = step.federation
        if causal_views.go_on(step):
            self._carry_out(step, None, federation.rti.handle, causal_views.VIEW_BEGINS, ())
        elif causal_views.ask_again(federation):
            view = federation.orders.view
            self._order(step, None, federation.rti.handle, causal_views.VIEW_ENDS, (view,))
