"""Who is at home where, and calls that another node has to answer.

The *directory* knows which names are taken and where their home is; a home carries requests out for all nodes.  `Homes` is the
part of a node (`node.node`) that creates, finds and destroys federations.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation.founding import found
from weft.kernel.federation.operator import STEER
from weft.kernel.node import faults
from weft.kernel.state import preconditions
from weft.kernel.state.effects import Callback, Named, Refuse, Remember, Reply, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Answer, Caller, Claim, Dissolve, Early, Locate, Release, Request
from weft.kernel.state.sessions import Session, Waiting
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.errors import (
    TRY_AGAIN,
    FederateNotExecutionMember,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    RTIexception,
    RTIinternalError,
)
from weft.model.handles import FederateHandle
from weft.model.records import FederationExecutionInformation, FederationExecutionMemberInformation, Source

JOIN = "join_federation_execution"


class Homes:
    def __init__(
        self, name: str, directory: str | None, reports: str, first: int, rid: Source | None
    ) -> None:
        self.name = name
        self.rid = rid
        self.reports = reports
        self.directory = directory or name
        self.meshed = directory is not None
        self.sessions: dict[int, Session] = {}
        self.federations: dict[str, Federation] = {}
        self.homes: dict[str, tuple[str, str]] = {}  # at the directory: name -> home, time implementation
        self._sessions_opened = first
        self._founded = first
        self._waiting: dict[Caller, Waiting] = {}
        self._lost: dict[str, None] = {}  # nodes that went away and have not come back
        self._abandoned: dict[Caller, str] = {}  # names that were claimed for a call that has been refused
        self._early: dict[str, list[tuple[str, Early]]] = {}  # parcels that wait for a commit

    # --- what the whole node does -----------------------------------------------------------------------------

    def _carry_out(
        self,
        step: Step,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
        heard: bool = True,
    ) -> None:
        raise NotImplementedError

    def _order(
        self,
        step: Step,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
    ) -> None:
        raise NotImplementedError

    def _asks_first(
        self,
        step: Step,
        caller: Caller | None,
        federate: FederateHandle | None,
        service: str,
        arguments: tuple[Any, ...],
    ) -> bool:
        raise NotImplementedError

    def _steer(self, step: Step, request: Request) -> None:
        raise NotImplementedError

    def _refuse(
        self,
        turn: Turn,
        session: int,
        number: int,
        service: str,
        arguments: tuple[Any, ...],
        error: Exception,
    ) -> Any:
        raise NotImplementedError

    # --- the directory ----------------------------------------------------------------------------------------

    def _name(self, turn: Turn, federation: str, home: str, time: str) -> None:
        self.homes[federation] = (home, time)
        if self.meshed:
            turn.effects.append(Named(federation, home, time))

    def _unname(self, turn: Turn, federation: str) -> None:
        if self.homes.pop(federation, None) is not None and self.meshed:
            turn.effects.append(Named(federation, "", ""))

    def _opened(self, step: Step) -> None:
        federation = step.federation
        self.federations[federation.name] = federation
        self._remember(step.turn, federation.name)

    def _remember(self, turn: Turn, federation: str) -> None:
        """A federation at home here has begun, ended or come back."""
        if self.meshed:
            turn.effects.append(Remember(federation, None))

    # --- from here --------------------------------------------------------------------------------------------

    def _create(self, turn: Turn, caller: Caller, arguments: tuple[Any, ...]) -> None:
        name = arguments[0]
        preconditions.name("a federation execution", name)
        if name in self.federations or name in self.homes:
            raise FederationExecutionAlreadyExists(f"a federation execution named {name!r} exists")
        self._founded += 1
        execution = f"{self.name}/{turn.now}/{self._founded}"
        federation = found(name, execution, self.name, (*arguments[1:], self.rid))
        federation.reports = self.reports
        if self.directory == self.name:
            self._name(turn, name, self.name, federation.time.name)
            self._opened(Step(turn, federation, federation.rti))
            turn.effects.append(Reply(caller.session, caller.number, None))
        else:
            claim = Claim(name, federation.time.name, caller)
            self._await(turn, caller, Waiting(self.directory, created=federation), claim)

    def _seek_home(self, turn: Turn, caller: Caller, request: Request) -> None:
        """Send a request to the home of its federation, asking the directory where that is if need be."""
        federation = self.federations.get(request.federation)
        if federation is not None:
            self._seek(turn, federation.home, caller, request)
        elif self.directory == self.name:
            # Of a name that nobody has, this node says that it does not exist.
            home = self.homes.get(request.federation)
            self._seek(turn, self.name if home is None else home[0], caller, request)
        else:
            locate = Locate(request.federation, caller)
            self._await(turn, caller, Waiting(self.directory, request=request), locate)

    def _seek(self, turn: Turn, node: str, caller: Caller, request: Request) -> None:
        if node == self.name:
            self._decide(turn, request)
        else:
            self._ask(turn, node, caller, request)

    def _ask(self, turn: Turn, node: str, caller: Caller, request: Request) -> None:
        self._await(turn, caller, Waiting(node, asked=request), request)

    def _await(self, turn: Turn, caller: Caller, waiting: Waiting, parcel: Claim | Locate | Request) -> None:
        if waiting.node in self._lost:
            raise RTIinternalError(f"node {waiting.node!r} went away and has not come back; {TRY_AGAIN}")
        self._waiting[caller] = waiting
        turn.effects.append(Transmit(waiting.node, parcel))

    def _decide(self, turn: Turn, request: Request) -> None:
        """At the home (or the directory): carry a request out or raise."""
        service = request.service
        name = request.federation
        if service == "list_federation_executions":
            report = frozenset(FederationExecutionInformation(n, time) for n, (_, time) in self.homes.items())
            self._answer(turn, request.caller, (("report_federation_executions", (report,)),))
            return
        federation = self.federations.get(name)
        if service == "list_federation_execution_members":
            self._answer(turn, request.caller, (self._members_report(name, federation),))
            return
        if federation is None or federation.home != self.name:
            raise FederationExecutionDoesNotExist(f"there is no federation execution named {name!r}")
        step = Step(turn, federation, federation.rti)
        if service == "destroy_federation_execution":
            self._destroy(step, request.caller)
        elif service == STEER:
            self._steer(step, request)
        else:
            federate = request.federate
            execution, renamed = federation.renamed
            if federate is not None and request.execution and request.execution == execution:
                federate = renamed.get(federate)  # it was asked before the federation was restored
            elif request.execution and request.execution != federation.execution:
                raise FederateNotExecutionMember(f"the federate was in an earlier federation named {name!r}")
            if not self._asks_first(step, request.caller, federate, service, request.arguments):
                self._carry_out(step, request.caller, federate, service, request.arguments)

    def _members_report(self, name: str, federation: Federation | None) -> tuple[str, tuple[Any, ...]]:
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
        del self.federations[federation.name]
        self._remember(turn, federation.name)
        if self.directory == self.name:
            self._unname(turn, federation.name)
        elif self.directory not in self._lost and caller is not None:
            self._waiting[caller] = Waiting(self.directory, destroyed=True)
            step.effects.append(Transmit(self.directory, Release(federation.name, caller)))
            return
        self._answer(turn, caller, ())

    def _answer(
        self,
        turn: Turn,
        caller: Caller | None,
        callbacks: tuple[tuple[str, tuple[Any, ...]], ...],
        value: Any = None,
    ) -> None:
        if caller is None:
            return
        if caller.node != self.name:
            turn.effects.append(Transmit(caller.node, Answer(caller, value, None, callbacks)))
            return
        turn.effects.append(Reply(caller.session, caller.number, value))
        for method, arguments in callbacks:
            turn.effects.append(Callback(caller.session, method, arguments))

    # --- from other nodes -------------------------------------------------------------------------------------

    def _serve(self, turn: Turn, request: Request) -> None:
        if request.federation not in self.federations:
            for waiting in self._waiting.values():
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
                refusal = wrong_type(request.service, error)
            else:
                refusal = faults.refusal(error, request.service, self.name)
                turn.effects.append(faults.fault(error, request.service, federation=request.federation))
            if request.caller is not None:
                turn.effects.append(Transmit(request.caller.node, Answer(request.caller, None, refusal)))

    def _grant(self, turn: Turn, sender: str, claim: Claim) -> None:
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
            self._name(turn, claim.federation, sender, claim.time_implementation)
        if claim.caller is not None:
            turn.effects.append(Transmit(sender, Answer(claim.caller, None, error)))

    def _released(self, turn: Turn, sender: str, parcel: Release) -> None:
        if parcel.federation in self.homes and self.homes[parcel.federation][0] == sender:
            self._unname(turn, parcel.federation)
        turn.effects.append(Transmit(sender, Answer(parcel.caller, None, None)))

    def _locate(self, turn: Turn, parcel: Locate) -> None:
        home = self.homes.get(parcel.federation)
        turn.effects.append(Transmit(parcel.caller.node, Answer(parcel.caller, home and home[0], None)))

    def _answered(self, turn: Turn, answer: Answer) -> None:
        caller = answer.caller
        waiting = self._waiting.pop(caller, None)
        if waiting is None:
            claimed = self._abandoned.pop(caller, "")
            if claimed and answer.error is None:  # nobody has opened it, and nobody else could
                turn.effects.append(Transmit(self.directory, Release(claimed, caller)))
            return
        if answer.error is not None:
            asked = waiting.asked
            service, arguments = ("", ()) if asked is None else (asked.service, asked.arguments)
            if asked is not None:
                self._forget_early(asked.federation)
            self._refuse(turn, caller.session, caller.number, service, arguments, answer.error)
        elif waiting.created is not None:
            self._opened(Step(turn, waiting.created, waiting.created.rti))
            turn.effects.append(Reply(caller.session, caller.number, None))
        elif waiting.request is not None:
            self._located(turn, caller, waiting.request, answer.value)
        else:
            self._answer(turn, caller, answer.callbacks, answer.value)
        for request in waiting.held:
            self._serve(turn, request)

    def _joining(self, federation: str) -> bool:
        """Is somebody here joining it?  Then its home may have let it in, and others may speak to it already."""
        return any(
            waiting.asked is not None
            and waiting.asked.federation == federation
            and waiting.asked.service == JOIN
            for waiting in self._waiting.values()
        )

    def _forget_early(self, federation: str) -> None:
        if federation not in self.federations and not self._joining(federation):
            self._early.pop(federation, None)

    def _located(self, turn: Turn, caller: Caller, request: Request, home: str | None) -> None:
        if home is not None:
            try:
                self._seek(turn, home, caller, request)
            except RTIexception as refusal:
                turn.effects.clear()
                turn.effects.append(Refuse(caller.session, caller.number, refusal))
        elif request.service == "list_federation_execution_members":
            self._answer(turn, caller, (self._members_report(request.federation, None),))
        else:
            error = FederationExecutionDoesNotExist(
                f"there is no federation execution named {request.federation!r}"
            )
            turn.effects.append(Refuse(caller.session, caller.number, error))


def wrong_type(service: str, misfit: Exception) -> RTIexception:
    """An argument of a wrong type.  Compiled code notices at the first function, pure Python where it does not fit."""
    refusal = RTIinternalError(f"{service} was given an argument of a wrong type: {misfit}")
    refusal.__cause__ = misfit
    return refusal
