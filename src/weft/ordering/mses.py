"""Causal order for multicast: the state of one process (S0-2 … S0-6, S0-15, S0-16).

The algorithm is MSES (modified Schiper-Eggli-Sandoz).  Process i keeps

    time    VT: for each process how much of it is in i's past; the own entry counts sends and deliveries
    rows    CV: for each destination k the pairs (j, x) of messages to k that i knows of, that are not known to be delivered
            at k, and that no other such message follows.  Row i is empty.

    send M to D       time[i] += 1; the tag is (time, i, D, rows); then rows[k] = {(i, time[i])} for k in D
    M may be delivered at i   when for all (l, x) in row i of its tag: time[l] >= x
    deliver M of j    (i)   k in D but not i:    {(l, x) in rows[k] | x > M.time[l]} + {M}
                      (ii)  k = j:               {(l, x) in rows[j] | x > M.time[l]}
                      (iii) all others but i:    A = rows[k], B = M.rows[k]:
                            (A and B) + {(l, x) in A - B | x > M.time[l]} + {(l, x) in B - A | x > time[l]}
                      then time[i] += 1, and the other entries become the larger of time and M.time

M stands for all it depends on (i); j had delivered what it knew of to itself (ii); and who knows of a message but holds no
pair for it has found the pair needless (iii).  The rows are then the smallest that will do, in every state.

`time[l] >= x` is enough to know that (l, x) is here: if it was for i, it had to be delivered before whatever told i of it.

The buffer.  After each delivery the message that arrived first, of all that may then be delivered, is next: the same as
scanning the buffer from its start after every delivery.  Nothing is scanned here, though.  A message waits at one pair of its
row that is not there yet; when `time[l]` rises only those who wait for l are looked at.

The state is brought up to date before the message is handed out, not after (S0-5 has the callback first): a callback of ours may
send, and what it sends is caused by the message.  For a callback that does not send there is no difference.

Numbers.  A process that joins gets the next number, from 0; numbers are never changed and never given again in an execution
(the paper would sort them by federate handle, and vectors under way would then speak of somebody else).  `joined` at the others,
before they address it; `resigned` when it gets nothing more.  What it sent still arrives and is delivered in order.

Views.  Messages of a process that crashed may be lost, and what depends on them would wait for ever.  Nor can one pair be dropped
alone: a pair stands for all that lies before it.  So a view ends, as one agreement among the survivors, in three steps:

    1. every survivor stops sending, and has received all that survivors sent it in this view
    2. every message of the crashed that any survivor holds, delivered or not, is forwarded to all its surviving destinations;
       messages that nobody holds are void
    3. at each survivor: `crashed`, which delivers what still waits, in causal order; it may send again at once

At its end no message of the view is under way that anybody will deliver, so all rows are empty.  A message of the next view
that comes to a survivor before its step 3 is kept until then, and a late one of the crashed is refused: tags say in
which view they were sent.  What a sequencer passes on during step 1 is part of the view and has to arrive as well.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from weft.model.errors import OrderingError
from weft.ordering.message import NOTHING, Tag, TaggedMessage

PRESENT: Final = 0
RESIGNED: Final = 1
CRASHED: Final = 2
PLACES: Final = 40  # bits for the lower of two numbers in one: arrivals and processes are fewer than 2**40


class MsesCounts:
    """What a process has done since it was made."""

    def __init__(self) -> None:
        self.sent = 0
        self.pairs = 0  # in the tags of what was sent
        self.delivered = 0  # with those filtered
        self.filtered = 0
        self.waited = 0
        self.duplicates = 0
        self.refused = 0  # messages of crashed processes that came after the view had changed


class HeldMessage:
    """A message in the buffer, and how far its row was found to be there."""

    __slots__ = ("arrival", "at", "message", "tag")

    def __init__(self, arrival: int, message: TaggedMessage, tag: Tag) -> None:
        self.arrival = arrival
        self.message = message
        self.tag = tag
        self.at = 0


class Mses:
    """Process `own`, which knows of processes 0 … known - 1.  Who joins late begins in the view of that time."""

    def __init__(self, own: int, known: int = 0, view: int = 0) -> None:
        size = max(known, own + 1)
        self.own = own
        self.view = view
        self.time: list[int] = [0] * size
        self.rows: list[list[int]] = [NOTHING] * size
        self.state: list[int] = [PRESENT] * size
        self.counts = MsesCounts()
        self.arrivals = 0
        self.held: dict[int, HeldMessage] = {}  # the buffer, by arrival
        self.named: dict[int, int] = {}  # the same by source and number, which are one number here
        self.ready: list[int] = []  # a heap of arrivals that may be delivered
        # By l: heaps of x and arrival, as one number.
        self.waiting: list[list[int]] = [[] for _ in range(size)]
        self.later: list[TaggedMessage] = []  # of a view that has not begun here

    # Sending

    def send(self, destinations: list[int]) -> Tag:
        """The tag of a new message.  `destinations` rise, and are exactly those who will get it (S0-16)."""
        own, time, rows = self.own, self.time, self.rows
        self._check_destinations(destinations)
        time[own] += 1
        tag = Tag(self.view, own, time[:], destinations[:], rows[:])
        mine = [own, time[own]]
        for k in destinations:
            rows[k] = mine
        self.counts.sent += 1
        return tag

    def _check_destinations(self, destinations: list[int]) -> None:
        last = -1
        for k in destinations:
            if k <= last:
                raise OrderingError(f"process {self.own}: destinations must rise, not {destinations}")
            if k == self.own:
                raise OrderingError(f"process {k} cannot be a destination of its own message")
            if k >= len(self.time):
                raise OrderingError(f"process {self.own} has not heard that process {k} joined")
            if self.state[k] != PRESENT:
                raise OrderingError(f"process {self.own} cannot send to process {k}, which is gone")
            last = k

    # Receiving

    def admit(self, message: TaggedMessage) -> list[TaggedMessage]:
        """A message has arrived: what may be delivered now, in order.  Those filtered are among them."""
        released: list[TaggedMessage] = []
        tag = self._accepted(message)
        if tag is None:
            return released
        if self.ready or self._missing(tag.row(self.own), 0) >= 0:
            self._hold(message, tag)
        else:  # nothing is before it: it need not go into the buffer
            self._hand_out(message, tag)
            released.append(message)
        if self.ready:
            self._take_all(released)
        return released

    def receive(self, message: TaggedMessage) -> bool:
        """Into the buffer; False if it is dropped.  `take` gives out what may be delivered, one by one."""
        tag = self._accepted(message)
        if tag is None:
            return False
        self._hold(message, tag)
        return True

    def _accepted(self, message: TaggedMessage) -> Tag | None:
        """Its tag, if it is new and of this view."""
        tag = message.tag
        if tag is None:
            raise OrderingError(f"process {self.own} got a message for causal order without a tag")
        source, number = tag.source, tag.number()
        if source >= len(self.time):
            self.joined(len(tag.time) - 1)
        if number <= self.time[source] or (self.held and number << PLACES | source in self.named):
            self.counts.duplicates += 1
            return None
        if self.state[source] == CRASHED:
            self.counts.refused += 1
            return None
        self._check_addressed(tag)
        if tag.view > self.view:
            self.later.append(message)
            return None
        return tag

    def _check_addressed(self, tag: Tag) -> None:
        own, is_for_us = self.own, False
        for destination in tag.destinations:
            if destination == own:
                is_for_us = True
        if not is_for_us:
            raise OrderingError(
                f"process {self.own} got a message of {tag.source} that is for {tag.destinations}"
            )
        if tag.view < self.view:
            raise OrderingError(
                f"process {self.own} got a message of {tag.source} sent in view {tag.view} after view {self.view} "
                f"had begun: all messages of a view must have arrived before it ends"
            )

    def _hold(self, message: TaggedMessage, tag: Tag) -> None:
        self.arrivals += 1
        held = HeldMessage(self.arrivals, message, tag)
        self.held[held.arrival] = held
        self.named[tag.number() << PLACES | tag.source] = held.arrival
        if not self._settle(held):
            self.counts.waited += 1

    def _settle(self, held: HeldMessage) -> bool:
        """True and ready, or waiting at the next pair that is not there."""
        row = held.tag.row(self.own)
        held.at = self._missing(row, held.at)
        if held.at >= 0:
            heappush(self.waiting[row[held.at]], row[held.at + 1] << PLACES | held.arrival)
            return False
        heappush(self.ready, held.arrival)
        return True

    def _missing(self, row: list[int], start: int) -> int:
        """Where in the row is the first pair that is not there yet?  -1: all are."""
        time = self.time
        for at in range(start, len(row), 2):
            source = row[at]
            if source >= len(time):
                self.joined(source)
                time = self.time
            if time[source] < row[at + 1]:
                return at
        return -1

    def take(self) -> TaggedMessage | None:
        """Deliver the next message, if there is one."""
        if not self.ready:
            return None
        held = self.held.pop(heappop(self.ready))
        tag = held.tag
        del self.named[tag.number() << PLACES | tag.source]
        self._hand_out(held.message, tag)
        return held.message

    def _hand_out(self, message: TaggedMessage, tag: Tag) -> None:
        self.deliver(tag)
        self.counts.delivered += 1
        if message.filtered:
            self.counts.filtered += 1

    def _take_all(self, released: list[TaggedMessage]) -> None:
        while True:
            message = self.take()
            if message is None:
                return
            released.append(message)

    # Delivering

    def deliver(self, tag: Tag) -> None:
        """Bring time and rows up to date: the message is delivered, as the buffer says or who has a buffer of its own."""
        if len(tag.time) > len(self.time):
            self.joined(len(tag.time) - 1)
        self._update_rows(tag)
        time, theirs, waiting, own = self.time, tag.time, self.waiting, self.own
        time[own] += 1
        for place in range(len(theirs)):
            if place != own and theirs[place] > time[place]:
                time[place] = theirs[place]
                if waiting[place]:
                    self._wake(place)

    def _update_rows(self, tag: Tag) -> None:
        rows, state, own, source = self.rows, self.state, self.own, tag.source
        theirs, time, destinations = tag.rows, tag.time, tag.destinations
        known = len(theirs)
        at = 0
        alone = [source, time[source]]
        before, after = NOTHING, alone  # many destinations often have one row, and keep it so
        for k in range(len(rows)):
            addressed = at < len(destinations) and destinations[at] == k
            if addressed:
                at += 1
            if k == own or state[k] != PRESENT:
                continue
            if addressed:
                if rows[k] is not before:
                    before = rows[k]
                    after = follow(before, time, alone)
                rows[k] = after
            elif k == source:
                rows[k] = newer(rows[k], time)
            else:
                rows[k] = merge(rows[k], theirs[k] if k < known else NOTHING, time, self.time)

    def _wake(self, source: int) -> None:
        queue = self.waiting[source]
        while queue and queue[0] >> PLACES <= self.time[source]:
            self._settle(self.held[heappop(queue) & ((1 << PLACES) - 1)])

    # Membership

    def joined(self, process: int) -> None:
        """A process, and with it all that joined before."""
        for _ in range(len(self.time), process + 1):
            self.time.append(0)
            self.rows.append(NOTHING)
            self.state.append(PRESENT)
            self.waiting.append([])

    def resigned(self, process: int) -> None:
        """It gets nothing more, so its row goes.  What it sent still comes, and pairs of it stay until then."""
        self.joined(process)
        self.state[process] = RESIGNED
        self.rows[process] = NOTHING

    def returned(self, process: int) -> None:
        """It was said to have resigned, and is there."""
        self.state[process] = PRESENT

    def copy(self) -> Mses:
        """Without the buffer."""
        made = Mses(self.own, len(self.time), self.view)
        made.time, made.rows, made.state = self.time[:], self.rows[:], self.state[:]
        return made

    def crashed(self, processes: list[int]) -> list[TaggedMessage]:
        """The view ends; all that could arrive has arrived.  What waited, waited for what is lost, and is released."""
        left = sorted(self.held.values(), key=_by_cause)
        for queue in self.waiting:
            queue.clear()
        self.ready.clear()
        released: list[TaggedMessage] = []
        for held in left:
            heappush(self.ready, held.arrival)
            self._take_all(released)
        for process in processes:
            self.joined(process)
            self.state[process] = CRASHED
        self.rows = [NOTHING] * len(self.rows)
        self.view += 1
        early, self.later = self.later, []  # what was sent in this view by those who began it sooner
        for message in early:
            released += self.admit(message)
        return released


def newer(row: list[int], time: list[int]) -> list[int]:
    """The pairs that a message of this time does not know of."""
    known = len(time)
    kept = 0
    for at in range(0, len(row), 2):
        source = row[at]
        if source >= known or row[at + 1] > time[source]:
            kept += 2
    if kept == len(row):
        return row
    if kept == 0:
        return NOTHING
    left: list[int] = []
    for at in range(0, len(row), 2):
        source = row[at]
        if source >= known or row[at + 1] > time[source]:
            left.append(source)
            left.append(row[at + 1])
    return left


def follow(row: list[int], time: list[int], alone: list[int]) -> list[int]:
    """The same, and the message itself, at its place; `alone` is the row that has nothing else."""
    known, source = len(time), alone[0]
    kept = place = 0
    replaced = 0  # an older message of the same source goes in any case
    for at in range(0, len(row), 2):
        other = row[at]
        if other < source:
            place = at + 2
        if other == source:
            replaced = 2
        elif other >= known or row[at + 1] > time[other]:
            kept += 2
    if kept == 0:
        return alone
    if kept + replaced == len(row):  # no other goes: a copy, so that their numbers need not be made again
        made = row[:]
        if replaced:
            made[place + 1] = time[source]
        else:
            made.insert(place, time[source])
            made.insert(place, source)
        return made
    made = []
    placed = False
    for at in range(0, len(row), 2):
        other = row[at]
        if other >= source and not placed:
            placed = True
            made += alone
        if other != source and (other >= known or row[at + 1] > time[other]):
            made.append(other)
            made.append(row[at + 1])
    if not placed:
        made += alone
    return made


def merge(ours: list[int], theirs: list[int], their_time: list[int], our_time: list[int]) -> list[int]:
    """What both hold, and what one holds and the other does not know of."""
    if not theirs:
        return newer(ours, their_time)
    if not ours:
        return newer(theirs, our_time)
    if ours == theirs:
        return ours
    made: list[int] = []
    at = to = 0
    ours_end, theirs_end = len(ours), len(theirs)
    their_known, our_known = len(their_time), len(our_time)
    while at < ours_end or to < theirs_end:
        if to == theirs_end or (at < ours_end and ours[at] < theirs[to]):
            source, number = ours[at], ours[at + 1]
            if source >= their_known or number > their_time[source]:
                made.append(source)
                made.append(number)
            at += 2
            continue
        source, number = theirs[to], theirs[to + 1]
        to += 2
        if at == ours_end or source < ours[at]:
            if source >= our_known or number > our_time[source]:
                made.append(source)
                made.append(number)
            continue
        # both name this source: the same message, or the newer of the two, which only one of them knows
        number = max(number, ours[at + 1])
        at += 2
        made.append(source)
        made.append(number)
    return made


def _by_cause(held: HeldMessage) -> tuple[int, int]:
    """A cause has a smaller time in every entry than its effect."""
    return sum(held.tag.time), held.arrival
