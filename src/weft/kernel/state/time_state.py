"""The state of time management: of each federate, and of a federation.

What all nodes know of a federate, by commands: whether it regulates, is constrained, or waits to become so.  All else of a
`Timing` is true at the federate's own node only.  `time.grants` says how it changes, `time.galt_exchange` how
the nodes agree.

Times are plain numbers in here (`weft.model.time` wraps them for federates).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from weft.kernel.state.topics import Change
from weft.model.deliveries import Delivery
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle
from weft.model.time import LogicalTime, TimeValue
from weft.ordering.galt import Bound, LowerBounds
from weft.ordering.stamped import StampQueue

GRANTED: Final = 0
TAR: Final = 1  # Time Advance Request
TARA: Final = 2  # … Available
NMR: Final = 3  # Next Message Request
NMRA: Final = 4  # … Available
FLUSH: Final = 5  # Flush Queue Request, where it has to wait for a federation save
SERVICE_NAMES: Final = ("granted", "TAR", "TARA", "NMR", "NMRA", "FQR")


_SPARE: Final = 64


class Report(NamedTuple):
    """Of a federate, from its node to the home."""

    federate: int  # the number of its handle
    mode: int
    time: TimeValue
    exclusive: bool
    requested: TimeValue
    lookahead: TimeValue
    floor: Bound  # it has promised this before, and keeps to it
    head: TimeValue | None  # the smallest time stamp that waits for it; None: nothing does
    reached: Bound  # it has been given all messages below this: nobody may send there any more


class View(NamedTuple):
    """What the home says of all promises together."""

    least: Bound | None  # the smallest
    alone: int  # the federate that alone promised it; 0: several did, or nobody regulates
    second: Bound | None  # the smallest of the others; None: there are none


NO_VIEW: Final = View(None, 0, None)
STOPPED: Final = View((0, 0), 0, None)
"""Nobody may advance."""


class Retractable(NamedTuple):
    """A message that its sender may still take back."""

    time: TimeValue
    nodes: tuple[str, ...]
    deleted: int  # the number of the instance that it deletes; 0: it is another message


class Given(NamedTuple):
    """What a federate was given of a message that may come to it again, late (`services.timed_changes`)."""

    time: TimeValue
    attributes: dict[AttributeHandle, None]  # of an update; of an interaction there are none


class HeldDelivery(NamedTuple):
    """In receive order, or one of Weft's own, for a federate that is granted."""

    delivery: Delivery
    number: int  # of the message, as a callback has it


class Timing:
    """Of one federate."""

    def __init__(self) -> None:
        # At all nodes.
        self.regulating = False
        self.constrained = False
        self.regulation_pending = False
        self.constrained_pending = False
        self.asked_lookahead: TimeValue = 0  # with which it wants to regulate
        # At its own node.
        self.constrained_ending = False  # it does not want to be any more, and nodes are still to hear of it
        self.time: TimeValue = 0
        self.exclusive = False  # it was granted its time including all messages of that time
        self.reached: Bound = (0, 0)  # it has been given all messages below this
        self.mode = GRANTED
        self.requested: TimeValue = 0
        self.flushing: TimeValue | None = None  # of a Flush Queue Request that waits: up to when
        self.stalled = False  # it waits for the operator (`federation.operator`): as if it had not asked
        self.flushed = 0  # in which round of the operator's steps it was last let through
        self.lookahead: TimeValue = 0  # as it was last asked for
        self.floor: Bound = (0, 0)  # what it has promised: a smaller lookahead holds only as time advances
        self.asynchronous = False
        self.queue = StampQueue()
        self.held: list[HeldDelivery] = []
        self.sent = 0  # messages of any order
        self.retractable: dict[bytes, Retractable] = {}
        self.expiry: list[
            tuple[TimeValue, bytes]
        ] = []  # the same as a heap, by time; also some that were taken back
        self.delivered: dict[bytes, TimeValue] = {}  # to it, and may still be taken back: their time stamps
        self.since = 0.0  # when it asked, or was granted
        self.spent = [0.0, 0.0]  # for the MOM: seconds granted and advancing, since that was last told …
        self.told = [0.0, 0.0]  # … which was then
        self.patience = 0.0  # after so many seconds it is told who blocks it; 0: never
        self.alarm = 0.0  # when that is due; 0: it is not
        self.gone: dict[
            ObjectInstanceHandle, None
        ] = {}  # removed from it; other nodes are still to hear of it
        # Regions as of a time (`services.timed_changes`).
        self.changes: dict[int, Change] = {}  # under way, by the number of the call
        self.untimed = 0  # counts its changes without a time
        self.declared: TimeValue | None = (
            None  # as of when its last call without a time counts, where it does
        )
        self.saved_log: list[Any] = []  # of a federation made of a save: what its node is to have in its log
        self.given: dict[bytes, Given] = {}  # as long as a change may concern the time of the message
        self.forgotten: TimeValue | None = None  # up to which time that is over

    def is_holding(self) -> bool:
        """Does what is sent in receive order wait for it?  Not while it waits for its regulation, which is a request to advance
        (8.2): its time may jump, and what is in its queue up to there is delivered."""
        waits = self.constrained and self.mode == GRANTED and not self.asynchronous
        return waits and not self.regulation_pending

    def is_gone(self, about: object) -> bool:
        """Is it an instance whose removal the federate has had, though other nodes are still to hear of that?"""
        return isinstance(about, ObjectInstanceHandle) and about in self.gone

    def flush_time(self) -> TimeValue:
        """Up to when a Flush Queue Request that waits is to flush."""
        return self.requested if self.flushing is None else self.flushing

    def late_from(self) -> Bound | None:
        """What it is sent late, because of changes that are under way, may come from there on."""
        return (min([change.time for change in self.changes.values()]), 0) if self.changes else None

    def give(self, retraction: bytes, time: Any, attributes: Iterable[AttributeHandle] = ()) -> None:
        """It is given that, and if all or some of it is sent again the federate is not to hear it twice."""
        had = self.given.get(retraction)
        both = dict.fromkeys(attributes) if had is None else had.attributes | dict.fromkeys(attributes)
        self.given[retraction] = Given(time, both)

    def forget(self, past: TimeValue) -> None:
        """Nobody makes a change before that time any more; but one that is under way may still lead to late sends.

        Promises say nothing of that: a federate that has changed something may promise more, and waits at the change.
        """
        late = self.late_from()
        limit = past if late is None else min(past, late[0])
        if self.forgotten is None or limit > self.forgotten:
            self.forgotten = limit
            self.given = {handle: one for handle, one in self.given.items() if one.time >= limit}

    def promise(self) -> Bound:
        """No message of its own comes below this, unless it asks for the next message and is granted sooner."""
        if self.mode == GRANTED or self.stalled:
            return bound_of(self.time, self.lookahead, self.exclusive, self.floor)
        return bound_of(self.requested, self.lookahead, self.mode in (TAR, NMR, FLUSH), self.floor)

    def may_retract(self, retraction: bytes, message: Retractable) -> None:
        self.retractable[retraction] = message
        heappush(self.expiry, (message.time, retraction))

    def prune(self) -> None:
        """Forget messages that can no longer be taken back."""
        promise = self.promise()
        expiry = self.expiry
        while expiry and (expiry[0][0], 0) < promise:
            self.retractable.pop(heappop(expiry)[1], None)
        if len(expiry) > 2 * len(self.retractable) + _SPARE:  # many were taken back
            self.expiry = [(message.time, retraction) for retraction, message in self.retractable.items()]
            heapify(self.expiry)

    def actual_lookahead(self) -> TimeValue:
        return max(self.lookahead, self.floor[0] - self.time)

    def lookahead_from(self, time: TimeValue) -> TimeValue:
        """What it promises by asking for this time, or being granted it, as a lookahead.

        Floats may have none that adds up to the promise exactly; then it is the largest that adds up to less.
        """
        floor = self.floor[0]
        if floor <= time + self.lookahead:
            return self.lookahead
        rest = floor - time
        if isinstance(rest, float) and time + rest != floor:
            more = math.nextafter(rest, math.inf)
            if time + more <= floor:
                return more
            if time + rest > floor:
                return math.nextafter(rest, 0.0)
        return rest


def bound_of(time: Any, lookahead: TimeValue, exclusive: bool, floor: Bound) -> Bound:
    """With a lookahead of zero, who was granted all messages of a time may send none of that time any more."""
    bound: Bound = (time + lookahead, 1 if exclusive and not lookahead else 0)
    return max(bound, floor)


class Timetable:
    """At the home: what all nodes have reported, and what they were told."""

    def __init__(self) -> None:
        self.bounds: LowerBounds = LowerBounds()
        self.reports: dict[FederateHandle, Report] = {}
        self.version = 0  # counts what was told
        self.seen: dict[str, int] = {}  # by node: up to which version it has been told, as it says itself
        self.told: dict[str, tuple[View, int]] = {}  # by node: the last view, and with which version
        self.named: dict[str, bytes] = {}  # by node: who is behind, as it was told
        self.review = 0.0  # when to look if nodes know who is behind; 0: nobody could have become another
        # To a node: the smallest time stamps under way, and which version it must have seen to have got them.
        self.under_way: dict[str, list[tuple[int, TimeValue]]] = {}
        self.asking: dict[str, dict[FederateHandle, None]] = {}  # by node: who asks for the next message
        self.freezing: dict[
            FederateHandle, int
        ] = {}  # wants to regulate; begins when all nodes have seen this version
        self.pending: dict[FederateHandle, None] = {}  # waits to be constrained
        self.silent: dict[
            FederateHandle, None
        ] = {}  # members whose reports a restarted home does not have yet


class Horizon:
    """At each node with members of the federation: what the home has said, and what it is to be told."""

    def __init__(self) -> None:
        self.view = NO_VIEW
        self.seen = 0
        self.behind = b""  # whom the others wait for (`time.report_codec`)
        self.announce: dict[
            str, TimeValue
        ] = {}  # smallest time stamp sent to that node since the last report
        self.granted: tuple[LogicalTime] | None = None  # what was last granted: many are granted the same
        self.past: TimeValue | None = (
            None  # nothing is sent or changed before that time any more; None: that is not known
        )
        self.waiting: dict[FederateHandle, None] = {}  # members here that ask for time, or to be constrained


class Halt:
    """The operator has paused logical time: nobody is granted more than what the *gate* lets through."""

    def __init__(self, since: float, by: str) -> None:
        self.since = since  # by this node's clock
        self.by = by
        self.gate: TimeValue | None = (
            None  # the last time that was let through; None: none was since the pause
        )
        self.steps = 0  # that the operator has asked for and that have let nothing through yet
        self.round = 0  # the command that has opened the gate; each lets every flush through once
        self.counted = True  # somebody was granted the time of the gate, so that it counts as a step
        # At the home: whoever may have been granted it, and the version that all nodes must have seen before the first step.
        self.hopefuls: dict[FederateHandle, None] = {}
        self.version = 1

    def lets(self, time: TimeValue) -> bool:
        return self.gate is not None and bool(time <= self.gate)

    def limit(self) -> Bound | None:
        """Nothing beyond it is delivered or granted; None: nothing is at all."""
        return None if self.gate is None else (self.gate, 1)


class FederationTime:
    """Of a federation, at one node."""

    def __init__(self) -> None:
        self.horizon = Horizon()
        self.timetable: Timetable | None = None  # at the home
        self.halt: Halt | None = None  # the operator has paused logical time (`federation.operator`)
