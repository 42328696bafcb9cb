"""Other nodes that go away and come back, and this node when it comes back itself.

Four things are known of another node, each told by a parcel that comes in order with all else from there:

    it was started again    `Hello`: its sessions are gone, so its members resign by their directives; the federations at home
                            there go on, if it still knows them
    it took us for gone     `Left`: it has dropped what it knew of federations at home here, so its members resign
    it is gone              the host says so (`peer_lost`): its members resign, federations at home there are over, and calls
                            that wait for it are refused
    it can be reached       the host says so (`peer_found`)

A node that was only cut off learns, when it is back, what was decided about it: as home the others sent it `Left`, as the node
of members it is sent the commands by which they resigned.

A home that is started again (`recover`) has what it wrote down: a snapshot, and the commits since.  Its own members are lost with
the process they were connected to; calls of others, made meanwhile, come now.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.federation import operator
from weft.kernel.federation.save import SAVE_ENDED
from weft.kernel.federation.snapshot import snapshot
from weft.kernel.federation.timed_saves import REQUEST
from weft.kernel.message import causal_views
from weft.kernel.node import pausing
from weft.kernel.node.directory import Homes
from weft.kernel.node.service_table import RESIGN_LOST
from weft.kernel.recording import call_rows
from weft.kernel.state.effects import Callback, Effect, Listen, Refuse, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Answer, Claim, Commit, Dissolve, Hello, Left, Mark, Unable, Welcome
from weft.kernel.state.save_state import AskedSave
from weft.kernel.state.sessions import Waiting
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, grants
from weft.model.errors import TRY_AGAIN, NotConnected, RTIexception, RTIinternalError
from weft.model.records import Source


class Peers(Homes):
    def __init__(
        self, name: str, directory: str | None, reports: str, first: int, rid: Source | None
    ) -> None:
        super().__init__(name, directory, reports, first, rid)
        self._replaying = False
        self._stopped: dict[
            str, str
        ] = {}  # nodes that said they stop, and have not been told what came of it

    def _end(self, turn: Turn) -> list[Effect]:
        raise NotImplementedError

    def _welcomed(self, welcome: Welcome) -> Federation:
        raise NotImplementedError

    # --- others go away ---------------------------------------------------------------------------------------

    def peer_lost(self, node: str, now: float, why: str = "", stopped: bool = False) -> list[Effect]:
        """Another node is gone: its members resign by their directives; who waits for it is told so.

        It may be there all the same, and only out of reach: then it is to know that it has been given up.  One that has said
        itself that it stops hears of it when it is back: its federations may come back with it, but not their members here.
        """
        turn = Turn(self.name, now)
        self._record_peer(turn, "link-down", node, why)
        self._lost[node] = None
        reason = f" ({why})" if why else ""
        self._give_up(turn, node, None, f"node {node!r} went away before it answered{reason}")
        for name in [n for n, (home, _) in self.homes.items() if home == node]:
            self._unname(turn, name)
        self._part(turn, node, f"its node {node!r} went away{reason}")
        for federation in list(self.federations.values()):
            if federation.home == node:
                fault = f"node {node!r}, the home of federation {federation.name!r}, went away{reason}"
                self._orphaned(Step(turn, federation, federation.rti), fault)
        self._doubt(turn, node)
        if stopped:
            self._stopped[node] = why
        else:
            turn.effects.append(Transmit(node, Left(why)))
        return self._end(turn)

    def _give_up(self, turn: Turn, node: str, still: dict[str, str] | None, fault: str) -> None:
        """Calls that wait for that node are refused; but for those to federations that are `still` there."""
        for caller, waiting in list(self._waiting.items()):
            if waiting.node != node:
                continue
            if still is not None and (
                waiting.asked is None or waiting.asked.federation in still or not waiting.asked.federation
            ):
                continue  # it has that call, or its answer is under way
            del self._waiting[caller]
            if waiting.asked is not None:
                self._forget_early(waiting.asked.federation)
            if waiting.created is not None:
                self._abandoned[caller] = waiting.created.name
            if waiting.destroyed:
                self._answer(turn, caller, ())
            else:
                turn.effects.append(Refuse(caller.session, caller.number, _unanswered(waiting, fault)))
            for request in waiting.held:
                self._serve(turn, request)

    def _lose(self, turn: Turn, home: str, name: str, execution: str, error: Exception) -> None:
        """An error of ours: what is known here of that federation does not agree with its home any more.

        So its members here are told that they have lost it, as is the home; who joins again begins with what the home knows.
        """
        why = f"node {self.name!r} made an error and lost federation {name!r}: {error!r}"
        known = self.federations.get(name)
        if known is not None and known.home == home and known.execution == execution:
            self._orphaned(Step(turn, known, known.rti), why)
        for caller, waiting in list(self._waiting.items()):
            if waiting.node == home and waiting.asked is not None and waiting.asked.federation == name:
                del self._waiting[caller]
                turn.effects.append(Refuse(caller.session, caller.number, RTIinternalError(why)))
        self._forget_early(name)
        turn.effects.append(Transmit(home, Unable(name, execution, why)))

    def _is_unable(self, turn: Turn, sender: str, parcel: Unable) -> None:
        federation = self.federations.get(parcel.federation)
        if federation is not None and federation.execution == parcel.execution:
            self._part(turn, sender, parcel.why, federation)

    def _part(self, turn: Turn, node: str, fault: str, only: Federation | None = None) -> None:
        """The members at that node resign, or those of one federation; it is told so, in case it is only cut off."""
        for federation in list(self.federations.values()):
            if federation.home == self.name and (only is None or federation is only):
                for member in [m for m in federation.members.values() if m.node == node]:
                    now = self.federations.get(federation.name)
                    if now is not None:
                        self._carry_out(Step(turn, now, now.rti), None, member.handle, RESIGN_LOST, (fault,))
                        if now.recorder is not None:
                            call_rows.lost_with_node(turn, now.recorder, member, fault)
                federation.nodes.pop(node, None)
                galt_exchange.node_gone(federation, node)

    def _record_peer(self, turn: Turn, kind: str, node: str, detail: str) -> None:
        """In the books of the federations that node takes part in; who is back takes part in none yet."""
        for federation in self.federations.values():
            recorder = federation.recorder
            if recorder is not None and (kind == "link-up" or node in federation.taking_part()):
                call_rows.happened(turn, recorder, kind, node, detail)

    def _doubt(self, turn: Turn, node: str) -> None:
        """Messages to or from that node may be lost: those that wait for them must not do so for ever
        (`message.causal_views`)."""
        for federation in list(self.federations.values()):
            if causal_views.concerns(federation, node) and causal_views.ask(federation):
                step = Step(turn, federation, federation.rti)
                view = federation.orders.view
                self._order(step, None, federation.rti.handle, causal_views.VIEW_ENDS, (view,))

    def _orphaned(self, step: Step, fault: str) -> None:
        turn = step.turn
        federation = step.federation
        del self.federations[federation.name]
        self._early.pop(federation.name, None)
        if federation.channels.multicast:
            step.effects.append(Listen(federation.name, ()))
        for asked in federation.save_asked if federation.home == self.name else ():
            self._refuse_asked(turn, asked, RTIinternalError(fault))
        for session in self.sessions.values():
            if session.federation is federation:
                session.federation = None
                session.member = None
                pausing.leave(session)
                step.effects.append(Callback(session.number, "connection_lost", (fault,)))

    def _refuse_asked(self, turn: Turn, asked: AskedSave, error: RTIexception) -> None:
        """At the home: whoever asked for a save at a logical time does not get it."""
        caller = asked.caller
        if caller.node == self.name:
            arguments = (asked.label, asked.time)
            self._refuse(turn, caller.session, caller.number, REQUEST, arguments, error)
        else:
            turn.effects.append(Transmit(caller.node, Answer(caller, None, error)))

    def _left(self, turn: Turn, sender: str, parcel: Left) -> None:
        reason = f" ({parcel.why})" if parcel.why else ""
        self._part(turn, sender, f"its node {sender!r} was cut off{reason}")
        if sender == self.directory:
            self._claim(turn)
        self._doubt(turn, sender)

    def _dissolved(self, turn: Turn, sender: str, parcel: Dissolve) -> None:
        federation = self.federations.get(parcel.federation)
        if federation is None:
            return
        if federation.home == self.name and sender == self.directory:
            for node in federation.nodes:
                if node != self.name:
                    turn.effects.append(Transmit(node, parcel._replace(execution=federation.execution)))
            self._orphaned(Step(turn, federation, federation.rti), parcel.why)
            self._remember(turn, federation.name)
        elif federation.home == sender and federation.execution == parcel.execution:
            self._orphaned(Step(turn, federation, federation.rti), parcel.why)

    # --- others come back -------------------------------------------------------------------------------------

    def peer_found(self, node: str, now: float) -> list[Effect]:
        """A node that was gone is there again; a directory is told what has its home here."""
        turn = Turn(self.name, now)
        self._record_peer(turn, "link-up", node, "")
        self._lost.pop(node, None)
        self._tell_left(turn, node)
        if node == self.directory:
            self._claim(turn)
        self._mark_again(turn)
        self._doubt(turn, node)
        return self._end(turn)

    def _tell_left(self, turn: Turn, node: str) -> None:
        """Before anything else that its new process hears from here."""
        why = self._stopped.pop(node, None)
        if why is not None:
            turn.effects.append(Transmit(node, Left(why)))

    def _claim(self, turn: Turn) -> None:
        for federation in self.federations.values():
            if federation.home == self.name:
                claim = Claim(federation.name, federation.time.name, None)
                turn.effects.append(Transmit(self.directory, claim))

    def _mark_again(self, turn: Turn) -> None:
        """The mark of a save may have been lost with the way it took."""
        for federation in self.federations.values():
            going = federation.saving
            if going is not None and going.point and self.name in going.marks:
                for node in pausing.nodes_of(federation):
                    if node != self.name:
                        mark = Mark(federation.name, federation.execution, going.point)
                        turn.effects.append(Transmit(node, mark))

    def _greeted(self, turn: Turn, sender: str, hello: Hello) -> None:
        self._lost.pop(sender, None)
        self._tell_left(turn, sender)
        for parcels in self._early.values():
            parcels[:] = [early for early in parcels if early[0] != sender]
        again = f"node {sender!r} was started again"
        self._record_peer(turn, "crash", sender, again)
        self._part(turn, sender, f"its {again}")
        still = {name: execution for name, execution, _ in hello.homes}
        for federation in list(self.federations.values()):
            if federation.home == sender and still.get(federation.name) != federation.execution:
                fault = (
                    f"{again} and no longer knows federation {federation.name!r}, which had its home there"
                )
                self._orphaned(Step(turn, federation, federation.rti), fault)
            elif federation.home == sender:
                grants.home_is_back(Step(turn, federation, federation.rti))
        self._give_up(turn, sender, still, f"{again} before it answered")
        if self.directory == self.name:
            for name in [n for n, (home, _) in self.homes.items() if home == sender and n not in still]:
                self._unname(turn, name)
            for name, _, time in hello.homes:
                self._grant(turn, sender, Claim(name, time, None))
        if sender == self.directory:
            self._claim(turn)
        self._mark_again(turn)
        self._doubt(turn, sender)

    # --- this node comes back ---------------------------------------------------------------------------------

    def remembered(self, federation: str, now: float) -> Welcome | None:
        """A federation at home here, to be written down; None if there is none, or not at this moment."""
        found = self.federations.get(federation)
        if (
            found is None
            or found.home != self.name
            or found.saving is not None
            or found.restoring is not None
        ):
            return None
        return Welcome(found.name, found.execution, self.name, found.sequence, snapshot(found, now))

    def recover(
        self,
        states: list[tuple[Welcome, list[Commit]]],
        names: dict[str, tuple[str, str]],
        nodes: tuple[str, ...],
        now: float,
    ) -> list[Effect]:
        """Begin with what an earlier process of this node wrote down, and tell all other nodes."""
        self.homes.update(names)
        back = [self._replay(welcome, commits, now).name for welcome, commits in states]
        turn = Turn(self.name, now)
        hello = Hello(
            tuple((name, self.federations[name].execution, self.federations[name].time.name) for name in back)
        )
        for node in nodes:
            if node != self.name:
                turn.effects.append(Transmit(node, hello))
        for name in back:
            federation = self.federations[name]
            galt_exchange.begin_again(federation)
            turn.begins = True
            moved = operator.begin_again(federation)
            step = Step(turn, federation, federation.rti)
            if moved is not None:
                self._carry_out(step, None, federation.rti.handle, operator.GATE_MOVED, moved)
            self._end_pauses(step)
        self._part(turn, self.name, f"its node {self.name!r} was started again")
        for name in back:
            federation = self.federations[name]
            if federation.ordered and federation.members:
                # The sequencer has begun anew.
                view = federation.orders.view
                step = Step(turn, federation, federation.rti)
                self._carry_out(step, None, federation.rti.handle, causal_views.VIEW_ENDS, (view,))
        for name in back:
            self._remember(turn, name)
        if self.directory == self.name:
            for name in [n for n, (home, _) in self.homes.items() if home == self.name and n not in back]:
                self._unname(turn, name)
        return self._end(turn)

    def _replay(self, welcome: Welcome, commits: list[Commit], now: float) -> Federation:
        """Carry the commits out once more; what they led to has happened, or comes to nothing."""
        federation = self._welcomed(welcome)
        federation.nodes = {m.node: None for m in federation.members.values() if m.node != self.name}
        federation.timetable = None
        self._replaying = True
        try:
            for commit in commits:
                if commit.sequence > federation.sequence:
                    turn = Turn(self.name, now)
                    rest: tuple[Any, ...] = (commit.federate, commit.service, commit.arguments)
                    self._carry_out(Step(turn, federation, federation.rti), commit.caller, *rest)
                    federation = self.federations[welcome.federation]
        finally:
            self._replaying = False
        return federation

    def _end_pauses(self, step: Step) -> None:
        """What the nodes had contributed to a save or restore is gone with the home that gathered it."""
        federation = step.federation
        rti = federation.rti.handle
        if federation.saving is not None:
            self._carry_out(step, None, rti, SAVE_ENDED, (False,))
        elif federation.restoring is not None:
            self._carry_out(step, None, rti, "abort_federation_restore", ())


def _unanswered(waiting: Waiting, fault: str) -> RTIexception:
    """A federate has lost its federation with the home (clause 4.4), and hears that; others may ask again."""
    if waiting.asked is not None and waiting.asked.federate is not None:
        return NotConnected(f"{fault}: the federation is lost with its home; connect and join again")
    return RTIinternalError(f"{fault}; {TRY_AGAIN}")
