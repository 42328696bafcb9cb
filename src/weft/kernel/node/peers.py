"""Other nodes that go away and come back, and this node when it comes back itself.

Four things are known of another node, each told by a parcel that comes in order with all else from there:

    it was started again    `Hello`: its sessions are gone, so its members resign by their directives; the federations at home
                            there go on, if it still knows them
    it took us for gone     `Left`: it has dropped what it knew of federations at home here, so its members resign
    it is gone              the host says so (`gone`): its members resign, federations at home there are over, and calls
                            that wait for it are refused
    it can be reached       the host says so (`found`)

A node that was only cut off learns, when it is back, what was decided about it: as home the others sent it `Left`, as the node
of members it is sent the commands by which they resigned.

A home that is started again (`recover`) has what it wrote down: a snapshot, and the commits since.  Its own members are lost with
the process they were connected to; calls of others, made meanwhile, come now.
"""

from __future__ import annotations

from weft.kernel.federation import operator
from weft.kernel.federation.save import SAVE_ENDED
from weft.kernel.federation.snapshot import snapshot
from weft.kernel.message import causal_views
from weft.kernel.node import pausing
from weft.kernel.node.calls import PendingCalls
from weft.kernel.node.command_log import Commands
from weft.kernel.node.directory import Directory, Executions
from weft.kernel.node.service_table import RESIGN_LOST
from weft.kernel.recording import call_rows
from weft.kernel.state.effects import Callback, Listen, Refuse, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Claim, Commit, Dissolve, Hello, Invocation, Left, Mark, Unable, Welcome
from weft.kernel.state.sessions import NodeState, Waiting
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, grants
from weft.model.errors import TRY_AGAIN, NotConnected, RTIexception, RTIinternalError, SettingsError


class Peers:
    def __init__(
        self,
        here: NodeState,
        directory: Directory,
        calls: PendingCalls,
        executions: Executions,
        commands: Commands,
    ) -> None:
        self._here = here
        self._directory = directory
        self._calls = calls
        self._executions = executions
        self._commands = commands
        self._stopped: dict[
            str, str
        ] = {}  # nodes that said they stop, and have not been told what came of it

    # --- others go away ---------------------------------------------------------------------------------------

    def gone(self, turn: Turn, node: str, why: str, stopped: bool) -> None:
        """Another node is gone: its members resign by their directives; who waits for it is told so.

        It may be there all the same, and only out of reach: then it is to know that it has been given up.  One that has said
        itself that it stops hears of it when it is back: its federations may come back with it, but not their members here.
        """
        self._record_peer(turn, "link-down", node, why)
        self._calls.lost[node] = None
        reason = f" ({why})" if why else ""
        self._give_up(turn, node, None, f"node {node!r} went away before it answered{reason}")
        self._directory.unname_others(turn, node)
        self._part(turn, node, f"its node {node!r} went away{reason}")
        for federation in list(self._here.federations.values()):
            if federation.home == node:
                fault = f"node {node!r}, the home of federation {federation.name!r}, went away{reason}"
                self._orphaned(Step(turn, federation, federation.rti), fault)
        self._doubt(turn, node)
        if stopped:
            self._stopped[node] = why
        else:
            turn.effects.append(Transmit(node, Left(why)))

    def _give_up(self, turn: Turn, node: str, still: dict[str, str] | None, fault: str) -> None:
        """Calls that wait for that node are refused; but for those to federations that are `still` there."""
        for caller, waiting in list(self._calls.waiting.items()):
            if waiting.node != node:
                continue
            if still is not None and (
                waiting.asked is None or waiting.asked.federation in still or not waiting.asked.federation
            ):
                continue  # it has that call, or its answer is under way
            del self._calls.waiting[caller]
            if waiting.asked is not None:
                self._calls.forget_early(waiting.asked.federation)
            if waiting.created is not None:
                self._calls.abandoned[caller] = waiting.created.name
            if waiting.destroyed:
                self._calls.answer(turn, caller, ())
            else:
                turn.effects.append(Refuse(caller.session, caller.number, _unanswered(waiting, fault)))
            for request in waiting.held:
                self._executions.serve(turn, request)

    def lose(self, turn: Turn, home: str, name: str, execution: str, error: Exception) -> None:
        """An error of ours: what is known here of that federation does not agree with its home any more.

        So its members here are told that they have lost it, as is the home; who joins again begins with what the home knows.
        """
        why = f"node {self._here.name!r} made an error and lost federation {name!r}: {error!r}"
        if isinstance(error, SettingsError):  # no error of the RTI's own: the node is not set up for it
            why = str(error)
        known = self._here.federations.get(name)
        if known is not None and known.home == home and known.execution == execution:
            self._orphaned(Step(turn, known, known.rti), why)
        for caller, waiting in list(self._calls.waiting.items()):
            if waiting.node == home and waiting.asked is not None and waiting.asked.federation == name:
                del self._calls.waiting[caller]
                turn.effects.append(Refuse(caller.session, caller.number, RTIinternalError(why)))
        self._calls.forget_early(name)
        turn.effects.append(Transmit(home, Unable(name, execution, why)))

    def is_unable(self, turn: Turn, sender: str, parcel: Unable) -> None:
        federation = self._here.federations.get(parcel.federation)
        if federation is not None and federation.execution == parcel.execution:
            self._part(turn, sender, parcel.why, federation)

    def _part(self, turn: Turn, node: str, fault: str, only: Federation | None = None) -> None:
        """The members at that node resign, or those of one federation; it is told so, in case it is only cut off."""
        for federation in list(self._here.federations.values()):
            if federation.home == self._here.name and (only is None or federation is only):
                for member in [m for m in federation.members.values() if m.node == node]:
                    now = self._here.federations.get(federation.name)
                    if now is not None:
                        lost = Invocation(None, member.handle, RESIGN_LOST, (fault,))
                        self._commands.carry_out(Step(turn, now, now.rti), lost)
                        if now.recorder is not None:
                            call_rows.lost_with_node(turn, now.recorder, member, fault)
                federation.nodes.pop(node, None)
                galt_exchange.node_gone(federation, node)

    def _record_peer(self, turn: Turn, kind: str, node: str, detail: str) -> None:
        """In the books of the federations that node takes part in; who is back takes part in none yet."""
        for federation in self._here.federations.values():
            recorder = federation.recorder
            if recorder is not None and (kind == "link-up" or node in federation.taking_part()):
                call_rows.happened(turn, recorder, kind, node, detail)

    def _doubt(self, turn: Turn, node: str) -> None:
        """Messages to or from that node may be lost: those that wait for them must not do so for ever
        (`message.causal_views`)."""
        for federation in list(self._here.federations.values()):
            if causal_views.concerns(federation, node) and causal_views.ask(federation):
                step = Step(turn, federation, federation.rti)
                view = federation.orders.view
                self._commands.order_by_rti(step, causal_views.VIEW_ENDS, (view,))

    def _orphaned(self, step: Step, fault: str) -> None:
        turn = step.turn
        federation = step.federation
        del self._here.federations[federation.name]
        self._calls.early.pop(federation.name, None)
        if federation.channels.multicast:
            step.effects.append(Listen(federation.name, ()))
        for asked in federation.saves.asked if federation.home == self._here.name else ():
            self._calls.refuse_asked(turn, asked, RTIinternalError(fault))
        for session in self._here.sessions.values():
            if session.federation is federation:
                session.federation = None
                session.member = None
                pausing.leave(session)
                step.effects.append(Callback(session.number, "connection_lost", (fault,)))

    def left(self, turn: Turn, sender: str, parcel: Left) -> None:
        reason = f" ({parcel.why})" if parcel.why else ""
        self._part(turn, sender, f"its node {sender!r} was cut off{reason}")
        if sender == self._here.directory:
            self._claim(turn)
        self._doubt(turn, sender)

    def dissolved(self, turn: Turn, sender: str, parcel: Dissolve) -> None:
        federation = self._here.federations.get(parcel.federation)
        if federation is None:
            return
        if federation.home == self._here.name and sender == self._here.directory:
            for node in federation.nodes:
                if node != self._here.name:
                    turn.effects.append(Transmit(node, parcel._replace(execution=federation.execution)))
            self._orphaned(Step(turn, federation, federation.rti), parcel.why)
            self._executions.remember(turn, federation.name)
        elif federation.home == sender and federation.execution == parcel.execution:
            self._orphaned(Step(turn, federation, federation.rti), parcel.why)

    # --- others come back -------------------------------------------------------------------------------------

    def found(self, turn: Turn, node: str) -> None:
        """A node that was gone is there again; a directory is told what has its home here."""
        self._record_peer(turn, "link-up", node, "")
        self._calls.lost.pop(node, None)
        self._tell_left(turn, node)
        if node == self._here.directory:
            self._claim(turn)
        self._mark_again(turn)
        self._doubt(turn, node)

    def _tell_left(self, turn: Turn, node: str) -> None:
        """Before anything else that its new process hears from here."""
        why = self._stopped.pop(node, None)
        if why is not None:
            turn.effects.append(Transmit(node, Left(why)))

    def _claim(self, turn: Turn) -> None:
        for federation in self._here.federations.values():
            if federation.home == self._here.name:
                claim = Claim(federation.name, federation.time.name, None)
                turn.effects.append(Transmit(self._here.directory, claim))

    def _mark_again(self, turn: Turn) -> None:
        """The mark of a save may have been lost with the way it took."""
        for federation in self._here.federations.values():
            going = federation.saves.saving
            if going is not None and going.point and self._here.name in going.marks:
                for node in pausing.nodes_of(federation):
                    if node != self._here.name:
                        mark = Mark(federation.name, federation.execution, going.point)
                        turn.effects.append(Transmit(node, mark))

    def greeted(self, turn: Turn, sender: str, hello: Hello) -> None:
        self._calls.lost.pop(sender, None)
        self._tell_left(turn, sender)
        for parcels in self._calls.early.values():
            parcels[:] = [early for early in parcels if early[0] != sender]
        again = f"node {sender!r} was started again"
        self._record_peer(turn, "crash", sender, again)
        self._part(turn, sender, f"its {again}")
        still = {name: execution for name, execution, _ in hello.homes}
        for federation in list(self._here.federations.values()):
            if federation.home == sender and still.get(federation.name) != federation.execution:
                fault = (
                    f"{again} and no longer knows federation {federation.name!r}, which had its home there"
                )
                self._orphaned(Step(turn, federation, federation.rti), fault)
            elif federation.home == sender:
                grants.home_is_back(Step(turn, federation, federation.rti))
        self._give_up(turn, sender, still, f"{again} before it answered")
        if self._here.is_directory():
            self._directory.unname_others(turn, sender, still)
            for name, _, time in hello.homes:
                self._directory.grant(turn, sender, Claim(name, time, None))
        if sender == self._here.directory:
            self._claim(turn)
        self._mark_again(turn)
        self._doubt(turn, sender)

    # --- this node comes back ---------------------------------------------------------------------------------

    def remembered(self, federation: str, now: float) -> Welcome | None:
        """A federation at home here, to be written down; None if there is none, or not at this moment."""
        found = self._here.federations.get(federation)
        if (
            found is None
            or found.home != self._here.name
            or found.saves.saving is not None
            or found.saves.restoring is not None
        ):
            return None
        return Welcome(found.name, found.execution, self._here.name, found.sequence, snapshot(found, now))

    def recover(
        self,
        turn: Turn,
        states: list[tuple[Welcome, list[Commit]]],
        names: dict[str, tuple[str, str]],
        nodes: tuple[str, ...],
    ) -> None:
        """Begin with what an earlier process of this node wrote down, and tell all other nodes."""
        self._directory.homes.update(names)
        back = [self._replay(welcome, commits, turn.now).name for welcome, commits in states]
        hello = Hello(
            tuple(
                (name, self._here.federations[name].execution, self._here.federations[name].time.name)
                for name in back
            )
        )
        for node in nodes:
            if node != self._here.name:
                turn.effects.append(Transmit(node, hello))
        for name in back:
            federation = self._here.federations[name]
            galt_exchange.begin_again(federation)
            turn.begins = True
            moved = operator.begin_again(federation)
            step = Step(turn, federation, federation.rti)
            if moved is not None:
                self._commands.carry_out_by_rti(step, operator.GATE_MOVED, moved)
            self._end_pauses(step)
        self._part(turn, self._here.name, f"its node {self._here.name!r} was started again")
        for name in back:
            federation = self._here.federations[name]
            if federation.ordered and federation.members:
                # The sequencer has begun anew.
                view = federation.orders.view
                step = Step(turn, federation, federation.rti)
                self._commands.carry_out_by_rti(step, causal_views.VIEW_ENDS, (view,))
        for name in back:
            self._executions.remember(turn, name)
        if self._here.is_directory():
            self._directory.unname_others(turn, self._here.name, back)

    def _replay(self, welcome: Welcome, commits: list[Commit], now: float) -> Federation:
        federation = self._executions.welcomed(welcome)
        here = self._here.name
        federation.nodes = {m.node: None for m in federation.members.values() if m.node != here}
        federation.clock.timetable = None
        return self._commands.replay(federation, commits, now)

    def _end_pauses(self, step: Step) -> None:
        """What the nodes had contributed to a save or restore is gone with the home that gathered it."""
        federation = step.federation
        if federation.saves.saving is not None:
            self._commands.carry_out_by_rti(step, SAVE_ENDED, (False,))
        elif federation.saves.restoring is not None:
            self._commands.carry_out_by_rti(step, "abort_federation_restore", ())


def _unanswered(waiting: Waiting, fault: str) -> RTIexception:
    """A federate has lost its federation with the home (clause 4.4), and hears that; others may ask again."""
    if waiting.asked is not None and waiting.asked.federate is not None:
        return NotConnected(f"{fault}: the federation is lost with its home; connect and join again")
    return RTIinternalError(f"{fault}; {TRY_AGAIN}")
