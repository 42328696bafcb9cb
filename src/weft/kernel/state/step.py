"""A step: what a turn does in one federation for one of its members."""

from __future__ import annotations

from typing import Any

from weft._build import mypyc_attr
from weft.kernel.state.effects import Callback, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Inform
from weft.kernel.state.time_state import HeldDelivery
from weft.kernel.state.turn import Turn
from weft.model.deliveries import Removal


@mypyc_attr(free_list_len=1)
class Step:
    """`member`: who acts, which is the federate that has called; the RTI (`federation.rti`) where nobody else acts."""

    def __init__(self, turn: Turn, federation: Federation, member: Member) -> None:
        self.turn = turn
        self.federation = federation
        self.member = member
        # What is read most; the effects are the turn's own list.
        self.node = turn.node
        self.now = turn.now
        self.effects = turn.effects

    def tell_rti(self, what: str, arguments: tuple[object, ...]) -> None:
        """The RTI is to act on this when the turn ends (`mom.mom`)."""
        turn = self.turn
        if turn.told is None:
            turn.told = []
        turn.told.append((self.federation, what, arguments, turn.everywhere))

    def order(self, member: Member, command: str, arguments: tuple[Any, ...]) -> None:
        """Give a command that nobody waits for its place when the turn ends."""
        turn = self.turn
        if turn.orders is None:
            turn.orders = []
        turn.orders.append((self.federation, member, command, arguments))

    def note(self, member: Member | None, *attributes: str) -> None:
        """These MOM attributes of a member (or of the federation) have changed."""
        self.tell_rti("note", (None if member is None else member.handle, attributes))

    def callback(self, member: Member, method: str, arguments: tuple[object, ...]) -> None:
        """Tell a member, wherever it is; during a command that all nodes carry out, only a member here."""
        if member is self.federation.rti:
            self.tell_rti(method, arguments)
            return
        if method == "discover_object_instance":
            member.tally.discovered += 1
        if member.node == self.node:
            if not (member.timing.gone and arguments and member.timing.is_gone(arguments[0])):
                self.effects.append(Callback(member.session, method, arguments))
        elif not self.turn.everywhere:
            self._inform(member, method, arguments)

    def remove(self, member: Member, removal: Removal, number: int = 0) -> None:
        """Tell a member that an instance is gone, as `callback` does; `number`: of the message that said so, if one did."""
        if member is self.federation.rti:
            self.tell_rti(removal.method, removal.arguments())
            return
        member.tally.removed += 1
        if member.node == self.node:
            if member.holds and member.timing.is_holding():
                member.timing.held.append(HeldDelivery(removal, number))
            else:
                self.effects.append(Callback(member.session, removal.method, (), number, removal))
        elif not self.turn.everywhere:
            self._inform(member, removal.method, removal.arguments())

    def _inform(self, member: Member, method: str, arguments: tuple[object, ...]) -> None:
        federation = self.federation
        parcel = Inform(
            federation.name, federation.execution, federation.sequence, member.handle, method, arguments
        )
        self.effects.append(Transmit(member.node, parcel))

    def pause_callback(self, member: Member, method: str, arguments: tuple[object, ...]) -> None:
        """A callback that pauses a member, or lets it go on."""
        self.turn.pauses = True
        self.callback(member, method, arguments)
