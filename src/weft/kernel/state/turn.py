"""A turn: the handling of one stimulus, from the moment it comes in until its effects go out."""

from __future__ import annotations

from typing import Any

from weft._build import mypyc_attr
from weft.kernel.state.effects import Effect
from weft.kernel.state.federation import Federation, Member


@mypyc_attr(free_list_len=1)
class Turn:
    # While a command is carried out, every node does so, and each tells its own members.
    everywhere = False
    # Federates are paused in this turn, or go on (`node.pausing`).
    pauses = False
    # Time management: members that ask for the next message got some; somebody may begin to regulate or be constrained.
    queued = False
    begins = False
    # Commands that nobody waits for, to be given their place when the turn ends.
    orders: list[tuple[Federation, Member, str, tuple[Any, ...]]] | None = None
    # What the RTI itself was told (`mom.mom`): federation, what, arguments, and if all nodes were.
    told: list[tuple[Federation, str, tuple[Any, ...], bool]] | None = None

    def __init__(self, node: str, now: float) -> None:
        self.node = node
        self.now = now
        self.effects: list[Effect] = []

    def take_orders(self) -> list[tuple[Federation, Member, str, tuple[Any, ...]]] | None:
        """A method, since in its caller mypy would take `orders` for None from there on, and compiled code insists on it."""
        orders = self.orders
        self.orders = None
        return orders

    def unfinished(self) -> bool:
        """Is there more to do at its end than to hand over its effects?"""
        return self.pauses or self.queued or self.begins or self.orders is not None
