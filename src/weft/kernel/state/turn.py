"""A turn: the handling of one stimulus, from the moment it comes in until its effects go out."""

from __future__ import annotations

from typing import Any

from weft.kernel.state.effects import Callback, Effect, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Inform


class Turn:
    def __init__(self, node: str, now: float) -> None:
        self.node = node
        self.now = now
        self.effects: list[Effect] = []
        # While a command is carried out, every node does so, and each tells its own members.
        self.everywhere = False
        # Federates are paused in this turn, or go on (`node.pausing`).
        self.pauses = False
        # Time management: members that ask for the next message got some; somebody may begin to regulate or be constrained.
        self.queued = False
        self.begins = False
        # Commands that nobody waits for, to be given their place when the turn ends.
        self.orders: list[tuple[Federation, Member, str, tuple[Any, ...]]] | None = None
        # The number of the message at hand (`recording.message_rows`); negative: its deliveries are recorded already.
        self.number = 0
        self.urgent = False  # and is it in priority order?
        # What the RTI itself was told (`mom.mom`): federation, what, arguments, and if all nodes were.
        self.told: list[tuple[Federation, str, tuple[Any, ...], bool]] | None = None

    def unfinished(self) -> bool:
        """Is there more to do at its end than to hand over its effects?"""
        return self.pauses or self.queued or self.begins or self.orders is not None

    def tell_rti(self, federation: Federation, what: str, arguments: tuple[Any, ...]) -> None:
        if self.told is None:
            self.told = []
        self.told.append((federation, what, arguments, self.everywhere))

    def order(self, federation: Federation, member: Member, command: str, arguments: tuple[Any, ...]) -> None:
        if self.orders is None:
            self.orders = []
        self.orders.append((federation, member, command, arguments))

    def note(self, federation: Federation, member: Member | None, *attributes: str) -> None:
        """These MOM attributes of a member (or of the federation) have changed."""
        self.tell_rti(federation, "note", (None if member is None else member.handle, attributes))

    def callback(
        self, federation: Federation, member: Member, method: str, arguments: tuple[Any, ...], number: int = 0
    ) -> None:
        """Tell a member, wherever it is; during a command that all nodes carry out, only a member here.

        `number`: of the message that this is, if it came as one.
        """
        if member is federation.rti:
            self.tell_rti(federation, method, arguments)
            return
        if method == "discover_object_instance":
            member.tally.discovered += 1
        elif method == "remove_object_instance":
            member.tally.removed += 1
        if member.node == self.node:
            if member.holds and method == "remove_object_instance" and member.timing.is_holding():
                member.timing.held.append((method, arguments, number))
            else:
                self.effects.append(Callback(member.session, method, arguments, number))
        elif not self.everywhere:
            parcel = Inform(
                federation.name, federation.execution, federation.sequence, member.handle, method, arguments
            )
            self.effects.append(Transmit(member.node, parcel))

    def pause_callback(
        self, federation: Federation, member: Member, method: str, arguments: tuple[Any, ...]
    ) -> None:
        """A callback that pauses a member, or lets it go on."""
        self.pauses = True
        self.callback(federation, member, method, arguments)
