"""Who is at home where: federations are created, found and destroyed.

The *directory* knows which names are taken and where their home is; a home carries requests out for all nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.kernel.ddm.channels import lacking
from weft.kernel.federation.founding import found
from weft.kernel.federation.operator import STEER
from weft.kernel.federation.snapshot import restored
from weft.kernel.node import faults
from weft.kernel.node.calls import PendingCalls
from weft.kernel.node.command_log import Commands
from weft.kernel.state import preconditions
from weft.kernel.state.effects import Named, Refuse, Remember, Reply, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import (
    Answer,
    Caller,
    Claim,
    Dissolve,
    Invocation,
    Locate,
    Release,
    Request,
    Welcome,
)
from weft.kernel.state.sessions import NodeState, Waiting
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.errors import (
    FederateNotExecutionMember,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    RTIexception,
    SettingsError,
)
from weft.model.records import FederationExecutionInformation, FederationExecutionMemberInformation, Source


class Directory:
    """At the directory: which names are taken, and where their home is."""

    def __init__(self, here: NodeState) -> None:
        self._here = here
        self.homes: dict[str, tuple[str, str]] = {}  # name -> home, time implementation

    def name(self, turn: Turn, federation: str, home: str, time: str) -> None:
        self.homes[federation] = (home, time)
        if self._here.meshed:
            turn.effects.append(Named(federation, home, time))

    def unname(self, turn: Turn, federation: str) -> None:
        if self.homes.pop(federation, None) is not None and self._here.meshed:
            turn.effects.append(Named(federation, "", ""))

    def unname_others(self, turn: Turn, home: str, still: Iterable[str] = ()) -> None:
        """The names that have their home there, but for those."""
        for name in [n for n, (at, _) in self.homes.items() if at == home and n not in still]:
            self.unname(turn, name)

    def grant(self, turn: Turn, sender: str, claim: Claim) -> None:
        error: Exception | None = None
        taken = self.homes.get(claim.federation)
        if taken is not None and claim.caller is None:
            if taken[0] != sender:
                why = f"its name was given to a federation at node {taken[0]!r} while its home {sender!r} was away"
                turn.effects.append(Transmit(sender, Dissolve(claim.federation, "", why)))
        elif taken is not None:
            error = FederationExecutionAlreadyExists(
                f"a federation execution named {claim.federation!r} exists"
            )
        else:
            self.name(turn, claim.federation, sender, claim.time_implementation)
        if claim.caller is not None:
            turn.effects.append(Transmit(sender, Answer(claim.caller, None, error)))

    def released(self, turn: Turn, sender: str, parcel: Release) -> None:
        if parcel.federation in self.homes and self.homes[parcel.federation][0] == sender:
            self.unname(turn, parcel.federation)
        turn.effects.append(Transmit(sender, Answer(parcel.caller, None, None)))

    def locate(self, turn: Turn, parcel: Locate) -> None:
        home = self.homes.get(parcel.federation)
        turn.effects.append(Transmit(parcel.caller.node, Answer(parcel.caller, home and home[0], None)))


class Executions:
    """Federations are created, found and destroyed; a home carries out what others request."""

    def __init__(
        self,
        here: NodeState,
        directory: Directory,
        calls: PendingCalls,
        commands: Commands,
        first: int,
        reports: str,
        rid: Source | None,
    ) -> None:
        self._here = here
        self._directory = directory
        self._calls = calls
        self._commands = commands
        self._reports = reports
        self._rid = rid
        self.founded = first

    def _open(self, step: Step) -> None:
        federation = step.federation
        self._here.federations[federation.name] = federation
        self.remember(step.turn, federation.name)

    def welcomed(self, welcome: Welcome) -> Federation:
        """A federation that has its home elsewhere, or had it here before this node was started again."""
        again = welcome.home == self._here.name
        why = lacking(welcome.data.get("strategy"), self._here.name, welcome.federation, again)
        if why:
            raise SettingsError(why)
        federation = restored(welcome.data)
        federation.execution = welcome.execution
        federation.home = federation.rti.node = welcome.home
        federation.sequence = welcome.sequence
        federation.mom.due.clear()  # the nodes of the members see to that
        federation.mom.reports = self._reports
        self._here.federations[welcome.federation] = federation
        return federation

    def remember(self, turn: Turn, federation: str) -> None:
        """A federation at home here has begun, ended or come back."""
        if self._here.meshed:
            turn.effects.append(Remember(federation, None))

    # --- from here --------------------------------------------------------------------------------------------

    def create(self, turn: Turn, caller: Caller, arguments: tuple[Any, ...]) -> None:
        name = arguments[0]
        preconditions.name("a federation execution", name)
        if name in self._here.federations or name in self._directory.homes:
            raise FederationExecutionAlreadyExists(f"a federation execution named {name!r} exists")
        self.founded += 1
        execution = f"{self._here.name}/{turn.now}/{self.founded}"
        federation = found(name, execution, self._here.name, (*arguments[1:], self._rid))
        federation.mom.reports = self._reports
        if self._here.is_directory():
            self._directory.name(turn, name, self._here.name, federation.time.name)
            self._open(Step(turn, federation, federation.rti))
            turn.effects.append(Reply(caller.session, caller.number, None))
        else:
            claim = Claim(name, federation.time.name, caller)
            self._calls.wait(turn, caller, Waiting(self._here.directory, created=federation), claim)

    def seek_home(self, turn: Turn, caller: Caller, request: Request) -> None:
        """Send a request to the home of its federation, asking the directory where that is if need be."""
        federation = self._here.federations.get(request.federation)
        if federation is not None:
            self.seek(turn, federation.home, caller, request)
        elif self._here.is_directory():
            # Of a name that nobody has, this node says that it does not exist.
            home = self._directory.homes.get(request.federation)
            self.seek(turn, self._here.name if home is None else home[0], caller, request)
        else:
            locate = Locate(request.federation, caller)
            self._calls.wait(turn, caller, Waiting(self._here.directory, request=request), locate)

    def seek(self, turn: Turn, node: str, caller: Caller, request: Request) -> None:
        if node == self._here.name:
            self._decide(turn, request)
        else:
            self._calls.ask(turn, node, caller, request)

    def _decide(self, turn: Turn, request: Request) -> None:
        """At the home (or the directory): carry a request out or raise."""
        service = request.service
        name = request.federation
        if service == "list_federation_executions":
            report = frozenset(
                FederationExecutionInformation(n, time) for n, (_, time) in self._directory.homes.items()
            )
            self._calls.answer(turn, request.caller, (("report_federation_executions", (report,)),))
            return
        federation = self._here.federations.get(name)
        if service == "list_federation_execution_members":
            self._calls.answer(turn, request.caller, (self._members_report(name, federation),))
            return
        if federation is None or federation.home != self._here.name:
            raise FederationExecutionDoesNotExist(f"there is no federation execution named {name!r}")
        step = Step(turn, federation, federation.rti)
        if service == "destroy_federation_execution":
            self._destroy(step, request.caller)
        elif service == STEER:
            self._commands.multi_step.steer(step, request)
        else:
            federate = request.federate
            execution, renamed = federation.saves.renamed
            if federate is not None and request.execution and request.execution == execution:
                federate = renamed.get(federate)  # it was asked before the federation was restored
            elif request.execution and request.execution != federation.execution:
                raise FederateNotExecutionMember(f"the federate was in an earlier federation named {name!r}")
            self._commands.decide(step, Invocation(request.caller, federate, service, request.arguments))

    def _members_report(self, name: str, federation: Federation | None) -> tuple[str, tuple[object, ...]]:
        if federation is None:
            return "report_federation_execution_does_not_exist", (name,)
        report = frozenset(
            FederationExecutionMemberInformation(m.name, m.kind) for m in federation.members.values()
        )
        return "report_federation_execution_members", (name, report)

    def _destroy(self, step: Step, caller: Caller | None) -> None:
        """Answered when the name is free at the directory, so that it can be used again at once."""
        turn = step.turn
        federation = step.federation
        if federation.members:
            who = ", ".join(repr(member) for member in federation.members.values())
            raise FederatesCurrentlyJoined(f"{federation.name!r} still has {who}")
        del self._here.federations[federation.name]
        self.remember(turn, federation.name)
        if self._here.is_directory():
            self._directory.unname(turn, federation.name)
        elif self._here.directory not in self._calls.lost and caller is not None:
            self._calls.waiting[caller] = Waiting(self._here.directory, destroyed=True)
            step.effects.append(Transmit(self._here.directory, Release(federation.name, caller)))
            return
        self._calls.answer(turn, caller, ())

    # --- from other nodes -------------------------------------------------------------------------------------

    def serve(self, turn: Turn, request: Request) -> None:
        if request.federation not in self._here.federations:
            for waiting in self._calls.waiting.values():
                if waiting.created is not None and waiting.created.name == request.federation:
                    waiting.held.append(request)  # the directory has told others sooner than us
                    return
        before = len(turn.effects)
        told, orders = turn.told, turn.orders
        try:
            self._decide(turn, request)
        except Exception as error:
            del turn.effects[before:]
            turn.told, turn.orders = told, orders
            if isinstance(error, RTIexception):
                refusal = error
            elif isinstance(error, (TypeError, AttributeError)):
                refusal = faults.wrong_type(request.service, error)
            else:
                refusal = faults.refusal(error, request.service, self._here.name)
                turn.effects.append(faults.fault(error, request.service, federation=request.federation))
            if request.caller is not None:
                turn.effects.append(Transmit(request.caller.node, Answer(request.caller, None, refusal)))

    def answered(self, turn: Turn, answer: Answer) -> None:
        caller = answer.caller
        waiting = self._calls.waiting.pop(caller, None)
        if waiting is None:
            claimed = self._calls.abandoned.pop(caller, "")
            if claimed and answer.error is None:  # nobody has opened it, and nobody else could
                turn.effects.append(Transmit(self._here.directory, Release(claimed, caller)))
            return
        if answer.error is not None:
            asked = waiting.asked
            service, arguments = ("", ()) if asked is None else (asked.service, asked.arguments)
            if asked is not None:
                self._calls.forget_early(asked.federation)
            self._calls.refuse(turn, caller.session, caller.number, service, arguments, answer.error)
        elif waiting.created is not None:
            self._open(Step(turn, waiting.created, waiting.created.rti))
            turn.effects.append(Reply(caller.session, caller.number, None))
        elif waiting.request is not None:
            self._located(turn, caller, waiting.request, answer.value)
        else:
            self._calls.answer(turn, caller, answer.callbacks, answer.value)
        for request in waiting.held:
            self.serve(turn, request)

    def _located(self, turn: Turn, caller: Caller, request: Request, home: str | None) -> None:
        if home is not None:
            try:
                self.seek(turn, home, caller, request)
            except RTIexception as refusal:
                turn.effects.clear()
                turn.effects.append(Refuse(caller.session, caller.number, refusal))
        elif request.service == "list_federation_execution_members":
            self._calls.answer(turn, caller, (self._members_report(request.federation, None),))
        else:
            error = FederationExecutionDoesNotExist(
                f"there is no federation execution named {request.federation!r}"
            )
            turn.effects.append(Refuse(caller.session, caller.number, error))
