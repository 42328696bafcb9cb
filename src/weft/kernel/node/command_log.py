"""Commands: what changes all that the nodes of a federation know of it.

The home gives each its place, carries it out and tells the other nodes, which carry it out in the same order.  What one leads to,
for those who come and go and for the MOM, is here too.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation.founding import extended_model
from weft.kernel.federation.membership import join
from weft.kernel.federation.snapshot import snapshot
from weft.kernel.federation.snapshot_times import restore_log
from weft.kernel.mom import mom, mom_reports
from weft.kernel.mom.mom_services import GRANTED_ALONE, MOM_ADJUST
from weft.kernel.node import faults, pausing, recording_end
from weft.kernel.node.calls import JOIN, PendingCalls
from weft.kernel.node.multi_step import MultiStep
from weft.kernel.node.service_table import INTERNAL, RESIGN, RESIGN_LOST, SERVICES
from weft.kernel.qos import consumers
from weft.kernel.recording import call_rows
from weft.kernel.state.effects import Callback, Listen, Remember, Reply, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Caller, Commit, Invocation, Request, Welcome
from weft.kernel.state.sessions import NodeState
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, grants
from weft.model.errors import FederateNotExecutionMember, RTIexception
from weft.model.handles import FederateHandle


class Commands:
    def __init__(self, here: NodeState, calls: PendingCalls) -> None:
        self._here = here
        self._calls = calls
        self.multi_step = MultiStep(here, calls, self)
        self.schedule: consumers.ClassSchedule = {}  # how urgent classes are for federates that join here from now on
        self._replaying = False

    def order(self, step: Step, asked: Invocation) -> None:
        """Give a command its place in the federation's order: here if this is its home, else there."""
        federation = step.federation
        if federation.home == self._here.name:
            self.decide(step, asked)
            return
        request = Request(federation.name, *asked, federation.execution)
        if asked.caller is None:
            step.effects.append(Transmit(federation.home, request))
        else:
            self._calls.ask(step.turn, federation.home, asked.caller, request)

    def decide(self, step: Step, asked: Invocation) -> None:
        """At the home: carry a command out, or ask the other nodes first."""
        if not self.multi_step.asks_first(step, asked):
            self.carry_out(step, asked)

    def order_by_rti(self, step: Step, service: str, arguments: tuple[object, ...]) -> None:
        """As `order`, a command of the RTI itself."""
        self.order(step, Invocation(None, step.federation.rti.handle, service, arguments))

    def carry_out_by_rti(self, step: Step, service: str, arguments: tuple[object, ...]) -> None:
        """As `carry_out`, a command of the RTI itself."""
        self.carry_out(step, Invocation(None, step.federation.rti.handle, service, arguments))

    def on_behalf(
        self,
        step: Step,
        federate: FederateHandle,
        service: str,
        arguments: tuple[Any, ...],
    ) -> None:
        """A service that the MOM invokes in a federate's name, at the home, or, if only the federate's own node can judge it,
        there; one that is refused leaves nothing behind.
        """
        turn = step.turn
        before = len(step.effects)
        told = turn.told
        asked = Invocation(None, federate, service, arguments)
        try:
            if SERVICES[service].control:
                self.carry_out(step, asked)
            else:
                self._invoke(step, asked, False)
        except (RTIexception, TypeError, AttributeError) as error:
            del step.effects[before:]
            turn.told = told
            if isinstance(error, RTIexception):
                raise
            raise faults.wrong_type(service, error) from error

    def carry_out(self, step: Step, asked: Invocation, heard: bool = True) -> None:
        """Carry a command out here, and at the home also tell the other nodes to do so.

        `heard` is false where the caller is here but has been told that its call failed: its home was taken for gone.
        """
        caller, _, service, arguments = asked
        step.turn.everywhere = True
        reply: Reply | None = None
        if caller is not None and caller.node == self._here.name and heard:
            reply = Reply(caller.session, caller.number, None)
            step.effects.append(reply)
        value: Any
        if service == JOIN:
            assert caller is not None
            acting = self._join(step, caller, arguments)
            value = (acting.member.handle, acting.federation.time.name)
        else:
            acting, value = self._invoke(step, asked, reply is not None)
        if reply is not None:
            reply.value = value
        federation = acting.federation
        federation.sequence += 1
        if self._here.meshed and federation.home == self._here.name:
            self._tell_nodes(acting, asked)
        if service == JOIN:
            self._came(acting, arguments[2], heard)
        elif service in (RESIGN, RESIGN_LOST):
            fault = str(arguments[0]) if service == RESIGN_LOST else None
            self._went(acting, fault, caller)
        if federation.orders.flush is not None and not self._replaying:
            self.multi_step.flush(acting)
        if federation.channels.attended and not self._replaying:
            self._attend(acting)
        if federation.saves.saving is not None or federation.saves.restoring is not None:
            member = acting.member
            session = self._here.sessions.get(member.session) if member.node == self._here.name else None
            if session is not None:
                pausing.answered(session, service)
            if not self._replaying:
                self.multi_step.go_on(acting)

    def _invoke(self, step: Step, asked: Invocation, replies: bool) -> tuple[Step, object]:
        """Carry out what a member commands; return its step and the value of the service.

        The step is one of the successor if that has taken the place of the federation.  `replies`: the caller is here.
        """
        _, federate, service, arguments = asked
        federation = step.federation
        member = federation.members.get(federate) if federate is not None else None
        if federate == federation.rti.handle:
            member = federation.rti
        if member is None:
            raise FederateNotExecutionMember(f"the federate has resigned from {federation.name!r}")
        if federation.saves.saving is not None or federation.saves.restoring is not None:
            pausing.refuse_command(federation, member, service)
        acting = step if step.member is member else Step(step.turn, federation, member)
        observed = member.handle in federation.observed
        entry = SERVICES[service]
        value = entry.function(acting, *arguments)
        if federation.saves.successor is not None:
            acting = self._succeed(acting, federation.saves.successor)
            federation = acting.federation
            member = acting.member
        mom.commanded(acting, service, arguments)
        recorder = federation.recorder
        if recorder is not None:
            if entry.control:
                call_rows.carried_out(recorder, federation.sequence + 1)
            if member.node == self._here.name and not self._replaying and service not in INTERNAL:
                call_rows.called(acting, recorder, service, entry.group, arguments, value)
        if replies and (observed or member.handle in federation.observed):
            mom_reports.invoked(acting, member, service, entry.group, arguments, value)
        return acting, value

    def _succeed(self, step: Step, successor: Federation) -> Step:
        """The federation is restored: its successor takes its place, and so does the step that this returns."""
        member = successor.members[successor.saves.renamed[1][step.member.handle]]
        recorder = step.federation.recorder
        if recorder is not None and not self._replaying:
            recording_end.given_up(step, recorder, self._here.sessions)
        federation = pausing.succeed(step.federation, self._here.sessions)
        self._here.federations[federation.name] = federation
        restored = Step(step.turn, federation, member)
        restore_log(restored)
        grants.restored(restored)
        federation.qos.schedule = self.schedule
        consumers.restored(restored, self.schedule)
        return restored

    def _tell_nodes(self, step: Step, asked: Invocation) -> None:
        """At the home: the other nodes are to carry it out, too; and it is written down."""
        federation = step.federation
        commit = Commit(federation.name, federation.sequence, *asked)
        for node in federation.nodes:
            if node != self._here.name:
                step.effects.append(Transmit(node, commit))
        step.effects.append(Remember(federation.name, commit))

    def replay(self, federation: Federation, commits: list[Commit], now: float) -> Federation:
        """Carry the commits out once more; what they led to has happened, or comes to nothing."""
        self._replaying = True
        try:
            for commit in commits:
                if commit.sequence > federation.sequence:
                    step = Step(Turn(self._here.name, now), federation, federation.rti)
                    self.carry_out(step, commit.invocation())
                    federation = self._here.federations[commit.federation]
        finally:
            self._replaying = False
        return federation

    def _attend(self, step: Step) -> None:
        """What members here subscribe to may have changed, and with it the multicast groups that this node is to be in."""
        federation = step.federation
        if self._here.federations.get(federation.name) is federation:
            federation.channels.attend(step)
        elif federation.channels.multicast:
            step.effects.append(Listen(federation.name, ()))

    # --- those who come and go --------------------------------------------------------------------------------

    def _join(self, step: Step, caller: Caller, arguments: tuple[Any, ...]) -> Step:
        """A federate joins; return its first step."""
        federation = step.federation
        kind, name, sources = arguments
        newcomer = federation.home == self._here.name != caller.node and caller.node not in federation.nodes
        pausing.refuse_join(federation)
        model = extended_model(federation, sources)
        extends = model is not None and model is not federation.catalog.model
        before = snapshot(federation, step.now) if newcomer else None
        member = join(step, caller.node, caller.session, kind, name, model)
        if extends:
            federation.extensions.append(sources)
        if newcomer:
            federation.nodes[caller.node] = None
            welcome = Welcome(
                federation.name, federation.execution, self._here.name, federation.sequence, before
            )
            step.effects.append(Transmit(caller.node, welcome))
        if federation.recorder is not None:
            call_rows.carried_out(federation.recorder, federation.sequence + 1)
        return Step(step.turn, federation, member)

    def _came(self, step: Step, sources: Any, heard: bool) -> None:
        federation = step.federation
        member = step.member
        if federation.recorder is not None and not self._replaying:
            call_rows.came(step.turn, federation.recorder, member)
        mom.joined(step, sources)
        if federation.home == self._here.name:
            galt_exchange.publish(step)  # its node may be new
        if member.node == self._here.name:
            self._joined(step, heard)

    def _joined(self, step: Step, heard: bool) -> None:
        federation = step.federation
        member = step.member
        session = self._here.sessions.get(member.session)
        if self._replaying:
            return  # what became of it comes next, or it is lost with the process it was connected to
        if session is None or not heard:  # lost while its call was under way, or told that it failed
            fault = "its connection was lost while it joined"
            self.order(step, Invocation(None, member.handle, RESIGN_LOST, (fault,)))
        else:
            session.federation = federation
            session.member = member
            session.resigned = ""
            if session.evolved:
                self.order(step, Invocation(None, member.handle, MOM_ADJUST, (GRANTED_ALONE,)))
            federation.qos.schedule = self.schedule
            if self.schedule and consumers.concerns(self.schedule, federation, member):
                consumers.begin(federation, member, self.schedule)

    def _went(self, step: Step, fault: str | None, caller: Caller | None) -> None:
        """It has resigned, or was lost by that `fault`; it is told so unless it has asked for it or is gone."""
        federation = step.federation
        member = step.member
        if federation.recorder is not None and not self._replaying:
            call_rows.went(step.turn, federation.recorder, member, fault)
        mom.departed(step, fault)
        if member.node == self._here.name:
            if fault is None and caller is None:
                why = "resigned by another federate, through the MOM"
                step.effects.append(Callback(member.session, "federate_resigned", (why,)))
            elif fault is not None and member.session in self._here.sessions:
                self._here.sessions[member.session].resigned = fault
                step.effects.append(Callback(member.session, "federate_resigned", (fault,)))
        self._departed(federation, member)
        if federation.home == self._here.name:
            # After the other nodes were told of it: what they still hold of its instances goes with these, at each node.
            grants.settle(step)

    def _departed(self, federation: Federation, member: Member) -> None:
        """A member has left: its session is free again, and a node without members leaves the federation."""
        consumers.left(federation, member)
        if member.node == self._here.name:
            session = self._here.sessions.get(member.session)
            if session is not None and session.member is member:
                session.federation = None
                session.member = None
                pausing.leave(session)
        still_there = {other.node for other in federation.members.values()}
        if federation.home == self._here.name:
            for node in [n for n in federation.nodes if n != self._here.name and n not in still_there]:
                del federation.nodes[node]
                galt_exchange.node_gone(federation, node)
        elif self._here.name not in still_there:
            self._here.federations.pop(federation.name, None)
            self._calls.early.pop(federation.name, None)
