"""What a node keeps to send as of a logical time: topics with their distribution lists, and the log
(docs/explanation/ddm-sync.md).

A *topic* is an attribute or an interaction class that has dimensions, or any if declarations are synchronized.  It has the
distribution lists of its cells (`weft.interest.cells`), which say who may want a message of a certain time and place;
`ddm.matching_at_time` then says who does.
What is sent in time stamp order is in the *log* until nothing can change below its time any more, so that a federate that comes
to want it by a change as of an earlier time can be sent it late.

A topic is made when a member here first sends something of it; from then on every change of a subscription with regions is
entered.  Nothing of this is known to other nodes.

Where something was sent without regions it is not in any cell but in a list of its own, `EVERYWHERE`, which everybody is
on who subscribes with any region.

Tbound (S4-15).  A federation may do without a log: its RID file then says how far *Tbound* is ahead of what is past for
everybody (TboundAhead).  Messages are sent before Tbound and changes are made at it or later.  The home judges a change by what
is past when it gives the command its place; no node that has not carried the command out can know of a later past, because that
is told behind it.  So no message that a change concerns has been sent by then.

`message.deliver_as_of` sends, `services.timed_changes` has the changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from weft.interest import CellAxis, CellInterest, CellUpdate, Extent, Grid, Placed, Subscribed
from weft.model.handles import AttributeHandle, FederateHandle, InteractionClassHandle
from weft.model.time import TimeValue

if TYPE_CHECKING:
    from weft.kernel.state.messages import Interaction, Update
    from weft.kernel.state.region_state import Extents, Where

EVERYWHERE: Final = -1
_LEAST: Final = 64  # so much has to be done before it pays to reclaim

Box = tuple[tuple[int, int] | None, ...]
Name = AttributeHandle | InteractionClassHandle


class LoggedMessage:
    """A message in time stamp order, in the log of its sender's node."""

    def __init__(self, message: Interaction | Update) -> None:
        self.message = message
        stamp = message.stamp
        assert stamp is not None
        assert stamp.retraction is not None
        self.time = stamp.time.value
        self.retraction = stamp.retraction
        # Who has it: of an update the attributes, of an interaction the class at which it is received.
        self.attributes: dict[FederateHandle, dict[AttributeHandle, None]] = {}
        self.classes: dict[FederateHandle, InteractionClassHandle] = {}
        self.entered: list[tuple[Topic, CellUpdate[int, LoggedMessage]]] = []

    def forget(self, federate: FederateHandle) -> None:
        self.attributes.pop(federate, None)
        self.classes.pop(federate, None)


NEVER: Final = -1


class Condition(NamedTuple):
    """On which a message waits in a queue: that it is still wanted, as of its time, where it was sent."""

    where: Where | None  # of an update
    at: Extents | None  # of an interaction
    sent_class: InteractionClassHandle | None  # of an interaction
    # No longer asked when the federate has changed something without a time since (`Timing.untimed`); NEVER: it is not.
    untimed: int
    # Of an update: attributes for which it is not asked, because such a change found them waiting.
    kept: frozenset[AttributeHandle] = frozenset()


class TopicGrid(Grid):
    """Whoever subscribes anywhere is also on the list of what is sent without regions."""

    def cells(self, region: tuple[Any, ...]) -> frozenset[int]:
        return super().cells(region) | {EVERYWHERE} if region else frozenset()


class Topic:
    def __init__(self, name: Name, dimensions: list[int], axes: list[CellAxis]) -> None:
        """`dimensions`: the number of each; `axes`: how each is cut into cells, the same at every node."""
        self.name = name
        self.dimensions = dimensions
        self.interest: CellInterest[int, LoggedMessage] = CellInterest(TopicGrid(axes))

    def box(self, extent: Extent) -> Box:
        return tuple([extent.bounds(number) for number in self.dimensions])

    def cells(self, extents: Extents | None) -> frozenset[int]:
        """That a message touches which is sent with these extents (None: without regions)."""
        if extents is None:
            return frozenset([EVERYWHERE])
        boxes = tuple([self.box(extent) for extent in extents])
        return self.interest.grid.cells(boxes) - {EVERYWHERE}

    def may_want(self, extents: Extents | None, time: TimeValue) -> dict[int, None]:
        """The numbers of federates that subscribe with regions in one of its cells as of that time."""
        found: dict[int, None] = {}
        lists = self.interest.lists
        reclaimed = lists.limits.reclaimed
        if reclaimed is not None and time < reclaimed[0]:
            time = reclaimed[0]  # its sender began to regulate late, and nobody knows any more
        for cell in self.cells(extents):
            found.update(dict.fromkeys(lists.read(cell, time)))
        return found

    def log(self, logged: LoggedMessage, extents: Extents | None) -> None:
        reclaimed = self.interest.lists.limits.reclaimed
        if reclaimed is None or logged.time >= reclaimed[0]:
            placed = Placed((), self.cells(extents))
            update = CellUpdate(logged.time, logged, logged.message.sender.number, placed)
            self.interest.lists.update(update.placed.cells, update)
            logged.entered.append((self, update))

    def between(
        self, cells: Iterable[int] | None, time: TimeValue, until: TimeValue | None
    ) -> list[LoggedMessage]:
        """What the log has of these cells (None: of all) in [time, until)."""
        lists = self.interest.lists
        found = lists.between(list(lists.lists) if cells is None else cells, time, until)
        return [update.value for update in found]

    def enter(self, federate: int, key: Any, first: Any, changes: list[tuple[Any, Any]]) -> frozenset[int]:
        """A subscription with a region, as it is at all times; the cells that it has, or had before this."""
        subscribed = Subscribed((federate, key), first, changes)
        before = self.interest.replace(subscribed)
        history = self.interest.subscriptions.get(subscribed.member)
        if history is None:
            return before
        return before.union(history.first.cells, *[placed.cells for placed in history.values])


class Change:
    """A change as of a time that is under way: until all nodes have carried it out, its federate is not granted that time."""

    def __init__(self, time: TimeValue) -> None:
        self.time = time
        self.nodes: dict[str, None] | None = None  # that are still to say so; None: the home has not decided


class Counts:
    """For benchmarks, and for who asks how it goes."""

    def __init__(self) -> None:
        self.logged = 0  # messages that were logged here
        self.asked = 0  # federates that were asked whether they want one, because they are on the list of one of its cells
        self.sent = 0  # federates that one was sent to at once
        self.lists = 0  # lists of cells that changes of regions and subscriptions touched
        self.log = 0  # the most that the log ever had
        self.late = 0  # late sends from here
        self.dropped = 0  # messages for members here that they came not to want
        self.changes = 0  # as of a time, carried out here


class Distribution:
    """What one node knows; `message.deliver_as_of.DeliveryAsOf` is the one that every federation has."""

    def __init__(self) -> None:
        self.topics: dict[Name, Topic] = {}
        self.log: dict[bytes, LoggedMessage] = {}  # by retraction handle
        self.changing: dict[FederateHandle, None] = {}  # members here with changes under way
        self.reclaimed: TimeValue | None = None
        self.work = 0  # changes and messages since the last time
        self.counts = Counts()

    def enter(self, logged: LoggedMessage) -> None:
        self.log[logged.retraction] = logged
        self.work += 1
        self.counts.logged += 1
        self.counts.log = max(self.counts.log, len(self.log))

    def count(self, sender: FederateHandle, may: dict[int, None], wanted: int) -> None:
        """So many want a message, of those who may."""
        self.counts.asked += len(may) - (sender.number in may)
        self.counts.sent += wanted

    def withdraw(self, retraction: bytes) -> None:
        """Its sender takes it back: nobody gets it late."""
        logged = self.log.pop(retraction, None)
        if logged is not None:
            for topic, update in logged.entered:
                topic.interest.lists.withdraw(update.placed.cells, update)

    def reclaim(self, past: TimeValue | None) -> None:
        """Nothing is sent or changed before that time any more.  Done when enough has come together to pay for it."""
        if past is None or (self.reclaimed is not None and past <= self.reclaimed):
            return
        if self.work < _LEAST + len(self.log) // 2:
            return
        self.reclaimed = past
        self.work = 0
        for topic in self.topics.values():
            topic.interest.reclaim((past, 0))
        for retraction in [handle for handle, logged in self.log.items() if logged.time < past]:
            del self.log[retraction]

    def left(self, federate: FederateHandle) -> None:
        """It has resigned.  What it sent stays in the log, for those who come to want it."""
        self.changing.pop(federate, None)
        for topic in self.topics.values():
            topic.interest.remove(federate.number)
        for logged in self.log.values():
            logged.forget(federate)
