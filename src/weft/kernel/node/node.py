"""A node: the kernel's outermost ring.  Stimuli come in here, effects go out.

Stimuli: a federate's call, a parcel from another node, the loss of a federate's session or of another node, the passing
of time (`tick`, when `next_tick` says so), the end of what the host was asked to do (`stored`, `fetched`).  Each is handled in
one turn and returns its effects, in the order in which the host must carry them out; the reply to a call comes before any
callback it provokes.

Alone, a node is the home of all its federations.  In a mesh, one node is the *directory*: it knows which names are
taken and where their home is.  `state.parcels` says how the nodes of a federation keep in step.

A node consists of parts, each with a state of its own and given those that it needs:

    node.calls        calls that another node has to answer; how calls are answered
    node.directory    which names are taken; federations are created, found and destroyed
    node.command_log  commands are carried out in the same order everywhere; who comes and who goes
    node.multi_step   what goes on in several steps: time, saves, restores, views
    node.peers        other nodes go away and come back, and so does this one
    node.arrivals     parcels from other nodes
    node.recording    what happens here is recorded
    this file         stimuli: sessions, calls, time, parcels; the end of a turn
"""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import adapting
from weft.kernel.federation import operator, timed_saves
from weft.kernel.federation.operator import STEER
from weft.kernel.message import fast_lanes, timed_deletion, update_rates
from weft.kernel.message.causal_order import ORDERS_USED
from weft.kernel.mom import mom, mom_objects, mom_reports
from weft.kernel.node import faults, pausing
from weft.kernel.node.arrivals import Arrivals
from weft.kernel.node.calls import JOIN, PendingCalls
from weft.kernel.node.command_log import Commands
from weft.kernel.node.directory import Directory, Executions
from weft.kernel.node.peers import Peers
from weft.kernel.node.recording import NodeRecording
from weft.kernel.node.service_table import RESIGN_LOST, SERVICES
from weft.kernel.qos import consumers
from weft.kernel.recording import call_rows, message_rows
from weft.kernel.services import data_distribution, object_management, timed_changes
from weft.kernel.state import preconditions
from weft.kernel.state.effects import Callback, Effect, Refuse, Reply, Transmit
from weft.kernel.state.federation import Absence
from weft.kernel.state.parcels import Caller, Commit, Inform, Invocation, Request, Welcome
from weft.kernel.state.sessions import NodeState, Session
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.survey.status import status
from weft.kernel.survey.survey import Surroundings, survey
from weft.kernel.time import blocking
from weft.model.as_of import TIMED_SERVICES
from weft.model.errors import (
    FederateAlreadyExecutionMember,
    FederateNotExecutionMember,
    NotConnected,
    RTIexception,
    RTIinternalError,
)
from weft.model.records import Source


class Node:
    def __init__(
        self,
        name: str = "node",
        directory: str | None = None,
        reports: str = "",
        boot: int = 0,
        rid: Source | None = None,
    ) -> None:
        """`reports`: the folder that the host keeps service reports in; it writes what `Record` says.

        `boot`: which process of this node it is, so that an answer to an earlier one is not taken for one to this.

        `rid`: how federations that are created here distribute data to other nodes (`ddm.channels`).
        """
        here = NodeState(name, directory)
        self.name = name
        self.directory = here.directory
        self.sessions = here.sessions
        self.federations = here.federations
        self.sessions_opened = boot << 32
        self.holding = False  # callbacks are held for somebody here (`node.pausing`)
        self.surroundings: Surroundings | None = None  # what its host knows besides (`survey.survey`)
        self.calls = PendingCalls(here)
        self.commands = Commands(here, self.calls)
        names = Directory(here)
        self.homes = names.homes
        self.executions = Executions(here, names, self.calls, self.commands, boot << 32, reports, rid)
        self._peers = Peers(here, names, self.calls, self.executions, self.commands)
        self._arrivals = Arrivals(here, names, self.calls, self.executions, self.commands, self._peers)
        self._recording = NodeRecording(here)
        # None: nothing that happens here is recorded.
        self.recordings: message_rows.Recordings | None = None

    # --- sessions ---------------------------------------------------------------------------------------------

    def open_session(self, evolved: bool = False) -> int:
        """`evolved`: for a federate of the 2010 edition."""
        self.sessions_opened += 1
        self.sessions[self.sessions_opened] = Session(self.sessions_opened, evolved)
        return self.sessions_opened

    def close_session(self, session: int) -> None:
        """For a session whose federate has resigned, or never joined."""
        self.sessions.pop(session, None)

    def session_lost(self, session: int, now: float, fault: str = "its connection was lost") -> list[Effect]:
        """The federate is gone without resigning: its automatic resign directive says what becomes of its objects."""
        turn = Turn(self.name, now)
        gone = self.sessions.pop(session, None)
        if gone is not None and gone.federation is not None and gone.member is not None:
            try:
                step = Step(turn, gone.federation, gone.member)
                self.commands.order(step, Invocation(None, gone.member.handle, RESIGN_LOST, (fault,)))
            except Exception as error:
                turn.effects.append(faults.fault(error, f"the end of {gone.member!r}"))
        return self._end(turn)

    def note_waiting(self, session: int, messages: int) -> None:
        """So many messages wait to be read by this federate, as its host sees it: the MOM's HLAROlength."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None:
            found.member.waiting = messages

    def note_absence(self, session: int, absence: Absence | None) -> None:
        """Nothing comes from this federate's process, as its host sees it; None: it is there."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None:
            found.member.absence = absence

    def report_waiting(self, session: int, now: float) -> list[Effect]:
        """A federate has become slow, or has caught up: those who watch its HLAROlength hear of it now."""
        turn = Turn(self.name, now)
        found = self.sessions.get(session)
        if found is not None and found.federation is not None and found.member is not None:
            Step(turn, found.federation, found.member).note(found.member, "HLAROlength")
        return self._end(turn)

    # --- deadlines (qos.consumers) --------------------------------------------------------------------------

    def attend(self, session: int) -> None:
        """What is for this federate can be sorted where it waits: it goes by no lane any more."""
        found = self.sessions.get(session)
        if found is not None and found.federation is not None and found.member is not None:
            consumers.begin(found.federation, found.member, self.commands.schedule)

    def began(self, session: int, ticket: int, now: float) -> None:
        """The federate begins with a callback that has this ticket; for the record only."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None and found.member.qos is not None:
            found.member.qos.began(Turn(self.name, now), ticket)

    def done(self, session: int, ticket: int, now: float) -> list[Effect]:
        """The federate has dealt with the callback that has this ticket."""
        turn = Turn(self.name, now)
        found = self.sessions.get(session)
        if found is not None and found.member is not None and found.member.qos is not None:
            found.member.qos.done(turn, ticket)
        return self._end(turn) if turn.effects else turn.effects

    @property
    def schedule(self) -> consumers.ClassSchedule:
        """How urgent classes are for federates that join here from now on."""
        return self.commands.schedule

    @schedule.setter
    def schedule(self, schedule: consumers.ClassSchedule) -> None:
        self.commands.schedule = schedule

    # --- time -------------------------------------------------------------------------------------------------

    def next_tick(self) -> float | None:
        """When `tick` is next to be called; None if nothing waits for time to pass."""
        soonest: float | None = None
        for federation in self.federations.values():
            waited = blocking.next_due(federation, self.name)
            missed = consumers.next_due(federation) if federation.qos.attended else None
            adapts = adapting.due(federation)
            periodic = mom_objects.next_due(federation)
            for due in (periodic, update_rates.next_due(federation), waited, missed, adapts):
                if due is not None and (soonest is None or due < soonest):
                    soonest = due
        return soonest

    def tick(self, now: float) -> list[Effect]:
        turn = Turn(self.name, now)
        for federation in list(self.federations.values()):
            try:
                self._tick(Step(turn, federation, federation.rti))
            except Exception as error:
                turn.effects.append(faults.fault(error, "what was due", federation=federation.name))
        return self._end(turn)

    def _tick(self, step: Step) -> None:
        federation = step.federation
        if federation.mom.due:
            mom_objects.report_due(step)
        if federation.paces is not None:
            update_rates.release(step)
        blocking.remind(step)
        learner = federation.channels.adapting
        if learner is not None:
            learner.tick(step)
        for attended in list(federation.qos.attended.values()):
            attended.tick(step.turn)

    # --- calls ------------------------------------------------------------------------------------------------

    def call(
        self, session: int, number: int, service: str, arguments: tuple[object, ...], now: float
    ) -> list[Effect]:
        turn = Turn(self.name, now)
        try:
            caller = self.sessions.get(session)
            if caller is None:
                raise NotConnected("not connected; call connect first")
            entry = SERVICES.get(service)
            if caller.paused and entry is not None:
                refused = pausing.refusal(caller.paused, service, caller.member)
                if refused is not None:
                    raise refused
            if entry is None:
                self._manage(turn, caller, number, service, arguments)
                return self._end(turn)
            member = caller.member
            federation = caller.federation
            if member is None or federation is None:
                why = f" (it was: {caller.resigned})" if caller.resigned else ""
                raise FederateNotExecutionMember(
                    f"{service} needs a joined federate; join a federation first{why}"
                )
            step = Step(turn, federation, member)
            if entry.control:
                if timed_saves.is_timed(service, arguments):
                    timed_saves.prepare(self.name, federation, member, arguments)
                if service == "delete_object_instance" and len(arguments) > 2 and arguments[2] is not None:
                    arguments = timed_deletion.prepare(federation, member, arguments)
                elif service in TIMED_SERVICES:
                    if service == data_distribution.COMMIT:
                        arguments = data_distribution.prepare(federation, member, arguments)
                    arguments = timed_changes.prepare(federation, member, service, number, arguments)
                elif service == "delete_region":
                    arguments = (*arguments, federation.clock.horizon.past)
                elif federation.ddm.timed and service in object_management.REGISTERS:
                    arguments = object_management.prepare(service, arguments, federation.clock.horizon.past)
                asked = Invocation(Caller(self.name, session, number), member.handle, service, arguments)
                self.commands.order(step, asked)
            else:
                reply = Reply(session, number, None)
                turn.effects.append(reply)
                reply.value = entry.function(step, *arguments)
                if federation.observed and member.handle in federation.observed:
                    mom_reports.invoked(step, member, service, entry.group, arguments, reply.value)
                recorder = federation.recorder
                if recorder is not None and not entry.sends:
                    call_rows.called(step, recorder, service, entry.group, arguments, reply.value)
        except RTIexception as error:
            return self._refused(Turn(self.name, now), session, number, service, arguments, error)
        except (TypeError, AttributeError) as misfit:
            refusal = faults.wrong_type(service, misfit)
            return self._refused(Turn(self.name, now), session, number, service, arguments, refusal)
        except Exception as error:
            return self._failed(Turn(self.name, now), session, number, service, error)
        if turn.told is None and not federation.observed and not self.holding and not turn.unfinished():
            if federation.recorder is not None and len(turn.effects) > 1:
                self._recording.note(turn, turn.effects)
            return turn.effects
        return self._end(turn)

    def lane(
        self, session: int, service: str, target: Any, handles: list[Any], now: float
    ) -> fast_lanes.Lane | None:
        """The lane that a session's messages of one kind may take instead of `call`, if they may."""
        caller = self.sessions.get(session)
        if caller is None or caller.member is None or caller.federation is None:
            return None
        find = fast_lanes.interaction_lane if service == "send_interaction" else fast_lanes.update_lane
        return find(Step(Turn(self.name, now), caller.federation, caller.member), target, handles)

    def _refused(
        self,
        turn: Turn,
        session: int,
        number: int,
        service: str,
        arguments: tuple[Any, ...],
        error: Exception,
    ) -> list[Effect]:
        self.calls.refuse(turn, session, number, service, arguments, error)
        return self._hold(turn)

    def _failed(self, turn: Turn, session: int, number: int, service: str, error: Exception) -> list[Effect]:
        """An error of ours in a call: nothing more is tried, but it is answered."""
        turn.effects.append(Refuse(session, number, faults.refusal(error, service, self.name)))
        turn.effects.append(faults.fault(error, service))
        return turn.effects

    # --- the RTI as one that takes part (mom.mom) -----------------------------------------------------

    def _end(self, turn: Turn) -> list[Effect]:
        """The end of a turn; an error in it does not undo what the turn has decided, which others may wait for."""
        try:
            return self._finish(turn)
        except Exception as error:
            turn.effects.append(faults.fault(error, "the end of a turn"))
            return turn.effects

    def _finish(self, turn: Turn) -> list[Effect]:
        """The RTI does what it was told, and reports what it is to report."""
        self.commands.multi_step.end_times(turn)
        while turn.told is not None:
            told = turn.told
            turn.told = None
            for federation, what, arguments, everywhere in told:
                if self.federations.get(federation.name) is not federation:
                    continue  # it was restored meanwhile, or left
                step = Step(turn, federation, federation.rti)
                if what == ORDERS_USED:
                    self.commands.order_by_rti(step, what, arguments)
                    continue
                if what == adapting.TRAFFIC_TOLD:
                    if federation.channels.adapting is not None and federation.home == self.name:
                        federation.channels.adapting.told(arguments)
                    continue
                node = mom.responsible(federation, what, arguments)
                if node == self.name:
                    mom.act(step, what, arguments, self.commands.on_behalf)
                elif not everywhere:
                    parcel = Inform(
                        federation.name,
                        federation.execution,
                        federation.sequence,
                        federation.rti.handle,
                        what,
                        arguments,
                    )
                    turn.effects.append(Transmit(node, parcel))
            self.commands.multi_step.end_times(turn)
        for federation in self.federations.values():
            if federation.observed:
                mom_reports.callbacks(Step(turn, federation, federation.rti), list(turn.effects))
        effects = self._hold(turn)
        if self.recordings is not None:
            try:
                self._recording.attend(self.recordings, turn, effects)
            except Exception as error:
                effects.append(faults.fault(error, "recording"))
            self._recording.note(turn, effects)
        return effects

    def _hold(self, turn: Turn) -> list[Effect]:
        """Let go what may go, while a federation is saved or restored."""
        if not turn.pauses and not self.holding:
            return turn.effects
        effects = pausing.hold(turn, self.sessions, turn.effects)
        self.holding = any(session.held is not None for session in self.sessions.values())
        return effects

    # --- recording (recording.message_rows) --------------------------------------------------------------------

    def record(self, recordings: message_rows.Recordings, now: float) -> None:
        """From now on, also what is already here."""
        self.stop_recording()
        self.recordings = recordings
        self._recording.attend(recordings, Turn(self.name, now), [])

    def stop_recording(self) -> None:
        self.recordings = None
        self._recording.stop()

    @property
    def watched(self) -> bool:
        """Is it to be said (`began`) when a federate begins with a callback that has a ticket?"""
        return self.recordings is not None

    def handles(self, session: int, callback: Callback) -> None:
        """The federate takes a callback: what it does until it has handled it is caused by that."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None:
            found.member.handling = callback

    # --- federation management (clauses 4.5 to 4.11) ----------------------------------------------------------

    def _manage(
        self, turn: Turn, session: Session, number: int, service: str, arguments: tuple[Any, ...]
    ) -> None:
        caller = Caller(self.name, session.number, number)
        if service == "create_federation_execution":
            self.executions.create(turn, caller, arguments)
        elif service == "query_status":
            turn.effects.append(Reply(session.number, number, status(self.federations, self.name, turn.now)))
        elif service == "survey":
            asked = arguments[0] if arguments else ()
            answer = survey(self.federations, self.name, asked, turn.now, self.surroundings)
            turn.effects.append(Reply(session.number, number, answer))
        elif service == STEER:
            self.executions.seek_home(turn, caller, operator.request(caller, arguments))
        elif service == "list_federation_executions":
            self.executions.seek(turn, self.directory, caller, Request("", caller, None, service, ()))
        elif service in (JOIN, "destroy_federation_execution", "list_federation_execution_members"):
            name, *rest = arguments
            if service == JOIN:
                kind, chosen = rest[0], rest[1]
                if chosen is not None:
                    preconditions.name("a federate", chosen)
                if kind:
                    preconditions.name("a federate's type", kind)
                if session.member is not None:
                    raise FederateAlreadyExecutionMember(
                        f"already joined as {session.member!r}; resign first"
                    )
                if Caller(self.name, session.number, session.joining) in self.calls.waiting:
                    raise FederateAlreadyExecutionMember("already joining; wait for the end of that call")
                session.joining = number
            self.executions.seek_home(turn, caller, Request(name, caller, None, service, tuple(rest)))
        else:
            raise RTIinternalError(f"there is no service {service!r}")

    # --- what the host was asked to do ------------------------------------------------------------------------

    def took(self, session: int, method: str) -> None:
        """The federate has taken a callback that pauses it (`pausing.PAUSES`): now it knows."""
        found = self.sessions.get(session)
        if found is not None:
            pausing.took(found, method)

    def stored(self, federation: str, execution: str, label: str, well: bool, now: float) -> list[Effect]:
        """The host has written a save, or could not."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution:
            self.commands.multi_step.stored(Step(turn, found, found.rti), label, well)
        return self._end(turn)

    def fetched(self, federation: str, execution: str, label: str, data: object, now: float) -> list[Effect]:
        """The host has found a save (None: it has not)."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution:
            self.commands.multi_step.fetched(Step(turn, found, found.rti), label, data)
        return self._end(turn)

    # --- other nodes, and this one when it is started again ------------------------------------------------------

    def peer_lost(self, node: str, now: float, why: str = "", stopped: bool = False) -> list[Effect]:
        """Another node is gone; `stopped`: it has said itself that it stops."""
        turn = Turn(self.name, now)
        self._peers.gone(turn, node, why, stopped)
        return self._end(turn)

    def peer_found(self, node: str, now: float) -> list[Effect]:
        """A node that was gone is there again."""
        turn = Turn(self.name, now)
        self._peers.found(turn, node)
        return self._end(turn)

    def remembered(self, federation: str, now: float) -> Welcome | None:
        """A federation at home here, to be written down; None if there is none, or not at this moment."""
        return self._peers.remembered(federation, now)

    def recover(
        self,
        states: list[tuple[Welcome, list[Commit]]],
        names: dict[str, tuple[str, str]],
        nodes: tuple[str, ...],
        now: float,
    ) -> list[Effect]:
        """Begin with what an earlier process of this node wrote down, and tell all other nodes."""
        turn = Turn(self.name, now)
        self._peers.recover(turn, states, names, nodes)
        return self._end(turn)

    # --- parcels ----------------------------------------------------------------------------------------------

    def receive(self, sender: str, parcel: object, now: float) -> list[Effect]:
        """A parcel from another node.  Parcels of one sender come in the order in which they were sent.

        Whoever waits for what it is about is answered, whatever goes wrong here.
        """
        turn = Turn(self.name, now)
        try:
            self._arrivals.take(turn, sender, parcel)
        except Exception as error:
            self._arrivals.stumbled(turn, sender, parcel, error)
        return self._end(turn)
