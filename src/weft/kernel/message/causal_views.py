"""The end of a view: what is lost with a node, or on the way, must not stop what depends on it (S0-16;
docs/explanation/ordering.md).

A message in causal order waits for those before it.  If one of these is lost for good, somebody has to say so, to all at once.
What may lose messages is told to the kernel: a node that went away, was started again, took this one for gone, or to which there
is another way.  Whoever hears of such a thing asks the home to end the view.

    view_ends     a command.  From there on each node sends in the next view; it passes on what it holds of processes that are
                  gone, and sends every other node a `Mark` behind all that it has sent before.
    marks         a node that has those of all others has got all that will come of the view, and tells the home (`Share`).
    view_begins   a command, once the home has heard that from all.  What still waits is released, in causal order.  Messages
                  of the new view, which may have come before, are delivered from now on.

Nothing is stopped meanwhile: federates go on sending, and what they send waits at its receivers until the new view has begun.
A loss during all this is another reason to end a view: the command is given again, the marks begin anew, and all views that have
ended by then give way to the last.  All who hear of one loss ask, but only the first of them is heard: the others name a view
that has ended.  Who joins meanwhile has sent nothing in the views before, so nobody waits for its mark.  A mark may come to a
node before the welcome to the federation, which takes another way: it is kept there.  A node whose last member leaves meanwhile
has sent its marks, and is not waited for.
"""

from __future__ import annotations

from weft.kernel.state.effects import Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.order_state import Flush
from weft.kernel.state.parcels import Mark, Share
from weft.kernel.state.step import Step

VIEW_ENDS = "view_ends"
VIEW_BEGINS = "view_begins"


def view_ends(step: Step, view: int) -> None:
    """Unless that view has ended since it was asked for: whoever has sent a mark that was lost hears of it, too, and asks."""
    federation = step.federation
    orders = federation.orders
    if view < orders.view:
        return
    federation.ordered = True
    orders.end_view(step)
    orders.flush = Flush(federation.sequence + 1, tuple(federation.taking_part()))


def view_begins(step: Step) -> None:
    orders = step.federation.orders
    orders.flush = None
    orders.begin_view(step)


def concerns(federation: Federation, node: str) -> bool:
    """May a loss at that node, or on the way to it, have taken messages of such an order?"""
    return federation.ordered and (node in federation.orders.nodes or node == federation.home)


def ask(federation: Federation) -> bool:
    """Is the home to be asked now?  Not if it has been asked already: then once more after that, since marks may be lost too."""
    orders = federation.orders
    if orders.asked:
        orders.again = True
        return False
    orders.asked = True
    return True


def ask_again(federation: Federation) -> bool:
    again = federation.orders.again
    federation.orders.again = False
    return again and ask(federation)


def go_on(step: Step) -> bool:
    """After each command, mark and share: what this node has to do now.  True, at the home: the new view may begin."""
    federation = step.federation
    flush = federation.orders.flush
    if flush is None or step.node not in flush.nodes:
        return False
    if step.node not in flush.marks:
        flush.marks[step.node] = None
        for node in flush.nodes:
            if node != step.node:
                step.effects.append(Transmit(node, Mark(federation.name, federation.execution, flush.point)))
    if not flush.shared and all(node in flush.marks for node in flush.nodes):
        flush.shared = True
        if federation.home == step.node:
            flush.shares[step.node] = None
        else:
            share = Share(federation.name, federation.execution, flush.point, {})
            step.effects.append(Transmit(federation.home, share))
    if federation.home != step.node:
        return False
    # A node whose last member has left since has sent its marks before, and gets nothing any more.
    still = federation.taking_part()
    return all(node in flush.shares or node not in still for node in flush.nodes)


def told(federation: Federation, sender: str, parcel: Mark | Share) -> bool:
    """A mark or share; False if it is not about this flush."""
    flush = federation.orders.flush
    if flush is None or parcel.execution != federation.execution:
        return False
    if isinstance(parcel, Mark):
        if parcel.after != flush.point:
            return False
        flush.marks[sender] = None
    else:
        if parcel.point != flush.point:
            return False
        flush.shares[sender] = None
    return True
