"""What a node keeps for the orders of Weft's own: causal, total and priority order (docs/explanation/ordering.md).

`message.causal_order` sends and delivers, `message.causal_views` begins and ends views.  Here is the state.

Processes.  A federate is the process with the number of its handle: numbers follow the order of joining commands and are never
given again.  Process 0 is the sequencer, at the home; 0 is the number of the RTI's own handle.

Views.  Two numbers move: `view`, in which whatever is sent is stamped, and `settled`, in which messages are delivered.  They are
the same but while a view is being ended (`flush`).  A federate has one process in each of the two; that of the sending view has
had no message yet.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from weft._build import mypyc_attr
from weft.model.handles import FederateHandle, ObjectInstanceHandle
from weft.ordering import Mses, MsesCounts, TaggedMessage

if TYPE_CHECKING:
    from weft.kernel.state.federation import Instance
    from weft.kernel.state.messages import Deletion
    from weft.kernel.state.parcels import Ordered

SEQUENCER = 0
KEPT = 256  # messages of each process that are kept in case it is lost before all have them


class OrderCounts:
    """What was done in causal and total order at one node, in one execution; for benchmarks."""

    def __init__(self) -> None:
        self.messages = 0  # stamped here
        self.tags = 0  # written, for other nodes
        self.tag_bytes = 0
        self.pairs = 0  # that those recipients look at, or keep
        self.delivered = 0
        self.waited = 0  # of those, how many had to wait for another
        self.duplicates = 0
        self.stale = 0  # of a view that was over: dropped
        self.views = 0  # that have ended


class Way:
    """To whom messages that are alike go: found once, and good until a declaration or the membership changes."""

    def __init__(self, to: list[int], own: str, places: list[str]) -> None:
        self.to = to  # processes, rising
        self.here = [number for number in to if places[number] == own]
        away: dict[str, list[int]] = {}
        for number in to:
            if places[number] and places[number] != own:
                away.setdefault(places[number], []).append(number)
        self.nodes = list(away)  # the others
        self.groups = list(away.values())  # whom it is for there
        self.managed = False  # it is an interaction that the RTI itself acts on


class Process:
    """A federate here, or the sequencer."""

    def __init__(self, number: int, known: int, settled: int, view: int) -> None:
        self.number = number
        self.handle = FederateHandle.of(number)
        self.current = Mses(number, known, settled)
        self.sending = self.current if view == settled else Mses(number, known, view)
        self.later: list[TaggedMessage] = []  # of views after the current one


class Flush:
    """A view is being ended: these nodes say one another that nothing of it is under way any more."""

    def __init__(self, point: int, nodes: tuple[str, ...]) -> None:
        self.point = point  # the number of the command that ended it
        self.nodes = nodes
        self.marks: dict[str, None] = {}
        self.shared = False
        self.shares: dict[str, None] = {}  # at the home: the nodes that have all marks


class Ghost:
    """An instance that is deleted, and whose removal some federates here are still to be told, in its order."""

    def __init__(self, instance: Instance, message: Deletion, waiting: dict[int, None], view: int) -> None:
        self.instance = instance
        self.message = message
        self.waiting = waiting
        self.view = view


@mypyc_attr(allow_interpreted_subclasses=True)
class OrderState:
    """What one node knows; `message.causal_order.CausalOrder` is the one that every federation has."""

    def __init__(self) -> None:
        self.view = 0
        self.settled = 0
        self.flush: Flush | None = None
        self.asked = False  # the home is asked to end the view
        self.again = False  # and has to be asked once more
        self.nodes: dict[str, None] = {}  # that have members, or had
        self.processes: dict[int, Process] = {}
        self.recent: dict[int, deque[Ordered]] = {}  # what was got of each process, and others were to get
        self.ghosts: dict[ObjectInstanceHandle, Ghost] = {}
        # Worked out for this generation of declarations and members:
        self.generation = 0
        self.places: list[str] = []  # of each process the node; empty if it is gone
        self.ways: dict[tuple[object, ...], Way] = {}
        self.counts = OrderCounts()

    def count_up(self) -> OrderCounts:
        """The counts, with what the processes have done since somebody last asked."""
        for process in self.processes.values():
            self.retire(process.current)
        return self.counts

    def retire(self, process: Mses) -> None:
        """Enter what it has counted; it is over, or counts anew."""
        self.counts.waited += process.counts.waited
        self.counts.duplicates += process.counts.duplicates
        process.counts = MsesCounts()
