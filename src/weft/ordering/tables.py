"""Causal order by destinations that are known from tables, and may be wrong: the state of one member.

The order is MSES (`mses`): a message carries time, rows and destinations.  MSES wants the destinations exactly; tables of who
subscribes to what are late by as long as news travel, and regions, update rates and lost messages are in no table.  So the
sender names at least all who may get the message as far as it knows, and each mistake is made good by the receiver:

  too many    We are named and do not get it.  Every message is followed, sooner or later, by a *note* with the same stamp.  Who
              has the note and not the message delivers it without a callback, in its place: that keeps what the message
              stands for.  Notes come when the sender is not sure, when many have gathered, and when somebody asks, which
              is who waits for a message (`to_ask`).
  too few     We get it and are not named, since the sender did not know of us or of what we began to want.  What it caused
              does not name it to us, so nothing would hold that back.  But its time tells what lies in its past:
              (a) whatever is here and not delivered goes before everything that has it in its past;
              (b) as long as a source has not said that it knows what we want now, it is *unsure*: a message with more of
              that source in its past than has come from it directly waits, and the source is asked.
              A message in whose past our subscription cannot lie, since we knew its effects before we subscribed, is refused.

That needs one thing of the RTI: what a member sends to another, messages and notices, arrives in the order in which it was sent.
Then, when a source says "so many I have sent", all of them that come to us are here.

    seen      by source: up to where what it sent directly to us has come, as its messages and notices show
    heard     the same by notices, which come behind all notes
    sure      it knows what we want since we last began to want more
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from operator import attrgetter

from weft.model.errors import OrderingError
from weft.ordering.member import KEPT, BlockedMessage, MemberOrder, MemberStamp
from weft.ordering.message import NOTHING, Tag
from weft.ordering.mses import Mses

ID_SIZE = 6


def identity_of(process: int) -> bytes:
    return process.to_bytes(ID_SIZE, "big")


def process_of(identity: bytes) -> int:
    return int.from_bytes(identity, "big")


class TableStamp(MemberStamp):
    """`data`: the stamp as it is written, once somebody has written it."""

    __slots__ = ("data", "tag")

    def __init__(self, source: bytes, tag: Tag, part: bool = False, data: bytes = b"") -> None:
        super().__init__(source, tag.time[tag.source], part)
        self.tag = tag
        self.data = data


def tag_of(stamp: MemberStamp) -> Tag:
    assert isinstance(stamp, TableStamp)
    return stamp.tag


class CausalTables(MemberOrder):
    """Process `own`, whose own time begins at `number`."""

    def __init__(self, own: bytes, number: int = 0) -> None:
        super().__init__(own)
        self.process = process_of(own)
        self.clock = Mses(self.process)
        self.clock.time[self.process] = number
        # All by process.
        self._seen: list[int] = []
        self._heard: list[int] = []
        self._sure: list[bool] = []
        self._met: list[bool] = []  # it has spoken to us
        self._gone: list[bool] = []  # nothing of it is waited for any more
        self._order: list[list[int]] = []  # heaps of the numbers that wait
        self._queues: list[dict[int, BlockedMessage]] = []
        self._left: dict[int, int] = {}  # resigned, after so many
        self._asked: set[int] = set()
        self._epoch = 0  # how often we began to want more
        self._waiting = 0  # messages and notes
        self._arrivals = 0
        self._past: dict[int, deque[MemberStamp]] = {}
        self._grow(self.process + 1)

    def _grow(self, size: int) -> None:
        for _ in range(len(self._seen), size):
            self._seen.append(0)
            self._heard.append(0)
            self._sure.append(False)
            self._met.append(False)
            self._gone.append(False)
            self._order.append([])
            self._queues.append({})
        self.clock.joined(size - 1)

    # Sending

    def sent(self) -> int:
        return self.clock.time[self.process]

    def stamp(self, part: bool = False, destinations: list[int] = NOTHING) -> TableStamp:
        """`destinations` rise."""
        if destinations and destinations[-1] >= len(self._seen):
            self._grow(destinations[-1] + 1)
        return TableStamp(self.own, self.clock.send(destinations), part)

    def unstamp(self, stamp: MemberStamp) -> None:
        tag, time = tag_of(stamp), self.clock.time
        if stamp.number != time[self.process]:
            raise OrderingError(f"message {stamp.number} was followed by others, up to {time[self.process]}")
        time[self.process] -= 1
        self.clock.rows = tag.rows[:]

    # Receiving

    def arrive(self, stamp: MemberStamp, payload: object, in_turn: bool = True) -> list[object]:
        tag, number = tag_of(stamp), stamp.number
        source = tag.source
        if len(tag.time) > len(self._seen):
            self._grow(len(tag.time))
        if self._gone[source] and (stamp.source in self.lost or number <= self.clock.time[source]):
            self.counts.refused += 1
            return []
        if number <= self.clock.time[source]:
            return self._late(tag, payload, in_turn)
        if in_turn and number > self._seen[source]:
            self._seen[source] = number
        if not self._waiting and not stamp.part and self._blocker(tag, in_turn) < 0:
            self._deliver(stamp, tag)
            self.counts.delivered += 1
            return [payload]
        waiting = self._wait(stamp, in_turn)
        waiting.payloads.append(payload)
        self.held += 1
        released = self._run()
        if waiting.payloads:
            self.counts.waited += 1
            self.counts.held_most = max(self.counts.held_most, self.held)
        return released

    def _late(self, tag: Tag, payload: object, in_turn: bool) -> list[object]:
        """Best effort, paced, a last part; or sent before we subscribed."""
        if in_turn and self.process not in tag.destinations:
            self.counts.refused += 1
            return []
        self.counts.late += 1
        return [payload]

    def note(self, stamp: MemberStamp) -> list[object]:
        tag, number = tag_of(stamp), stamp.number
        source = tag.source
        if len(tag.time) > len(self._seen):
            self._grow(len(tag.time))
        if self._gone[source]:
            return []
        if number > self._seen[source]:
            self._seen[source] = number
        self._close(stamp)
        return self._run() if self._waiting else []

    def needs(self, source: bytes, number: int) -> bool:
        process = process_of(source)
        return process >= len(self._seen) or number > self.clock.time[process]

    def _close(self, stamp: MemberStamp) -> None:
        tag = tag_of(stamp)
        found = self._queues[tag.source].get(stamp.number)
        if found is None and stamp.number > self.clock.time[tag.source] and self.process in tag.destinations:
            found = self._wait(stamp, True)
        if found is not None:
            found.closed = True

    def _wait(self, stamp: MemberStamp, in_turn: bool) -> BlockedMessage:
        source, number = tag_of(stamp).source, stamp.number
        found = self._queues[source].get(number)
        if found is None:
            self._arrivals += 1
            self._waiting += 1
            found = BlockedMessage(self._arrivals, stamp)
            self._queues[source][number] = found
            heappush(self._order[source], number)
        found.in_turn = found.in_turn or in_turn
        return found

    # What the sources say of themselves

    def hear(self, source: bytes, number: int, known: int) -> list[object]:
        process = process_of(source)
        if process >= len(self._seen):
            self._grow(process + 1)
        if self._gone[process] or process == self.process:
            return []
        self._met[process] = True
        self._asked.discard(process)
        self._seen[process] = max(number, self._seen[process])
        self._heard[process] = max(number, self._heard[process])
        if process in self._left and number > self._left[process]:
            del self._left[process]  # it was not let go
            self.clock.returned(process)
        if known >= self._epoch or self._has_ended(process):
            self._sure[process] = True
        return self._run() if self._waiting else []

    def has_met(self, source: bytes) -> bool:
        process = process_of(source)
        return process < len(self._met) and self._met[process]

    def left(self, source: bytes, number: int) -> list[object]:
        process = process_of(source)
        if process >= len(self._seen):
            self._grow(process + 1)
        self._left[process] = number
        self.clock.resigned(process)
        self._sure[process] = self._sure[process] or self._has_ended(process)
        return self._run() if self._waiting else []

    def _has_ended(self, process: int) -> bool:
        """All that it sent before it resigned, and that comes to us, has come."""
        return process in self._left and self._heard[process] >= self._left[process]

    def want_more(self) -> int:
        self._epoch += 1
        self._asked.clear()
        for process in range(len(self._sure)):
            self._sure[process] = self._has_ended(process)
        return self._epoch

    def wanted(self) -> int:
        return self._epoch

    # Those who go

    def past(self, source: bytes) -> list[MemberStamp]:
        process = process_of(source)
        if process >= len(self._seen):
            return []
        queued = self._queues[process].values()
        return [*self._past.get(process, ()), *[waiting.stamp for waiting in queued]]

    def lose(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        process = process_of(source)
        if process >= len(self._seen) or not (self._met[process] or self._seen[process]):
            return self.dismiss(source, past)
        self.lost.add(source)
        return self._forget(process, past)

    def dismiss(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        process = process_of(source)
        if process >= len(self._seen):
            self._grow(process + 1)
        if self._met[process] or self._gone[process]:
            return []
        self.absent.add(source)
        return self._forget(process, past)

    def _forget(self, process: int, past: Iterable[MemberStamp]) -> list[object]:
        for stamp in sorted(past, key=attrgetter("number")):
            if len(tag_of(stamp).time) > len(self._seen):
                self._grow(len(tag_of(stamp).time))
            self._close(stamp)
        for waiting in self._queues[process].values():
            waiting.closed = True
        self._gone[process] = True
        self.clock.resigned(process)
        return self._run()

    def give_up(self) -> list[object]:
        for process in range(len(self._gone)):
            self._gone[process] = True
            for waiting in self._queues[process].values():
                waiting.closed = True
        return self._run()

    def strangers(self) -> list[bytes]:
        return [identity_of(one) for one in self._blockers() if not self._met[one]]

    def to_ask(self) -> list[bytes]:
        if not self._waiting:
            return []
        asked: list[bytes] = []
        for process in self._blockers():
            if self._met[process] and process not in self._asked and process not in self._left:
                self._asked.add(process)
                asked.append(identity_of(process))
        return asked

    def _blockers(self) -> list[int]:
        """For whom the first message of each source waits."""
        found: list[int] = []
        if self._waiting:
            for source in range(len(self._order)):
                if self._order[source]:
                    waiting = self._queues[source][self._order[source][0]]
                    process = (
                        self._blocker(tag_of(waiting.stamp), waiting.in_turn) if waiting.closed else source
                    )
                    if process >= 0 and process not in found and not self._gone[process]:
                        found.append(process)
        return found

    # Delivering

    def _blocker(self, tag: Tag, in_turn: bool) -> int:
        """Of whom something is missing that goes before it, if it is the first of its source; -1: nobody."""
        time, times, own = self.clock.time, tag.time, self.process
        for process in range(len(times)):
            number = times[process]
            if number <= time[process] or process == own:
                continue
            if process == tag.source:
                if in_turn:
                    continue
                number -= 1
            order = self._order[process]
            if order and order[0] <= number:
                return process
            if not self._sure[process] and number > self._seen[process] and not self._gone[process]:
                return process
        row = tag.row(own)
        for at in range(0, len(row), 2):
            process = row[at]
            number = row[at + 1]
            if number > time[process] and number > self._heard[process] and process != own:
                if not self._gone[process]:
                    return process
        return -1

    def _run(self) -> list[object]:
        released: list[object] = []
        while self._waiting:
            waiting = self._next()
            if waiting is None:
                break
            stamp = waiting.stamp
            tag = tag_of(stamp)
            heappop(self._order[tag.source])
            del self._queues[tag.source][stamp.number]
            self._waiting -= 1
            self._deliver(stamp, tag)
            if waiting.payloads:
                released += waiting.payloads
                self.held -= len(waiting.payloads)
                self.counts.delivered += len(waiting.payloads)
                waiting.payloads = []
            else:
                self.counts.noted += 1
        return released

    def _next(self) -> BlockedMessage | None:
        """The one that came first of those that nothing goes before."""
        best: BlockedMessage | None = None
        for source in range(len(self._order)):
            order = self._order[source]
            if order:
                waiting = self._queues[source][order[0]]
                if waiting.closed and (best is None or waiting.arrival < best.arrival):
                    if self._blocker(tag_of(waiting.stamp), waiting.in_turn) < 0:
                        best = waiting
        return best

    def _deliver(self, stamp: MemberStamp, tag: Tag) -> None:
        self.clock.deliver(tag)
        past = self._past.get(tag.source)
        if past is None:
            past = self._past[tag.source] = deque(maxlen=KEPT)
        past.append(stamp)

    # Saving

    def anew(self, own: bytes) -> CausalTables:
        """The same process: it goes on counting."""
        made = self.copy()
        made.clock.time[made.process] += 1
        made.want_more()
        return made

    def copy(self) -> CausalTables:
        made = CausalTables(self.own)
        made.clock = self.clock.copy()
        made._grow(len(self._seen))
        made._seen, made._heard = self._seen[:], self._heard[:]
        made._sure, made._met, made._gone = self._sure[:], self._met[:], self._gone[:]
        made._order = [order[:] for order in self._order]
        made._queues = [
            {number: waiting.copy() for number, waiting in queue.items()} for queue in self._queues
        ]
        made._left, made._epoch = dict(self._left), self._epoch
        made._waiting, made._arrivals, made.held = self._waiting, self._arrivals, self.held
        made.lost, made.absent, made.counts = set(self.lost), set(self.absent), self.counts
        made._past = {source: deque(stamps, KEPT) for source, stamps in self._past.items()}
        return made
