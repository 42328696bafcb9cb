"""Parcels from other nodes: each finds whoever deals with it, or waits for a command that it came before."""

from __future__ import annotations

from weft.kernel.message import pipeline
from weft.kernel.node import faults
from weft.kernel.node.calls import PendingCalls
from weft.kernel.node.command_log import Commands
from weft.kernel.node.directory import Directory, Executions
from weft.kernel.node.peers import Peers
from weft.kernel.services import timed_changes
from weft.kernel.state.effects import Notice, Refuse, Transmit
from weft.kernel.state.parcels import (
    Answer,
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
from weft.kernel.state.sessions import NodeState
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import grants, stamps
from weft.model.deliveries import Removal, delivery_from
from weft.model.errors import SettingsError
from weft.model.log_text import ERROR, LogText


class Arrivals:
    def __init__(
        self,
        here: NodeState,
        directory: Directory,
        calls: PendingCalls,
        executions: Executions,
        commands: Commands,
        peers: Peers,
    ) -> None:
        self._here = here
        self._directory = directory
        self._calls = calls
        self._executions = executions
        self._commands = commands
        self._peers = peers

    def take(self, turn: Turn, sender: str, parcel: object) -> None:
        if isinstance(parcel, (Data, Ordered, Inform, Mark, TimeReport, TimeBound, Retraction, Settled)):
            self._arrive(turn, sender, parcel)
        elif isinstance(parcel, Commit):
            self._follow(turn, sender, parcel)
        elif isinstance(parcel, Request):
            self._executions.serve(turn, parcel)
        elif isinstance(parcel, Answer):
            self._executions.answered(turn, parcel)
        elif isinstance(parcel, Welcome):
            known = self._here.federations.get(parcel.federation)
            if known is None or known.home == sender:
                self._executions.welcomed(parcel)
        elif isinstance(parcel, Share):
            self._commands.multi_step.told(turn, sender, parcel)
        elif isinstance(parcel, Claim):
            self._directory.grant(turn, sender, parcel)
        elif isinstance(parcel, Locate):
            self._directory.locate(turn, parcel)
        elif isinstance(parcel, Release):
            self._directory.released(turn, sender, parcel)
        elif isinstance(parcel, Hello):
            self._peers.greeted(turn, sender, parcel)
        elif isinstance(parcel, Left):
            self._peers.left(turn, sender, parcel)
        elif isinstance(parcel, Dissolve):
            self._peers.dissolved(turn, sender, parcel)
        elif isinstance(parcel, Unable):
            self._peers.is_unable(turn, sender, parcel)

    def stumbled(self, turn: Turn, sender: str, parcel: object, error: Exception) -> None:
        """An error of ours in handling a parcel."""
        doing = f"{type(parcel).__name__} from node {sender!r}"
        if isinstance(parcel, Welcome) and isinstance(error, SettingsError):
            told = LogText(str(error), "cannot-take-part", ERROR, peer=sender, federation=parcel.federation)
            turn.effects.append(Notice(told))
        else:
            turn.effects.append(faults.fault(error, doing, peer=sender))
        if isinstance(parcel, Welcome):
            self._peers.lose(turn, sender, parcel.federation, parcel.execution, error)
        elif isinstance(parcel, (Request, Claim, Locate, Release)):
            if parcel.caller is not None:
                refusal = faults.refusal(error, doing, self._here.name)
                turn.effects.append(Transmit(parcel.caller.node, Answer(parcel.caller, None, refusal)))
        elif isinstance(parcel, Answer):
            refusal = faults.refusal(error, doing, self._here.name)
            turn.effects.append(Refuse(parcel.caller.session, parcel.caller.number, refusal))

    def _follow(self, turn: Turn, sender: str, commit: Commit) -> None:
        """Not what comes late from another home: the federation of that name was taken for lost, and there is a new one."""
        federation = self._here.federations.get(commit.federation)
        if federation is None or federation.home != sender or commit.sequence <= federation.sequence:
            return
        heard = commit.caller is None or self._calls.waiting.pop(commit.caller, None) is not None
        before = len(turn.effects)
        try:
            step = Step(turn, federation, federation.rti)
            self._commands.carry_out(step, commit.invocation(), heard)
        except Exception as error:
            del turn.effects[before:]
            turn.everywhere = False
            doing = f"{commit.service}, which all nodes carry out"
            turn.effects.append(faults.fault(error, doing, peer=sender, federation=commit.federation))
            if commit.caller is not None and commit.caller.node == self._here.name and heard:
                refusal = faults.refusal(error, doing, self._here.name)
                turn.effects.append(Refuse(commit.caller.session, commit.caller.number, refusal))
            self._peers.lose(turn, sender, commit.federation, federation.execution, error)
            return
        turn.everywhere = False
        early = self._calls.early.pop(commit.federation, None)
        for origin, parcel in early or ():
            try:
                self._arrive(turn, origin, parcel)
            except Exception as error:
                self.stumbled(turn, origin, parcel, error)

    def _arrive(self, turn: Turn, sender: str, parcel: Early) -> None:
        federation = self._here.federations.get(parcel.federation)
        if federation is None:
            if self._calls.is_joining(parcel.federation):
                # Others have heard of the newcomer before it has heard of its welcome, which takes another way.
                self._calls.keep_early(sender, parcel)
            return
        if parcel.after > federation.sequence and parcel.execution.startswith(federation.execution):
            # Of this execution, or of what it is about to be restored to.
            self._calls.keep_early(sender, parcel)
            return
        if parcel.execution != federation.execution:
            return
        step = Step(turn, federation, federation.rti)
        if isinstance(parcel, Mark):
            self._commands.multi_step.told(turn, sender, parcel)
        elif isinstance(parcel, Data):
            pipeline.arrive(step, parcel.message, parcel.only)
        elif isinstance(parcel, Ordered):
            if parcel.tag:
                federation.orders.arrive(step, sender, parcel)
            else:
                pipeline.arrive(step, parcel.message)
        elif isinstance(parcel, TimeReport):
            if federation.home == self._here.name:
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
