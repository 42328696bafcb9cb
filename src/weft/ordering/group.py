"""Causal order in a group whose members do not know whom their messages reach: the state of one member.

MSES (`mses`) wants to know the destinations of a message, exactly.  Middleware above an RTI cannot: subscriptions, regions,
update rates and ownership decide, all inside the RTI, and they change while messages are under way.  So here every message
counts for every member.  Who does not get it gets a *note* instead, which says that it was sent and after what.  Then no table of
subscriptions has to be right, a message names only its direct causes (one pair for each source, and after a send none), and there
is no vector of all members in it.

    number    of own messages so far; message x of member j is the pair (j, x)
    done      for each other member up to where its messages are delivered here or known not to come
    causes    what was delivered since the last own message and is not the cause of anything else that was

    send        number += 1; the stamp is (own, number, causes); causes = {}
    M of j may be delivered    when done[j] is its number - 1, and done[l] >= y for all its causes (l, y)
    deliver     causes -= those that M names or that are older of the same source; causes[j] = number; done[j] = number
    note of M   the same without a callback, and without a change of causes: nothing here knows of M

(j, x - 1) need not be named in (j, x), nor anything the receiver itself has sent.

A message may come in *parts* (an update with two transportations is two callbacks): then it is done when its note has come.
A note follows its message on the way from one member to another; that is what is asked of the RTI.

A member begins for us where it first knows of us: from there on the RTI brings us every message of it, or its note.  Until it
has said so, its messages are taken as they come, and what is left out between them was not for us.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final, NamedTuple

from weft.model.errors import OrderingError

KEPT: Final = 256  # stamps of each source that are remembered in case it crashes
Pairs = tuple[tuple[bytes, int], ...]


class GroupStamp(NamedTuple):
    """What a message carries.  A `part` is one of perhaps several, and its note says that all have come."""

    source: bytes
    number: int
    causes: Pairs
    part: bool = False


class _Blocked:
    """A message that has come, or its note, or both."""

    __slots__ = ("arrival", "closed", "in_turn", "payloads", "stamp", "told")

    def __init__(self, arrival: int, stamp: GroupStamp) -> None:
        self.in_turn = False  # what was sent before it has come, if it is for us
        self.arrival = arrival
        self.stamp = stamp
        self.payloads: list[object] = []
        self.closed = not stamp.part
        self.told = False  # a part of it was delivered; others follow at once


class GroupCounts:
    """What has come to a member."""

    def __init__(self) -> None:
        self.delivered = 0
        self.noted = 0  # messages that were not for this member
        self.waited = 0
        self.held_most = 0
        self.late = (
            0  # came after they were given up: best effort, paced, or of a member that left as this one came
        )
        self.refused = 0  # of members that are gone, after what they may have caused


class CausalGroup:
    def __init__(self, own: bytes) -> None:
        self.own = own
        self.number = 0
        self.done: dict[bytes, int] = {}
        self.causes: dict[bytes, int] = {}
        self.lost: set[bytes] = set()  # what has not come of them will not
        self.absent: set[bytes] = set()  # gone before anything of them was heard here
        self.held = 0  # payloads
        self.counts = GroupCounts()
        self._queues: dict[bytes, dict[int, _Blocked]] = {}
        self._blocked: dict[
            bytes, set[bytes]
        ] = {}  # by whom is missed: the sources whose next message misses it
        self._ready: list[tuple[int, bytes]] = []
        self._past: dict[bytes, deque[GroupStamp]] = {}
        self._floor: dict[bytes, int] = {}  # where each began for us
        self._named: dict[
            bytes, int
        ] = {}  # the newest message of each that is the cause of anything done here
        self._arrivals = 0

    # Sending

    def stamp(self, part: bool = False) -> GroupStamp:
        """Of the next message of our own."""
        self.number += 1
        made = GroupStamp(self.own, self.number, tuple(self.causes.items()), part)
        self.causes = {}
        return made

    def unstamp(self, stamp: GroupStamp) -> None:
        """The last message was not sent after all."""
        if stamp.number != self.number:
            raise OrderingError(f"message {stamp.number} was followed by {self.number} others")
        self.number -= 1
        self.causes = dict(stamp.causes)

    # Receiving

    def arrive(self, stamp: GroupStamp, payload: object, in_turn: bool = True) -> list[object]:
        """What may be delivered now, in order.

        `in_turn`: it has not overtaken what its source sent before, as a deletion may.
        """
        source, number = stamp.source, stamp.number
        if source in self.lost or (source in self.absent and number <= self._passed(source)):
            self.counts.refused += 1
            return []
        if number <= self.done.get(source, 0):
            self.counts.late += 1
            self.causes[source] = max(number, self.causes.get(source, 0))
            return [payload]
        waiting = self._waiting(stamp, in_turn)
        if waiting.told:
            self.counts.delivered += 1
            return [payload]
        waiting.payloads.append(payload)
        self.held += 1
        released = self._run(source)
        if waiting.payloads:
            self.counts.waited += 1
            self.counts.held_most = max(self.counts.held_most, self.held)
        return released

    def _passed(self, source: bytes) -> int:
        """What is done of it, or is the cause of anything done."""
        return max(self._named.get(source, 0), self.done.get(source, 0))

    def note(self, stamp: GroupStamp) -> list[object]:
        """The message was sent, and if it has not come it will not."""
        source = stamp.source
        if self._is_gone(source) or stamp.number <= self.done.get(source, 0):
            return []
        self._waiting(stamp, True).closed = True
        return self._run(source)

    def begin(self, source: bytes, number: int) -> list[object]:
        """It knows of us, and has sent so many messages: from there on we get all of them, or their notes.

        Of those before some may have come, by chance; they are delivered, and the others not waited for.
        """
        if source == self.own or source in self._floor or self._is_gone(source):
            return []
        self._floor[source] = number
        self.done.setdefault(source, 0)
        return self._run(source)

    def _waiting(self, stamp: GroupStamp, in_turn: bool) -> _Blocked:
        if in_turn and stamp.source not in self.absent:
            self.done.setdefault(stamp.source, stamp.number - 1)
        queue = self._queues.setdefault(stamp.source, {})
        found = queue.get(stamp.number)
        if found is None:
            self._arrivals += 1
            found = queue[stamp.number] = _Blocked(self._arrivals, stamp)
        found.in_turn = found.in_turn or in_turn
        return found

    # Those who go

    def past(self, source: bytes) -> list[GroupStamp]:
        """Of its last messages that are here, the stamps: what others need if it crashes."""
        queued = self._queues.get(source, {})
        return [*self._past.get(source, ()), *(waiting.stamp for waiting in queued.values())]

    def lose(self, source: bytes, past: Iterable[GroupStamp] = ()) -> list[object]:
        """A member crashed.  What has not come of it is not waited for any more, and not taken if it comes.

        `past`: what all others know of it.  A lost message stands for what lies before it, so that has to come first here, too.
        """
        if source not in self.done:
            return self.dismiss(source, past)
        self._close_all(source, past)
        self.lost.add(source)
        return self._run(source)

    def dismiss(self, source: bytes, past: Iterable[GroupStamp] = ()) -> list[object]:
        """A member went that may not have known of us: what may still come of it is not waited for, but taken if it can be."""
        if source in self._floor or self._is_gone(source):
            return []
        self._close_all(source, past)
        self.absent.add(source)
        return self._run(source)

    def _close_all(self, source: bytes, past: Iterable[GroupStamp]) -> None:
        for stamp in sorted(past, key=_by_number):
            if stamp.number > self.done.get(source, 0):
                self._waiting(stamp, True).closed = True

    def give_up(self) -> list[object]:
        """Nothing more will come at all: everything that is held, in causal order."""
        released: list[object] = []
        for source in list(self.done):
            released += self.lose(source)
        while strangers := self.strangers():
            for source in strangers:
                released += self.dismiss(source)
        return released

    def strangers(self) -> list[bytes]:
        """Those who are waited for and may not know of us."""
        missed = [one for one, sources in self._blocked.items() if sources]
        queued = [one for one, queue in self._queues.items() if queue]
        known = self._floor
        return [one for one in dict.fromkeys(missed + queued) if one not in known and not self._is_gone(one)]

    # Delivering

    def _run(self, source: bytes) -> list[object]:
        """Something is new of this source."""
        released: list[object] = []
        self._look(source)
        self._wake(source)
        while self._ready:
            arrival, next_source = heappop(self._ready)
            waiting = self._next(next_source)
            if waiting is not None and waiting.arrival == arrival:
                self._deliver(waiting, released)
        return released

    def _next(self, source: bytes) -> _Blocked | None:
        self._climb(source)
        queue = self._queues.get(source)
        if not queue:
            return None
        if source in self.lost or source in self.absent:
            return queue[min(queue)]
        done = self.done.get(source)
        if done is None:
            return None
        floor = self._floor.get(source)
        if floor is None:
            # As long as it may not know of us: what it sent in between was not for us.
            first = queue[min(queue)]
            return first if first.in_turn else None
        if done < floor:
            return queue[min(queue)] if min(queue) <= floor else None
        return queue.get(done + 1)

    def _climb(self, source: bytes) -> None:
        """When all has been delivered that came of what was before."""
        floor = self._floor.get(source, 0)
        if self.done.get(source, floor) < floor and not self._queued(source, floor):
            self.done[source] = floor

    def _queued(self, source: bytes, number: int) -> bool:
        """Is anything of it waiting, up to this number?"""
        queue = self._queues.get(source)
        return queue is not None and bool(queue) and min(queue) <= number

    def _look(self, source: bytes) -> None:
        """May its next message be delivered?  If not, it waits at the first cause that is missing."""
        waiting = self._next(source)
        if waiting is None or (waiting.told and not self._may_close(waiting)):
            return
        for cause, number in waiting.stamp.causes:
            if self._misses(cause, number):
                self._blocked.setdefault(cause, set()).add(source)
                return
        heappush(self._ready, (waiting.arrival, source))

    def _is_gone(self, source: bytes) -> bool:
        return source in self.lost or source in self.absent

    def _misses(self, source: bytes, number: int) -> bool:
        if source == self.own:
            return False
        if self._is_gone(source) or number <= self._floor.get(source, 0):
            return self._queued(source, number)
        done = self.done.get(source)
        return done is None or done < number

    def _deliver(self, waiting: _Blocked, released: list[object]) -> None:
        stamp = waiting.stamp
        source = stamp.source
        if waiting.payloads:
            self._caused_by(stamp)
            released += waiting.payloads
            self.held -= len(waiting.payloads)
            self.counts.delivered += len(waiting.payloads)
            waiting.payloads = []
            waiting.told = True
        elif not waiting.told:
            self.counts.noted += 1
        if self._may_close(waiting):
            del self._queues[source][stamp.number]
            if source in self.done:
                self.done[source] = max(stamp.number, self.done[source])
                self._climb(source)
            for cause, number in stamp.causes:
                self._named[cause] = max(number, self._named.get(cause, 0))
            self._past.setdefault(source, deque(maxlen=KEPT)).append(stamp)
            self._look(source)
            self._wake(source)

    def _may_close(self, waiting: _Blocked) -> bool:
        """Have all parts come?  Where no note will say so, each is the last."""
        source, number = waiting.stamp.source, waiting.stamp.number
        if waiting.closed or self._is_gone(source):
            return True
        if source in self._floor:
            return number <= self._floor[source]
        return any(later.in_turn for other, later in self._queues[source].items() if other > number)

    def _caused_by(self, stamp: GroupStamp) -> None:
        causes = self.causes
        for source, number in stamp.causes:
            if causes.get(source, number + 1) <= number:
                del causes[source]
        causes[stamp.source] = stamp.number

    def _wake(self, source: bytes) -> None:
        for blocked in sorted(self._blocked.pop(source, ())):
            self._look(blocked)

    # Saving

    def copy(self) -> CausalGroup:
        """As it is now, with what it holds."""
        made = CausalGroup(self.own)
        made.number, made.held, made.counts, made._arrivals = (
            self.number,
            self.held,
            self.counts,
            self._arrivals,
        )
        made.done, made.causes = dict(self.done), dict(self.causes)
        made.lost, made.absent = set(self.lost), set(self.absent)
        made._blocked = {one: set(sources) for one, sources in self._blocked.items()}
        made._floor = dict(self._floor)
        made._named = dict(self._named)
        made._past = {source: deque(stamps, KEPT) for source, stamps in self._past.items()}
        for source, queue in self._queues.items():
            made._queues[source] = {number: _copied(waiting) for number, waiting in queue.items()}
        return made


def _copied(waiting: _Blocked) -> _Blocked:
    made = _Blocked(waiting.arrival, waiting.stamp)
    made.payloads, made.closed, made.told = list(waiting.payloads), waiting.closed, waiting.told
    made.in_turn = waiting.in_turn
    return made


def _by_number(stamp: GroupStamp) -> int:
    return stamp.number
