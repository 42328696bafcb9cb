"""Weft's own orders in a snapshot: only which view it is.

What was under way is not part of it.  A node that gets its first member has had no message, so its processes begin with nothing.
A restored federation is another execution, in which nobody has sent anything: it begins in view 0 with empty rows.  Messages of
before the save that were not taken are among the callbacks of the save, since all of them had arrived (`node.pausing`).
"""

from __future__ import annotations

from typing import Any

from weft.kernel.state.federation import Federation
from weft.kernel.state.order_state import Flush


def orders_data(federation: Federation) -> list[object]:
    orders = federation.orders
    flush = orders.flush
    ending = None if flush is None else [flush.point, list(flush.nodes)]
    return [federation.ordered, orders.view, orders.settled, ending, list(orders.nodes)]


def restore_orders(federation: Federation, data: list[Any] | None) -> None:
    """None: of a federation saved by a Weft that had no such orders."""
    federation.ordered |= federation.catalog.ordered
    if data is None:
        return
    ordered, view, settled, ending, nodes = data
    orders = federation.orders
    federation.ordered |= ordered
    orders.view = view
    orders.settled = settled
    orders.flush = None if ending is None else Flush(ending[0], tuple(ending[1]))
    orders.nodes = dict.fromkeys(nodes)


def begin_anew(federation: Federation) -> None:
    """The federation is restored from a save."""
    orders = federation.orders
    orders.view = orders.settled = 0
    orders.flush = None
    orders.nodes = {member.node: None for member in federation.members.values()}
