"""Calls that another node has to answer, and what comes for them too early; and how calls are answered."""

from __future__ import annotations

from typing import Any

from weft.kernel.federation.timed_saves import REQUEST
from weft.kernel.mom import mom_reports
from weft.kernel.node.service_table import SERVICES
from weft.kernel.recording import call_rows
from weft.kernel.services import timed_changes
from weft.kernel.state.effects import Callback, Refuse, Reply, Transmit
from weft.kernel.state.parcels import Answer, Caller, Claim, Early, Locate, Request
from weft.kernel.state.save_state import AskedSave
from weft.kernel.state.sessions import NodeState, Waiting
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.errors import TRY_AGAIN, RTIexception, RTIinternalError

JOIN = "join_federation_execution"


class PendingCalls:
    def __init__(self, here: NodeState) -> None:
        self._here = here
        self.waiting: dict[Caller, Waiting] = {}
        self.lost: dict[str, None] = {}  # nodes that went away and have not come back
        self.abandoned: dict[Caller, str] = {}  # names that were claimed for a call that has been refused
        self.early: dict[str, list[tuple[str, Early]]] = {}  # parcels that wait for a commit

    def ask(self, turn: Turn, node: str, caller: Caller, request: Request) -> None:
        """A request goes to another node; its caller waits."""
        self.wait(turn, caller, Waiting(node, asked=request), request)

    def wait(self, turn: Turn, caller: Caller, waiting: Waiting, parcel: Claim | Locate | Request) -> None:
        if waiting.node in self.lost:
            raise RTIinternalError(f"node {waiting.node!r} went away and has not come back; {TRY_AGAIN}")
        self.waiting[caller] = waiting
        turn.effects.append(Transmit(waiting.node, parcel))

    def is_joining(self, federation: str) -> bool:
        """Is somebody here joining it?  Then its home may have let it in, and others may speak to it already."""
        return any(
            waiting.asked is not None
            and waiting.asked.federation == federation
            and waiting.asked.service == JOIN
            for waiting in self.waiting.values()
        )

    # --- parcels that wait for a commit -----------------------------------------------------------------------

    def keep_early(self, sender: str, parcel: Early) -> None:
        self.early.setdefault(parcel.federation, []).append((sender, parcel))

    def forget_early(self, federation: str) -> None:
        """Unless somebody here is in that federation, or joins it."""
        if federation not in self._here.federations and not self.is_joining(federation):
            self.early.pop(federation, None)

    # --- answers ----------------------------------------------------------------------------------------------

    def answer(
        self,
        turn: Turn,
        caller: Caller | None,
        callbacks: tuple[tuple[str, tuple[Any, ...]], ...],
        value: object = None,
    ) -> None:
        """Reply to a caller, here or at another node, and then call it back."""
        if caller is None:
            return
        if caller.node != self._here.name:
            turn.effects.append(Transmit(caller.node, Answer(caller, value, None, callbacks)))
            return
        turn.effects.append(Reply(caller.session, caller.number, value))
        for method, arguments in callbacks:
            turn.effects.append(Callback(caller.session, method, arguments))

    def refuse(
        self,
        turn: Turn,
        session: int,
        number: int,
        service: str,
        arguments: tuple[Any, ...],
        error: Exception,
    ) -> None:
        """Answer a caller here with an exception, and tell the MOM and the recorder."""
        turn.effects.append(Refuse(session, number, error))
        caller = self._here.sessions.get(session)
        if caller is not None and caller.member is not None and caller.federation is not None:
            step = Step(turn, caller.federation, caller.member)
            timed_changes.refused(step, number)
            entry = SERVICES.get(service)
            group = None if entry is None else entry.group
            if caller.federation.recorder is not None:
                call_rows.refused(turn, caller.federation.recorder, caller.member, service, error)
            mom_reports.refused(step, service, group, arguments, error)

    def refuse_asked(self, turn: Turn, asked: AskedSave, error: RTIexception) -> None:
        """At the home: whoever asked for a save at a logical time does not get it."""
        caller = asked.caller
        if caller.node == self._here.name:
            self.refuse(turn, caller.session, caller.number, REQUEST, (asked.label, asked.time), error)
        else:
            turn.effects.append(Transmit(caller.node, Answer(caller, None, error)))
