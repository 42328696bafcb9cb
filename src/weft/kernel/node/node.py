"""A node: the kernel's outermost ring.  Stimuli come in here, effects go out.

Stimuli: a federate's call, a parcel from another node, the loss of a federate's session or of another node, the passing
of time (`tick`, when `next_tick` says so), the end of what the host was asked to do (`stored`, `fetched`).  Each is handled in
one turn and returns its effects, in the order in which the host must carry them out; the reply to a call comes before any
callback it provokes.

Alone, a node is the home of all its federations.  In a mesh, one node is the *directory*: it knows which names are
taken and where their home is.  `state.parcels` says how the nodes of a federation keep in step.

A node consists of parts, each a class that the next is built on:

    weft.kernel.node.directory         federations are created, found and destroyed; calls that another node answers
    weft.kernel.node.peers         other nodes go away and come back, and so does this one
    weft.kernel.node.multi_step    what goes on in several steps: time, saves, restores, views
    weft.kernel.node.command_log      commands are carried out in the same order everywhere; who comes and who goes
    this file                 stimuli: sessions, calls, time, parcels; the end of a turn; what is recorded
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation import operator, timed_saves
from weft.kernel.federation.operator import STEER
from weft.kernel.federation.snapshot import restored
from weft.kernel.message import fast_lanes, pipeline, timed_deletion, update_rates
from weft.kernel.message.causal_order import ORDERS_USED
from weft.kernel.mom import mom, mom_objects, mom_reports
from weft.kernel.node import faults, pausing, recording_start
from weft.kernel.node.command_log import Commands
from weft.kernel.node.directory import JOIN, wrong_type
from weft.kernel.node.service_table import RESIGN_LOST, SERVICES
from weft.kernel.qos import consumers
from weft.kernel.recording import call_rows, callback_rows, message_rows
from weft.kernel.services import data_distribution, timed_changes
from weft.kernel.state import preconditions
from weft.kernel.state.absence import Absence
from weft.kernel.state.effects import Callback, Effect, Refuse, Reply, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import (
    Answer,
    Caller,
    Claim,
    Commit,
    Data,
    Dissolve,
    Early,
    Hello,
    Inform,
    Left,
    Locate,
    Mark,
    Ordered,
    Release,
    Request,
    Retraction,
    Settled,
    Share,
    TimeBound,
    TimeReport,
    Unable,
    Welcome,
)
from weft.kernel.state.sessions import Session
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.survey.status import status
from weft.kernel.survey.survey import Surroundings, survey
from weft.kernel.time import blocking, grants, stamps
from weft.model.deliveries import Removal, delivery_from
from weft.model.errors import (
    FederateAlreadyExecutionMember,
    FederateNotExecutionMember,
    NotConnected,
    RTIexception,
    RTIinternalError,
)
from weft.model.records import Source


class Node(Commands):
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
        super().__init__(name, directory, reports, boot << 32, rid)
        self.holding = False  # callbacks are held for somebody here (`node.pausing`)
        self.recordings: message_rows.Recordings | None = None  # if what happens here is to be recorded
        self._recorded: dict[str, Federation] = {}
        self.surroundings: Surroundings | None = None  # what its host knows besides (`survey.survey`)

    # --- sessions ---------------------------------------------------------------------------------------------

    def open_session(self, evolved: bool = False) -> int:
        """`evolved`: for a federate of the 2010 edition."""
        self._sessions_opened += 1
        self.sessions[self._sessions_opened] = Session(self._sessions_opened, evolved)
        return self._sessions_opened

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
                self._order(step, None, gone.member.handle, RESIGN_LOST, (fault,))
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
            consumers.begin(found.federation, found.member, self.schedule)

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

    # --- time -------------------------------------------------------------------------------------------------

    def next_tick(self) -> float | None:
        """When `tick` is next to be called; None if nothing waits for time to pass."""
        soonest: float | None = None
        for federation in self.federations.values():
            waited = blocking.next_due(federation, self.name)
            missed = consumers.next_due(federation) if federation.attended else None
            for due in (mom_objects.next_due(federation), update_rates.next_due(federation), waited, missed):
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
        if federation.reports_due:
            mom_objects.report_due(step)
        if federation.paces is not None:
            update_rates.release(step)
        blocking.remind(step)
        for attended in list(federation.attended.values()):
            attended.tick(step.turn)

    # --- calls ------------------------------------------------------------------------------------------------

    def call(
        self, session: int, number: int, service: str, arguments: tuple[Any, ...], now: float
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
                elif service in timed_changes.PLACES:
                    if service == data_distribution.COMMIT:
                        arguments = data_distribution.prepare(federation, member, arguments)
                    arguments = timed_changes.prepare(federation, member, service, number, arguments)
                elif service == "delete_region":
                    arguments = (*arguments, federation.horizon.past)
                asked = Caller(self.name, session, number)
                self._order(step, asked, member.handle, service, arguments)
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
            return self._refuse(Turn(self.name, now), session, number, service, arguments, error)
        except (TypeError, AttributeError) as misfit:
            refusal = wrong_type(service, misfit)
            return self._refuse(Turn(self.name, now), session, number, service, arguments, refusal)
        except Exception as error:
            return self._failed(Turn(self.name, now), session, number, service, error)
        if turn.told is None and not federation.observed and not self.holding and not turn.unfinished():
            if federation.recorder is not None and not turn.recorded and len(turn.effects) > 1:
                self._note(turn, turn.effects)
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

    def _refuse(
        self,
        turn: Turn,
        session: int,
        number: int,
        service: str,
        arguments: tuple[Any, ...],
        error: Exception,
    ) -> list[Effect]:
        turn.effects.append(Refuse(session, number, error))
        caller = self.sessions.get(session)
        if caller is not None and caller.member is not None and caller.federation is not None:
            step = Step(turn, caller.federation, caller.member)
            timed_changes.refused(step, number)
            entry = SERVICES.get(service)
            group = None if entry is None else entry.group
            if caller.federation.recorder is not None:
                call_rows.refused(turn, caller.federation.recorder, caller.member, service, error)
            mom_reports.refused(step, service, group, arguments, error)
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
        self._end_times(turn)
        while turn.told is not None:
            told = turn.told
            turn.told = None
            for federation, what, arguments, everywhere in told:
                if self.federations.get(federation.name) is not federation:
                    continue  # it was restored meanwhile, or left
                step = Step(turn, federation, federation.rti)
                if what == ORDERS_USED:
                    self._order(step, None, federation.rti.handle, what, arguments)
                    continue
                node = mom.responsible(federation, what, arguments)
                if node == self.name:
                    mom.act(step, what, arguments, self._on_behalf)
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
            self._end_times(turn)
        for federation in self.federations.values():
            if federation.observed:
                mom_reports.callbacks(Step(turn, federation, federation.rti), list(turn.effects))
        effects = self._hold(turn)
        if self.recordings is not None:
            try:
                self._attend(self.recordings, turn, effects)
            except Exception as error:
                effects.append(faults.fault(error, "recording"))
            self._note(turn, effects)
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
        self._attend(recordings, Turn(self.name, now), [])

    @property
    def watched(self) -> bool:
        """Is it to be said (`began`) when a federate begins with a callback that has a ticket?"""
        return self.recordings is not None

    def stop_recording(self) -> None:
        for federation in self._recorded.values():
            if federation.recorder is not None:
                federation.first_shape = federation.recorder.next_shape()
            federation.recorder = None
        self._recorded.clear()
        self.recordings = None

    def _attend(self, recordings: message_rows.Recordings, turn: Turn, effects: list[Effect]) -> None:
        """Federations that have come are recorded from now on, those that have gone no more."""
        for name, federation in list(self._recorded.items()):
            if self.federations.get(name) is not federation:
                del self._recorded[name]
                recordings.end(federation)
        for name, federation in self.federations.items():
            if name not in self._recorded:
                self._recorded[name] = federation
                recorder = federation.recorder = recordings.begin(federation, self.name)
                if recorder is not None:
                    recorder.first = federation.first_shape
                    recorder.carried_out(federation.sequence)
                    recording_start.stands(Step(turn, federation, federation.rti), recorder, effects)

    def _note(self, turn: Turn, effects: list[Effect]) -> None:
        """The callbacks that this turn has led to, but for those that were recorded with what caused them."""
        step: Step | None = None
        for effect in effects:
            if isinstance(effect, Callback) and effect.number >= 0:
                session = self.sessions.get(effect.session)
                if session is None or session.federation is None or session.member is None:
                    continue
                federation = session.federation
                if federation.recorder is not None:
                    if step is None or step.federation is not federation:
                        step = Step(turn, federation, federation.rti)
                    callback_rows.given(step, federation.recorder, session.member, effect)

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
            self._create(turn, caller, arguments)
        elif service == "query_status":
            turn.effects.append(Reply(session.number, number, status(self.federations, self.name, turn.now)))
        elif service == "survey":
            asked = arguments[0] if arguments else ()
            answer = survey(self.federations, self.name, asked, turn.now, self.surroundings)
            turn.effects.append(Reply(session.number, number, answer))
        elif service == STEER:
            self._seek_home(turn, caller, operator.request(caller, arguments))
        elif service == "list_federation_executions":
            self._seek(turn, self.directory, caller, Request("", caller, None, service, ()))
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
                if Caller(self.name, session.number, session.joining) in self._waiting:
                    raise FederateAlreadyExecutionMember("already joining; wait for the end of that call")
                session.joining = number
            self._seek_home(turn, caller, Request(name, caller, None, service, tuple(rest)))
        else:
            raise RTIinternalError(f"there is no service {service!r}")

    # --- parcels ----------------------------------------------------------------------------------------------

    def receive(self, sender: str, parcel: Any, now: float) -> list[Effect]:
        """A parcel from another node.  Parcels of one sender come in the order in which they were sent.

        Whoever waits for what it is about is answered, whatever goes wrong here.
        """
        turn = Turn(self.name, now)
        try:
            self._take(turn, sender, parcel)
        except Exception as error:
            self._stumbled(turn, sender, parcel, error)
        return self._end(turn)

    def _take(self, turn: Turn, sender: str, parcel: Any) -> None:
        if isinstance(parcel, (Data, Ordered, Inform, Mark, TimeReport, TimeBound, Retraction, Settled)):
            self._arrive(turn, sender, parcel)
        elif isinstance(parcel, Commit):
            self._follow(turn, sender, parcel)
        elif isinstance(parcel, Request):
            self._serve(turn, parcel)
        elif isinstance(parcel, Answer):
            self._answered(turn, parcel)
        elif isinstance(parcel, Welcome):
            known = self.federations.get(parcel.federation)
            if known is None or known.home == sender:
                self._welcomed(parcel)
        elif isinstance(parcel, Share):
            self._told(turn, sender, parcel)
        elif isinstance(parcel, Claim):
            self._grant(turn, sender, parcel)
        elif isinstance(parcel, Locate):
            self._locate(turn, parcel)
        elif isinstance(parcel, Release):
            self._released(turn, sender, parcel)
        elif isinstance(parcel, Hello):
            self._greeted(turn, sender, parcel)
        elif isinstance(parcel, Left):
            self._left(turn, sender, parcel)
        elif isinstance(parcel, Dissolve):
            self._dissolved(turn, sender, parcel)
        elif isinstance(parcel, Unable):
            self._is_unable(turn, sender, parcel)

    def _stumbled(self, turn: Turn, sender: str, parcel: Any, error: Exception) -> None:
        """An error of ours in handling a parcel."""
        doing = f"{type(parcel).__name__} from node {sender!r}"
        turn.effects.append(faults.fault(error, doing, peer=sender))
        if isinstance(parcel, Welcome):
            self._lose(turn, sender, parcel.federation, parcel.execution, error)
        elif isinstance(parcel, (Request, Claim, Locate, Release)):
            if parcel.caller is not None:
                refusal = faults.refusal(error, doing, self.name)
                turn.effects.append(Transmit(parcel.caller.node, Answer(parcel.caller, None, refusal)))
        elif isinstance(parcel, Answer):
            refusal = faults.refusal(error, doing, self.name)
            turn.effects.append(Refuse(parcel.caller.session, parcel.caller.number, refusal))

    def _welcomed(self, welcome: Welcome) -> Federation:
        federation = restored(welcome.data)
        federation.execution = welcome.execution
        federation.home = federation.rti.node = welcome.home
        federation.sequence = welcome.sequence
        federation.reports_due.clear()  # the nodes of the members see to that
        federation.reports = self.reports
        self.federations[welcome.federation] = federation
        return federation

    def _follow(self, turn: Turn, sender: str, commit: Commit) -> None:
        """Not what comes late from another home: the federation of that name was taken for lost, and there is a new one."""
        federation = self.federations.get(commit.federation)
        if federation is None or federation.home != sender or commit.sequence <= federation.sequence:
            return
        heard = commit.caller is None or self._waiting.pop(commit.caller, None) is not None
        before = len(turn.effects)
        try:
            step = Step(turn, federation, federation.rti)
            self._carry_out(step, commit.caller, commit.federate, commit.service, commit.arguments, heard)
        except Exception as error:
            del turn.effects[before:]
            turn.everywhere = False
            doing = f"{commit.service}, which all nodes carry out"
            turn.effects.append(faults.fault(error, doing, peer=sender, federation=commit.federation))
            if commit.caller is not None and commit.caller.node == self.name and heard:
                refusal = faults.refusal(error, doing, self.name)
                turn.effects.append(Refuse(commit.caller.session, commit.caller.number, refusal))
            self._lose(turn, sender, commit.federation, federation.execution, error)
            return
        turn.everywhere = False
        early = self._early.pop(commit.federation, None)
        for origin, parcel in early or ():
            try:
                self._arrive(turn, origin, parcel)
            except Exception as error:
                self._stumbled(turn, origin, parcel, error)

    def _arrive(self, turn: Turn, sender: str, parcel: Early) -> None:
        federation = self.federations.get(parcel.federation)
        if federation is None:
            if self._joining(parcel.federation):
                # Others have heard of the newcomer before it has heard of its welcome, which takes another way.
                self._early.setdefault(parcel.federation, []).append((sender, parcel))
            return
        if parcel.after > federation.sequence and parcel.execution.startswith(federation.execution):
            # Of this execution, or of what it is about to be restored to.
            self._early.setdefault(parcel.federation, []).append((sender, parcel))
            return
        if parcel.execution != federation.execution:
            return
        step = Step(turn, federation, federation.rti)
        if isinstance(parcel, Mark):
            self._told(turn, sender, parcel)
        elif isinstance(parcel, Data):
            pipeline.arrive(step, parcel.message, parcel.only)
        elif isinstance(parcel, Ordered):
            if parcel.tag:
                federation.orders.arrive(step, sender, parcel)
            else:
                pipeline.arrive(step, parcel.message)
        elif isinstance(parcel, TimeReport):
            if federation.home == self.name:
                grants.reported(step, sender, parcel)
        elif isinstance(parcel, TimeBound):
            if federation.home == sender:
                grants.told(step, parcel)
        elif isinstance(parcel, Retraction):
            stamps.retracted(step, parcel.handle)
        elif isinstance(parcel, Settled):
            timed_changes.settled(step, sender, parcel)
        elif parcel.federate == federation.rti.handle:
            turn.everywhere = False
            step.tell_rti(parcel.method, parcel.arguments)
        else:
            member = federation.members.get(parcel.federate)
            removal = delivery_from(parcel.method, parcel.arguments)
            if member is not None and isinstance(removal, Removal):
                step.remove(member, removal)
            elif member is not None:
                step.callback(member, parcel.method, parcel.arguments)
