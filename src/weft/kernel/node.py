"""A node: the kernel's outermost ring.  Stimuli come in here, effects go out.

Stimuli: a federate's call, a parcel from another node, the loss of a federate's session or of another node, the passing
of time (`tick`, when `next_tick` says so), the end of what the host was asked to do (`stored`, `fetched`).  Each is handled in
one turn and returns its effects, in the order in which the host must carry them out; the reply to a call comes before any
callback it provokes.

Alone, a node is the home of all its federations.  In a mesh, one node is the *directory*: it knows which names are
taken and where their home is.  `weft.kernel.parcels` says how the nodes of a federation keep in step.
"""

from __future__ import annotations

from typing import Any

from weft.kernel import (
    advancing,
    changing,
    condemning,
    data_distribution,
    lanes,
    mom,
    mom_objects,
    mom_reports,
    path,
    pausing,
    qos,
    rates,
    recording,
    recording_calls,
    recording_told,
    restoring,
    saving,
    time_services,
    timed_saves,
    timetable,
    views,
)
from weft.kernel.causal import ORDERS_USED
from weft.kernel.effects import Callback, Effect, Listen, Refuse, Remember, Reply, Transmit
from weft.kernel.federations import extended_model
from weft.kernel.homes import JOIN, wrong_type
from weft.kernel.membership import join
from weft.kernel.parcels import (
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
    Welcome,
)
from weft.kernel.pauses import AskedSave
from weft.kernel.peers import Peers
from weft.kernel.services import INTERNAL, RESIGN, RESIGN_LOST, SERVICES
from weft.kernel.sessions import Session
from weft.kernel.snapshot import restored, snapshot
from weft.kernel.state import Federation, Member
from weft.kernel.status import status
from weft.kernel.turn import Turn
from weft.model.errors import (
    FederateAlreadyExecutionMember,
    FederateNotExecutionMember,
    NotConnected,
    RTIexception,
    RTIinternalError,
)
from weft.model.handles import FederateHandle
from weft.model.records import Source


class Node(Peers):
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

        `rid`: how federations that are created here distribute data to other nodes (`weft.kernel.channels`).
        """
        super().__init__(name, directory, reports, boot << 32, rid)
        self.holding = False  # callbacks are held for somebody here (`weft.kernel.pausing`)
        self.schedule: qos.ClassSchedule = {}  # how urgent classes are for federates that join here from now on
        self.records = False  # the host keeps a record of what federates do with callbacks that have a deadline (`Dispatch`)
        self.recordings: recording.Recordings | None = None  # if what happens here is to be recorded
        self._recorded: dict[str, Federation] = {}

    # --- sessions ---------------------------------------------------------------------------------------------

    def open_session(self) -> int:
        self._sessions_opened += 1
        self.sessions[self._sessions_opened] = Session(self._sessions_opened)
        return self._sessions_opened

    def close_session(self, session: int) -> None:
        """For a session whose federate has resigned, or never joined."""
        self.sessions.pop(session, None)

    def session_lost(self, session: int, now: float, fault: str = "its connection was lost") -> list[Effect]:
        """The federate is gone without resigning: its automatic resign directive says what becomes of its objects."""
        turn = Turn(self.name, now)
        gone = self.sessions.pop(session, None)
        if gone is not None and gone.federation is not None and gone.member is not None:
            self._order(turn, gone.federation, None, gone.member.handle, RESIGN_LOST, (fault,))
        return self._end(turn)

    def note_waiting(self, session: int, messages: int) -> None:
        """So many messages wait to be read by this federate, as its host sees it: the MOM's HLAROlength."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None:
            found.member.waiting = messages

    def report_waiting(self, session: int, now: float) -> list[Effect]:
        """A federate has become slow, or has caught up: those who watch its HLAROlength hear of it now."""
        turn = Turn(self.name, now)
        found = self.sessions.get(session)
        if found is not None and found.federation is not None and found.member is not None:
            turn.note(found.federation, found.member, "HLAROlength")
        return self._end(turn)

    # --- deadlines (weft.kernel.qos) --------------------------------------------------------------------------

    def attend(self, session: int) -> None:
        """What is for this federate can be sorted where it waits: it goes by no lane any more."""
        found = self.sessions.get(session)
        if found is not None and found.federation is not None and found.member is not None:
            qos.begin(found.federation, found.member, self.schedule)

    def began(self, session: int, ticket: int, now: float) -> list[Effect]:
        """The federate begins with a callback that has this ticket; for the record only."""
        turn = Turn(self.name, now)
        found = self.sessions.get(session)
        if found is not None and found.member is not None and found.member.qos is not None:
            found.member.qos.began(turn, ticket)
        return turn.effects

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
            waited = advancing.next_due(federation, self.name)
            missed = qos.next_due(federation) if federation.attended else None
            for due in (mom_objects.next_due(federation), rates.next_due(federation), waited, missed):
                if due is not None and (soonest is None or due < soonest):
                    soonest = due
        return soonest

    def tick(self, now: float) -> list[Effect]:
        turn = Turn(self.name, now)
        for federation in list(self.federations.values()):
            if federation.reports_due:
                mom_objects.report_due(turn, federation)
            if federation.paces is not None:
                rates.release(turn, federation)
            advancing.remind(turn, federation)
            for attended in list(federation.attended.values()):
                attended.tick(turn)
        return self._end(turn)

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
                raise FederateNotExecutionMember(
                    f"{service} needs a joined federate; join a federation first"
                )
            if entry.control:
                if timed_saves.is_timed(service, arguments):
                    timed_saves.prepare(self.name, federation, member, arguments)
                if service == "delete_object_instance" and len(arguments) > 2 and arguments[2] is not None:
                    arguments = condemning.prepare(federation, member, arguments)
                elif service in changing.PLACES:
                    if service == data_distribution.COMMIT:
                        arguments = data_distribution.prepare(federation, member, arguments)
                    arguments = changing.prepare(federation, member, service, number, arguments)
                elif service == "delete_region":
                    arguments = (*arguments, federation.horizon.past)
                self._order(
                    turn, federation, Caller(self.name, session, number), member.handle, service, arguments
                )
            else:
                reply = Reply(session, number, None)
                turn.effects.append(reply)
                reply.value = entry.function(turn, federation, member, *arguments)
                if federation.observed and member.handle in federation.observed:
                    mom_reports.invoked(
                        turn, federation, member, service, entry.group, arguments, reply.value
                    )
                if federation.recorder is not None and service not in recording_calls.SENDS:
                    recording_calls.called(
                        turn,
                        federation,
                        federation.recorder,
                        member,
                        service,
                        entry.group,
                        arguments,
                        reply.value,
                    )
        except RTIexception as error:
            return self._refuse(Turn(self.name, now), session, number, service, arguments, error)
        except (TypeError, AttributeError) as misfit:
            refusal = wrong_type(service, misfit)
            return self._refuse(Turn(self.name, now), session, number, service, arguments, refusal)
        if turn.told is None and not federation.observed and not self.holding and not turn.unfinished():
            if federation.recorder is not None and len(turn.effects) > 1:
                self._note(turn, turn.effects)
            return turn.effects
        return self._end(turn)

    def lane(
        self, session: int, service: str, target: bytes, handles: list[Any], now: float
    ) -> lanes.Lane | None:
        """The lane that a session's messages of one kind may take instead of `call`, if they may."""
        caller = self.sessions.get(session)
        if caller is None or caller.member is None or caller.federation is None:
            return None
        find = lanes.interaction_lane if service == "send_interaction" else lanes.update_lane
        return find(Turn(self.name, now), caller.federation, caller.member, target, handles)

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
            changing.refused(turn, caller.federation, caller.member, number)
            entry = SERVICES.get(service)
            group = "" if entry is None else entry.group
            if caller.federation.recorder is not None:
                recording_calls.refused(turn, caller.federation.recorder, caller.member, service, error)
            mom_reports.refused(turn, caller.federation, caller.member, service, group, arguments, error)
        return self._hold(turn)

    # --- the RTI as one that takes part (weft.kernel.mom) -----------------------------------------------------

    def _end(self, turn: Turn) -> list[Effect]:
        """The end of a turn: the RTI does what it was told, and reports what it is to report."""
        self._end_times(turn)
        while turn.told is not None:
            told = turn.told
            turn.told = None
            for federation, what, arguments, everywhere in told:
                if self.federations.get(federation.name) is not federation:
                    continue  # it was restored meanwhile, or left
                if what == ORDERS_USED:
                    self._order(turn, federation, None, federation.rti.handle, what, arguments)
                    continue
                node = mom.responsible(federation, what, arguments)
                if node == self.name:
                    mom.act(turn, federation, what, arguments, self._on_behalf)
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
                mom_reports.callbacks(turn, federation, list(turn.effects))
        effects = self._hold(turn)
        if self.recordings is not None:
            self._attend(self.recordings)
            self._note(turn, effects)
        return effects

    # --- recording (weft.kernel.recording) --------------------------------------------------------------------

    def record(self, recordings: recording.Recordings, now: float) -> None:
        """From now on, also what is already here."""
        self.stop_recording()
        self.recordings = recordings
        self._attend(recordings)
        for federation in self.federations.values():
            for member in federation.members.values():
                if federation.recorder is not None:
                    recording_calls.came(Turn(self.name, now), federation.recorder, member)

    @property
    def watched(self) -> bool:
        """Is it to be said (`began`) when a federate begins with a callback that has a ticket?"""
        return self.records or self.recordings is not None

    def stop_recording(self) -> None:
        for federation in self._recorded.values():
            federation.recorder = None
        self._recorded.clear()
        self.recordings = None

    def _attend(self, recordings: recording.Recordings) -> None:
        """Federations that have come are recorded from now on, those that have gone no more."""
        for name, federation in list(self._recorded.items()):
            if self.federations.get(name) is not federation:
                del self._recorded[name]
                recordings.end(federation)
        for name, federation in self.federations.items():
            if name not in self._recorded:
                self._recorded[name] = federation
                federation.recorder = recordings.begin(federation, self.name)

    def _note(self, turn: Turn, effects: list[Effect]) -> None:
        """The callbacks that this turn has led to, but for those that were recorded with what caused them."""
        for effect in effects:
            if isinstance(effect, Callback) and effect.number >= 0:
                session = self.sessions.get(effect.session)
                if session is None or session.federation is None or session.member is None:
                    continue
                recorder = session.federation.recorder
                if recorder is not None:
                    recording_told.given(turn, session.federation, recorder, session.member, effect)

    def handles(self, session: int, callback: Callback) -> None:
        """The federate takes a callback: what it does until it has handled it is caused by that."""
        found = self.sessions.get(session)
        if found is not None and found.member is not None:
            found.member.handling = callback

    def _end_times(self, turn: Turn) -> None:
        """What logical time asks for at the end of a turn (`weft.kernel.advancing`, `time_services`)."""
        while turn.orders is not None or turn.queued or turn.begins:
            if turn.queued:
                turn.queued = False
                for federation in list(self.federations.values()):
                    advancing.queued(turn, federation)
            orders, turn.orders = turn.orders, None
            for federation, member, command, arguments in orders or ():
                if self.federations.get(federation.name) is federation:
                    self._order(turn, federation, None, member.handle, command, arguments)
            if turn.begins and turn.orders is None:
                turn.begins = False
                for federation in list(self.federations.values()):
                    if federation.home == self.name and (
                        federation.timetable is not None or federation.save_scheduled is not None
                    ):
                        self._begin_times(turn, federation)

    def _begin_times(self, turn: Turn, federation: Federation) -> None:
        """At the home: those who may begin to regulate or to be constrained do, and saves at a logical time.

        Not while the federation is saved or restored: nodes have said by then what they know of their members' times.
        """
        timetable.publish(turn, federation)
        if federation.saving is None and federation.restoring is None:
            self._begin_to_take_part(turn, federation)
        if federation.save_asked or federation.save_scheduled is not None:
            self._schedule_saves(turn, federation)

    def _begin_to_take_part(self, turn: Turn, federation: Federation) -> None:
        rti = federation.rti.handle
        ready = timetable.ready_to_regulate(federation)
        while ready is not None:
            handle, time, exclusive = ready
            arguments = (handle.number, time, exclusive)
            self._carry_out(turn, federation, None, rti, time_services.REGULATION_BEGUN, arguments)
            ready = timetable.ready_to_regulate(federation)
        waits = time_services.ready_to_be_constrained(federation)
        while waits is not None:
            self._carry_out(turn, federation, None, rti, time_services.CONSTRAINED_BEGUN, (waits.number,))
            waits = time_services.ready_to_be_constrained(federation)

    # --- saves at a logical time (weft.kernel.timed_saves) ----------------------------------------------------

    def _asks_first(
        self,
        turn: Turn,
        federation: Federation,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
    ) -> bool:
        """At the home: is it the request of a save that other nodes must be asked about?  Then they are."""
        if caller is None or not timed_saves.is_timed(service, arguments):
            return False
        if federate not in federation.members or not timed_saves.must_ask(federation):
            error = timed_saves.passed(federation, arguments[1])
            if error is not None and federation.saving is None and federation.restoring is None:
                raise error
            return False
        asked = timed_saves.asking(arguments[0], arguments[1], federate, caller)
        self._carry_out(turn, federation, None, federation.rti.handle, timed_saves.SAVE_ASKED, asked)
        return True

    def _schedule_saves(self, turn: Turn, federation: Federation) -> None:
        """At the home: answer requests that all nodes have answered to, begin the save whose time has come."""
        asked = timed_saves.answered(federation)
        while asked is not None:
            self._answer_asked(turn, federation, asked)
            asked = timed_saves.answered(federation)
        if timed_saves.due(federation):
            timetable.publish(turn, federation)
            self._carry_out(turn, federation, None, federation.rti.handle, saving.SAVE_DUE, ())

    def _answer_asked(self, turn: Turn, federation: Federation, asked: AskedSave) -> None:
        arguments = (asked.label, asked.time)
        before = len(turn.effects)
        error = timed_saves.passed(federation, asked.time)
        try:
            if error is None:
                self._carry_out(
                    turn, federation, asked.caller, asked.federate, timed_saves.REQUEST, arguments
                )
                return
        except RTIexception as refusal:
            del turn.effects[before:]
            error = refusal
        rti = federation.rti.handle
        self._carry_out(turn, federation, None, rti, timed_saves.SAVE_REFUSED, tuple(asked.caller))
        self._refuse_asked(turn, asked, error)

    def _hold(self, turn: Turn) -> list[Effect]:
        """Let go what may go, while a federation is saved or restored."""
        if not turn.pauses and not self.holding:
            return turn.effects
        effects = pausing.hold(turn, self.sessions, turn.effects)
        self.holding = any(session.held is not None for session in self.sessions.values())
        return effects

    # --- save and restore (weft.kernel.pausing) ---------------------------------------------------------------

    def took(self, session: int, method: str) -> None:
        """The federate has taken a callback that pauses it (`pausing.PAUSES`): now it knows."""
        found = self.sessions.get(session)
        if found is not None:
            pausing.took(found, method)

    def stored(self, federation: str, execution: str, label: str, well: bool, now: float) -> list[Effect]:
        """The host has written a save, or could not."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution and saving.is_writing(found, label):
            self._carry_out(turn, found, None, found.rti.handle, saving.SAVE_ENDED, (well,))
        return self._end(turn)

    def fetched(self, federation: str, execution: str, label: str, data: Any, now: float) -> list[Effect]:
        """The host has found a save (None: it has not)."""
        turn = Turn(self.name, now)
        found = self.federations.get(federation)
        if found is not None and found.execution == execution and restoring.is_pending(found, label):
            arguments = restoring.decision(turn, found, label, data)
            self._carry_out(turn, found, None, found.rti.handle, restoring.RESTORE_DECIDED, arguments)
        return self._end(turn)

    def _go_on(self, turn: Turn, federation: Federation) -> None:
        """What a save or restore that is under way needs next."""
        store = pausing.go_on(turn, federation, self.sessions)
        if store is not None:
            self._carry_out(turn, federation, None, federation.rti.handle, saving.SAVE_WRITING, ())
            turn.effects.append(store)

    def _told(self, turn: Turn, sender: str, parcel: Mark | Share) -> None:
        federation = self.federations.get(parcel.federation)
        if federation is None:
            return
        if pausing.told(federation, sender, parcel):
            self._go_on(turn, federation)
        elif views.told(federation, sender, parcel):
            self._flush(turn, federation)

    def _flush(self, turn: Turn, federation: Federation) -> None:
        """What the end of a view that is under way needs next (`weft.kernel.views`)."""
        if views.go_on(turn, federation):
            self._carry_out(turn, federation, None, federation.rti.handle, views.VIEW_BEGINS, ())
        elif views.ask_again(federation):
            view = federation.orders.view
            self._order(turn, federation, None, federation.rti.handle, views.VIEW_ENDS, (view,))

    def _on_behalf(
        self,
        turn: Turn,
        federation: Federation,
        federate: FederateHandle,
        service: str,
        arguments: tuple[Any, ...],
    ) -> None:
        """At the home: a service that the MOM invokes in a federate's name; one that is refused leaves nothing behind."""
        before = len(turn.effects)
        told = turn.told
        try:
            self._carry_out(turn, federation, None, federate, service, arguments)
        except (RTIexception, TypeError, AttributeError) as error:
            del turn.effects[before:]
            turn.told = told
            if isinstance(error, RTIexception):
                raise
            raise wrong_type(service, error) from error

    def _order(
        self,
        turn: Turn,
        federation: Federation,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
    ) -> None:
        """Give a command its place in the federation's order: here if this is its home, else there."""
        if federation.home == self.name:
            if not self._asks_first(turn, federation, caller, federate, service, arguments):
                self._carry_out(turn, federation, caller, federate, service, arguments)
        elif caller is None:
            request = Request(federation.name, None, federate, service, arguments, federation.execution)
            turn.effects.append(Transmit(federation.home, request))
        else:
            request = Request(federation.name, caller, federate, service, arguments, federation.execution)
            self._ask(turn, federation.home, caller, request)

    def _carry_out(
        self,
        turn: Turn,
        federation: Federation,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
        heard: bool = True,
    ) -> None:
        """Carry a command out here, and at the home also tell the other nodes to do so.

        `heard` is false where the caller is here but has been told that its call failed: its home was taken for gone.
        """
        turn.everywhere = True
        reply: Reply | None = None
        if caller is not None and caller.node == self.name and heard:
            reply = Reply(caller.session, caller.number, None)
            turn.effects.append(reply)
        member: Member | None = None
        value: Any
        if service == JOIN:
            assert caller is not None
            member = self._join(turn, federation, caller, arguments)
            value = (member.handle, federation.time.name)
        else:
            member = federation.members.get(federate) if federate is not None else None
            if federate == federation.rti.handle:
                member = federation.rti
            if member is None:
                raise FederateNotExecutionMember(f"the federate has resigned from {federation.name!r}")
            if federation.saving is not None or federation.restoring is not None:
                pausing.refuse_command(federation, member, service)
            observed = member.handle in federation.observed
            entry = SERVICES[service]
            if entry.control or federation.home == self.name:
                value = entry.function(turn, federation, member, *arguments)
            else:
                value = self._do_locally(turn, federation, member, service, arguments)
            if federation.successor is not None:
                member = federation.successor.members[federation.successor.renamed[1][member.handle]]
                federation = pausing.succeed(federation, self.sessions)
                self.federations[federation.name] = federation
                changing.restored(turn, federation)
                advancing.restored(turn, federation)
                federation.schedule, federation.dispatches = self.schedule, self.records
                qos.restored(turn, federation, self.schedule)
            mom.commanded(turn, federation, member, service, arguments)
            recorder = federation.recorder
            silent = self._replaying or service in INTERNAL
            if recorder is not None and member.node == self.name and not silent:
                recording_calls.called(
                    turn, federation, recorder, member, service, entry.group, arguments, value
                )
            if reply is not None and (observed or member.handle in federation.observed):
                mom_reports.invoked(turn, federation, member, service, entry.group, arguments, value)
        if reply is not None:
            reply.value = value
        federation.sequence += 1
        if self.meshed and federation.home == self.name:
            commit = Commit(
                federation.name,
                federation.sequence,
                caller,
                federate,
                service,
                arguments,
            )
            for node in federation.nodes:
                if node != self.name:
                    turn.effects.append(Transmit(node, commit))
            turn.effects.append(Remember(federation.name, commit))
        if federation.recorder is not None and not self._replaying:
            if service == JOIN:
                recording_calls.came(turn, federation.recorder, member)
            elif service in (RESIGN, RESIGN_LOST):
                fault = str(arguments[0]) if service == RESIGN_LOST else None
                recording_calls.went(turn, federation.recorder, member, fault)
        if service == JOIN:
            mom.joined(turn, federation, member, arguments[2])
            if federation.home == self.name:
                timetable.publish(turn, federation)  # its node may be new
        elif service in (RESIGN, RESIGN_LOST):
            fault = str(arguments[0]) if service == RESIGN_LOST else None
            mom.departed(turn, federation, member, fault)
        if service == JOIN and member.node == self.name:
            self._joined(turn, federation, member, heard)
        elif service in (RESIGN, RESIGN_LOST):
            if service == RESIGN and caller is None and member.node == self.name:
                why = "resigned by another federate, through the MOM"
                turn.effects.append(Callback(member.session, "federate_resigned", (why,)))
            elif service == RESIGN_LOST and member.node == self.name and member.session in self.sessions:
                turn.effects.append(Callback(member.session, "federate_resigned", (str(arguments[0]),)))
            self._departed(federation, member)
        if federation.orders.flush is not None and not self._replaying:
            self._flush(turn, federation)
        if federation.channels.multicast and not self._replaying:
            self._listen(turn, federation)
        if federation.saving is not None or federation.restoring is not None:
            session = self.sessions.get(member.session) if member.node == self.name else None
            if session is not None:
                pausing.answered(session, service)
            if not self._replaying:
                self._go_on(turn, federation)

    def _listen(self, turn: Turn, federation: Federation) -> None:
        """What members here subscribe to may have changed, and with it the multicast groups that this node is to be in."""
        if self.federations.get(federation.name) is federation:
            federation.channels.listen(turn, federation)
        else:
            turn.effects.append(Listen(federation.name, ()))

    def _do_locally(
        self, turn: Turn, federation: Federation, member: Member, service: str, arguments: tuple[Any, ...]
    ) -> Any:
        """A service that only the member's own node can judge, invoked by the MOM: the home could not refuse it."""
        try:
            return SERVICES[service].function(turn, federation, member, *arguments)
        except RTIexception as error:
            if member.node == self.name:
                entry = SERVICES[service]
                mom_reports.refused(turn, federation, member, service, entry.group, arguments, error)
            return None

    def _join(self, turn: Turn, federation: Federation, caller: Caller, arguments: tuple[Any, ...]) -> Member:
        kind, name, sources = arguments
        newcomer = federation.home == self.name != caller.node and caller.node not in federation.nodes
        pausing.refuse_join(federation)
        model = extended_model(federation, sources)
        extends = model is not None and model is not federation.catalog.model
        before = snapshot(federation, turn.now) if newcomer else None
        member = join(turn, federation, caller.node, caller.session, kind, name, model)
        if extends:
            federation.extensions.append(sources)
        if newcomer:
            federation.nodes[caller.node] = None
            welcome = Welcome(federation.name, federation.execution, self.name, federation.sequence, before)
            turn.effects.append(Transmit(caller.node, welcome))
        return member

    def _joined(self, turn: Turn, federation: Federation, member: Member, heard: bool) -> None:
        session = self.sessions.get(member.session)
        if self._replaying:
            return  # what became of it comes next, or it is lost with the process it was connected to
        if session is None or not heard:  # lost while its call was under way, or told that it failed
            fault = "its connection was lost while it joined"
            self._order(turn, federation, None, member.handle, RESIGN_LOST, (fault,))
        else:
            session.federation = federation
            session.member = member
            federation.schedule, federation.dispatches = self.schedule, self.records
            if self.schedule and qos.concerns(self.schedule, federation, member):
                qos.begin(federation, member, self.schedule)

    def _departed(self, federation: Federation, member: Member) -> None:
        """A member has left: its session is free again, and a node without members leaves the federation."""
        qos.left(federation, member)
        if member.node == self.name:
            session = self.sessions.get(member.session)
            if session is not None and session.member is member:
                session.federation = None
                session.member = None
                pausing.leave(session)
        still_there = {other.node for other in federation.members.values()}
        if federation.home == self.name:
            for node in [n for n in federation.nodes if n != self.name and n not in still_there]:
                del federation.nodes[node]
                timetable.node_gone(federation, node)
        elif self.name not in still_there:
            self.federations.pop(federation.name, None)
            self._early.pop(federation.name, None)

    # --- federation management (clauses 4.5 to 4.11) ----------------------------------------------------------

    def _manage(
        self, turn: Turn, session: Session, number: int, service: str, arguments: tuple[Any, ...]
    ) -> None:
        caller = Caller(self.name, session.number, number)
        if service == "create_federation_execution":
            self._create(turn, caller, arguments)
        elif service == "query_status":
            turn.effects.append(Reply(session.number, number, status(self.federations, self.name, turn.now)))
        elif service == "list_federation_executions":
            self._seek(turn, self.directory, caller, Request("", caller, None, service, ()))
        elif service in (JOIN, "destroy_federation_execution", "list_federation_execution_members"):
            name, *rest = arguments
            if service == JOIN:
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
        """A parcel from another node.  Parcels of one sender come in the order in which they were sent."""
        turn = Turn(self.name, now)
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
        return self._end(turn)

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
        self._carry_out(
            turn, federation, commit.caller, commit.federate, commit.service, commit.arguments, heard
        )
        turn.everywhere = False
        early = self._early.pop(commit.federation, None)
        for sender, parcel in early or ():
            self._arrive(turn, sender, parcel)

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
        elif parcel.execution != federation.execution:
            return
        elif isinstance(parcel, Mark):
            self._told(turn, sender, parcel)
        elif isinstance(parcel, Data):
            path.arrive(turn, federation, parcel)
        elif isinstance(parcel, Ordered):
            federation.orders.arrive(turn, federation, sender, parcel)
        elif isinstance(parcel, TimeReport):
            if federation.home == self.name:
                advancing.reported(turn, federation, sender, parcel)
        elif isinstance(parcel, TimeBound):
            if federation.home == sender:
                advancing.told(turn, federation, parcel)
        elif isinstance(parcel, Retraction):
            time_services.retracted(turn, federation, parcel.handle)
        elif isinstance(parcel, Settled):
            changing.settled(turn, federation, sender, parcel)
        elif parcel.federate == federation.rti.handle:
            turn.everywhere = False
            turn.tell_rti(federation, parcel.method, parcel.arguments)
        else:
            member = federation.members.get(parcel.federate)
            if member is not None:
                turn.callback(federation, member, parcel.method, parcel.arguments)
