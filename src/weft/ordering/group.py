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
from operator import attrgetter

from weft.model.errors import OrderingError
from weft.ordering.member import KEPT, BlockedMessage, MemberOrder, MemberStamp
from weft.ordering.message import NOTHING

Pairs = tuple[tuple[bytes, int], ...]


class GroupStamp(MemberStamp):
    """Names the direct causes of a message, and no destinations."""

    __slots__ = ("causes",)

    def __init__(self, source: bytes, number: int, causes: Pairs, part: bool = False) -> None:
        super().__init__(source, number, part)
        self.causes = causes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupStamp) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"GroupStamp{self._key()}"

    def _key(self) -> tuple[bytes, int, Pairs, bool]:
        return self.source, self.number, self.causes, self.part


def _causes(stamp: MemberStamp) -> Pairs:
    assert isinstance(stamp, GroupStamp)
    return stamp.causes


class CausalGroup(MemberOrder):
    def __init__(self, own: bytes) -> None:
        super().__init__(own)
        self.number = 0
        self.done: dict[bytes, int] = {}
        self.causes: dict[bytes, int] = {}
        self._queues: dict[bytes, dict[int, BlockedMessage]] = {}
        # By whom is missed: the sources whose next message misses it.
        self._blocked: dict[bytes, set[bytes]] = {}
        self._ready: list[tuple[int, bytes]] = []
        self._past: dict[bytes, deque[MemberStamp]] = {}
        self._floor: dict[bytes, int] = {}  # where each began for us
        # The newest message of each that is the cause of anything done here.
        self._named: dict[bytes, int] = {}
        self._arrivals = 0
        self._asked: set[bytes] = set()  # for their notes

    # Sending

    def sent(self) -> int:
        return self.number

    def stamp(self, part: bool = False, destinations: list[int] = NOTHING) -> GroupStamp:
        """All members are the destinations."""
        self.number += 1
        made = GroupStamp(self.own, self.number, tuple(self.causes.items()), part)
        self.causes = {}
        return made

    def unstamp(self, stamp: MemberStamp) -> None:
        if stamp.number != self.number:
            raise OrderingError(f"message {stamp.number} was followed by {self.number} others")
        self.number -= 1
        self.causes = dict(_causes(stamp))

    # Receiving

    def arrive(self, stamp: MemberStamp, payload: object, in_turn: bool = True) -> list[object]:
        source, number = stamp.source, stamp.number
        if source in self.lost or (source in self.absent and number <= self._passed(source)):
            self.counts.refused += 1
            return []
        if number <= self.done.get(source, 0):
            self.counts.late += 1
            self.causes[source] = max(number, self.causes.get(source, 0))
            return [payload]
        if not stamp.part and self._is_next(stamp):
            return self._pass(stamp, payload)
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

    def _is_next(self, stamp: MemberStamp) -> bool:
        """Is nothing before it?  So it is mostly, and then it need not go into a queue."""
        source = stamp.source
        floor = self._floor.get(source)
        if floor is None or self._queues.get(source) or source in self.absent:
            return False
        done = self.done.get(source, -1)
        if done < floor or stamp.number != done + 1:
            return False
        return not any(self._misses(cause, number) for cause, number in _causes(stamp))

    def _pass(self, stamp: MemberStamp, payload: object) -> list[object]:
        self.counts.delivered += 1
        self._know(stamp)
        self.done[stamp.source] = stamp.number
        self._remember(stamp)
        released: list[object] = [payload]
        if self._blocked:
            released += self._run(stamp.source)
        return released

    def _know(self, stamp: MemberStamp) -> None:
        """It is a cause of what we send next, and stands for its own causes."""
        causes = self.causes
        for cause, number in _causes(stamp):
            if causes.get(cause, number + 1) <= number:
                del causes[cause]
        causes[stamp.source] = stamp.number

    def _remember(self, stamp: MemberStamp) -> None:
        for cause, number in _causes(stamp):
            self._named[cause] = max(number, self._named.get(cause, 0))
        past = self._past.get(stamp.source)
        if past is None:
            past = self._past[stamp.source] = deque(maxlen=KEPT)
        past.append(stamp)

    def _passed(self, source: bytes) -> int:
        """What is done of it, or is the cause of anything done."""
        return max(self._named.get(source, 0), self.done.get(source, 0))

    def note(self, stamp: MemberStamp) -> list[object]:
        source = stamp.source
        if self._is_gone(source) or stamp.number <= self.done.get(source, 0):
            return []
        self._waiting(stamp, True).closed = True
        return self._run(source)

    def needs(self, source: bytes, number: int) -> bool:
        return number > self.done.get(source, 0)

    def hear(self, source: bytes, number: int, known: int) -> list[object]:
        self._asked.discard(source)
        return self.begin(source, number) if known >= 0 else []

    def has_met(self, source: bytes) -> bool:
        return source in self._floor

    def begin(self, source: bytes, number: int) -> list[object]:
        """It knows of us, and has sent so many messages: from there on we get all of them, or their notes.

        Of those before some may have come, by chance; they are delivered, and the others not waited for.
        """
        if source == self.own or source in self._floor or self._is_gone(source):
            return []
        self._floor[source] = number
        self.done.setdefault(source, 0)
        return self._run(source)

    def _waiting(self, stamp: MemberStamp, in_turn: bool) -> BlockedMessage:
        if in_turn and stamp.source not in self.absent:
            self.done.setdefault(stamp.source, stamp.number - 1)
        queue = self._queues.setdefault(stamp.source, {})
        found = queue.get(stamp.number)
        if found is None:
            self._arrivals += 1
            found = queue[stamp.number] = BlockedMessage(self._arrivals, stamp)
        found.in_turn = found.in_turn or in_turn
        return found

    # Those who go

    def past(self, source: bytes) -> list[MemberStamp]:
        queued = self._queues.get(source, {})
        return [*self._past.get(source, ()), *(waiting.stamp for waiting in queued.values())]

    def lose(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        if source not in self.done:
            return self.dismiss(source, past)
        self._close_all(source, past)
        self.lost.add(source)
        return self._run(source)

    def dismiss(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        if source in self._floor or self._is_gone(source):
            return []
        self._close_all(source, past)
        self.absent.add(source)
        return self._run(source)

    def _close_all(self, source: bytes, past: Iterable[MemberStamp]) -> None:
        for stamp in sorted(past, key=attrgetter("number")):
            if stamp.number > self.done.get(source, 0):
                self._waiting(stamp, True).closed = True

    def give_up(self) -> list[object]:
        released: list[object] = []
        for source in list(self.done):
            released += self.lose(source)
        while strangers := self.strangers():
            for source in strangers:
                released += self.dismiss(source)
        return released

    def overdue(self) -> list[bytes]:
        if not self.held:
            return []
        missed = [one for one, sources in self._blocked.items() if sources]
        queued = [one for one, queue in self._queues.items() if queue]
        known, asked = self._floor, self._asked
        found = [
            one
            for one in dict.fromkeys(missed + queued)
            if one in known and one not in asked and not self._is_gone(one)
        ]
        asked.update(found)
        return found

    def strangers(self) -> list[bytes]:
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

    def _next(self, source: bytes) -> BlockedMessage | None:
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
        for cause, number in _causes(waiting.stamp):
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

    def _deliver(self, waiting: BlockedMessage, released: list[object]) -> None:
        stamp = waiting.stamp
        source = stamp.source
        if waiting.payloads:
            self._know(stamp)
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
            self._remember(stamp)
            self._look(source)
            self._wake(source)

    def _may_close(self, waiting: BlockedMessage) -> bool:
        """Have all parts come?  Where no note will say so, each is the last."""
        source, number = waiting.stamp.source, waiting.stamp.number
        if waiting.closed or self._is_gone(source):
            return True
        if source in self._floor:
            return number <= self._floor[source]
        return any(later.in_turn for other, later in self._queues[source].items() if other > number)

    def _wake(self, source: bytes) -> None:
        for blocked in sorted(self._blocked.pop(source, ())):
            self._look(blocked)

    # Saving

    def anew(self, own: bytes) -> CausalGroup:
        """Under another identity."""
        made = self.copy()
        made.own, made.number = own, 0
        made.begin(self.own, self.number)
        if self.number:
            made.causes[self.own] = self.number
        return made

    def copy(self) -> CausalGroup:
        """As it is now, with what it holds."""
        made = CausalGroup(self.own)
        made.number, made.held = self.number, self.held
        made.counts, made._arrivals = self.counts, self._arrivals
        made.done, made.causes = dict(self.done), dict(self.causes)
        made.lost, made.absent = set(self.lost), set(self.absent)
        made._blocked = {one: set(sources) for one, sources in self._blocked.items()}
        made._floor = dict(self._floor)
        made._named = dict(self._named)
        made._past = {source: deque(stamps, KEPT) for source, stamps in self._past.items()}
        for source, queue in self._queues.items():
            made._queues[source] = {number: waiting.copy() for number, waiting in queue.items()}
        return made
