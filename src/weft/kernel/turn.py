"""A turn: the handling of one stimulus, from the moment it comes in until its effects go out."""

from __future__ import annotations

from typing import Any

from weft.kernel.effects import Callback, Effect, Transmit
from weft.kernel.parcels import Inform
from weft.kernel.state import Federation, Member


class Turn:
    def __init__(self, node: str, now: float) -> None:
        self.node = node
        self.now = now
        self.effects: list[Effect] = []
        # While a command is carried out, every node does so, and each tells its own members.
        self.everywhere = False

    def callback(
        self, federation: Federation, member: Member, method: str, arguments: tuple[Any, ...]
    ) -> None:
        """Tell a member, wherever it is; during a command that all nodes carry out, only a member here."""
        if member.node == self.node:
            self.effects.append(Callback(member.session, method, arguments))
        elif not self.everywhere:
            parcel = Inform(federation.name, federation.sequence, member.handle, method, arguments)
            self.effects.append(Transmit(member.node, parcel))
