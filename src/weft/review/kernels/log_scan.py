"""Late deliveries where no vectors were recorded: one scan of the whole run, in the order of the log, that rebuilds them.

Chains of causes can be tens of thousands of messages long, so this is no work for rounds of joins; it is one pass, and cheap:
a process's vector is the maximum of what was delivered to it, which is just what the next delivery has to be
compared with.  So the audit is one comparison per delivery.

Clocks of machines differ, so a delivery may stand in the log before its send.  Its process then waits, with all its rows, until
the send has been seen, or for `patience` nanoseconds of the log; a message that was not seen to be sent by then (its
node's rows are missing) says nothing.

A scan may begin in the middle of a log, with what was known there (`Start`), and tell what it knows at its end; what comes of
that, when a log is scanned in stretches, is in `stretches`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.review.kernels.pieces import Array

Key = tuple[int, int]  # source and number of a message
Row = tuple[bool, int, int, int, int]  # is it a send, federate, source, number, fan-out
LINGER = 1 << 16  # messages that all have got are known for so many more


class LateMessage(NamedTuple):
    federate: int
    source: int
    message: int
    after_source: int
    after: int
    """A message delivered before, in whose past it is."""


class Start(NamedTuple):
    """What is known where a scan begins."""

    processes: Sequence[int]
    """All federates that there are; a place in a vector for each."""
    vectors: Array
    """A row for each; it may have more places than there are federates."""
    by: Array
    """For each of these numbers the message (of `brought`) that brought it; -1: none."""
    brought: Sequence[Key]
    """In the order of delivery."""
    sent: Mapping[Key, Array | None]
    """Of messages that were sent before, the vector that each brings, its own number included; None: it was never sent."""
    got: Collection[tuple[int, int, int]] = ()
    """Federate, source and number: who has got which of these already."""


class _Sent:
    """A message that was sent: its sender's vector at that time, and how many are still to get it."""

    __slots__ = ("key", "left", "snapshot", "whole")

    def __init__(self, key: Key, snapshot: Array, left: int, whole: bool = False) -> None:
        self.key = key
        self.snapshot = snapshot
        self.left = left
        self.whole = whole  # the snapshot has the message's own number


class _ScannedProcess:
    """One federate: its vector, by which message each component came, and what was delivered, by source."""

    def __init__(self, place: int, size: int) -> None:
        self.place = place
        self.vector = np.zeros(size, np.int64)
        self.by = np.full(size, -1, np.int64)
        self.delivered: dict[int, array[int]] = {}
        self.out_of_order: set[Key] = set()
        self.snapshot: Array | None = None  # of the vector, until it changes
        self.merged: dict[int, Array] = {}  # the last snapshot of each source
        self.waiting: deque[Row] = deque()
        self.waits_until = 0


class LogScan:
    """Feed it all rows in the order of their time, and `end` when there are no more; both return what is late."""

    def __init__(self, patience: int = 0, start: Start | None = None) -> None:
        self._patience = patience
        self._processes: dict[int, _ScannedProcess] = {}
        self._size = 16
        self._sent: dict[Key, _Sent | None] = {}
        self._complete: deque[Key] = deque()
        self._awaited: dict[Key, list[int]] = {}
        self._to_be_sent: set[Key] = set()  # by processes that wait, when the end came
        self._brought: list[Key] = []  # the message of each delivery that counted
        self._late: list[LateMessage] = []
        if start is not None:
            self._begin(start)

    def _begin(self, start: Start) -> None:
        self._size = start.vectors.shape[1]
        self._brought = list(start.brought)
        for place, who in enumerate(start.processes):
            made = self._processes[who] = _ScannedProcess(place, self._size)
            made.vector[:], made.by[:] = start.vectors[place], start.by[place]
        for key, vector in start.sent.items():
            self._sent[key] = None if vector is None else _Sent(key, vector, -1, whole=True)
        for who, *message in start.got:
            self._processes[who].out_of_order.add((message[0], message[1]))

    def vectors(self, processes: Sequence[int]) -> tuple[Array, Array, list[Key]]:
        """Vectors and what brought their numbers, as in `Start`."""
        known = [self._processes[who] for who in processes]
        size = (len(known), self._size)
        vectors = np.array([process.vector for process in known], np.int64).reshape(size)
        return vectors, np.array([process.by for process in known], np.int64).reshape(size), self._brought

    def sent_with(self, key: Key) -> Array | None:
        """The vector that a message brings, its own number included; None: it was not sent since, or is forgotten."""
        sent = self._sent.get(key)
        if sent is None or sent.whole:
            return None
        vector = np.zeros(self._size, np.int64)
        vector[: len(sent.snapshot)] = sent.snapshot
        place = self._processes[key[0]].place
        vector[place] = max(vector[place], key[1])
        return vector

    def feed(
        self, is_send: Array, federate: Array, source: Array, message: Array, fan_out: Array, epoch: Array
    ) -> list[LateMessage]:
        """`fan_out`: of a send, how many are to get it; -1 where nobody knows."""
        self._late = []
        columns = (is_send, federate, source, message, fan_out, epoch)
        for *row, now in zip(*(column.tolist() for column in columns), strict=True):
            send, who, origin, number, many = row
            process = self._processes.get(who) or self._process(who)
            if process.waiting:
                process.waiting.append((send, who, origin, number, many))
                if now > process.waits_until:
                    self._lose_patience(process, now)
            elif send:
                self._send(process, (origin, number), many)
                if (origin, number) in self._awaited:
                    self._wake([(origin, number)])
            elif self._patience and self._must_wait(process, origin, number):
                self._wait(process, (send, who, origin, number, many), now)
            else:
                self._deliver(process, who, origin, number)
        return self._late

    def end(self) -> list[LateMessage]:
        """What still waits goes on without what it waits for."""
        self._late = []
        every = self._processes.values()
        self._to_be_sent = {row[2:4] for process in every for row in process.waiting if row[0]}
        while True:
            held = [process for process in every if process.waiting]
            if not held:
                return self._late
            # Whoever waits for something that somebody has still to send waits on.
            lost = (process for process in held if process.waiting[0][2:4] not in self._to_be_sent)
            self._give_up(next(lost, held[0]))

    def _process(self, who: int) -> _ScannedProcess:
        place = len(self._processes)
        if place >= self._size:
            self._size *= 2
            for other in self._processes.values():
                other.vector = np.pad(other.vector, (0, self._size - len(other.vector)))
                other.by = np.pad(other.by, (0, self._size - len(other.by)), constant_values=-1)
        made = self._processes[who] = _ScannedProcess(place, self._size)
        return made

    # Waiting

    def _must_wait(self, process: _ScannedProcess, source: int, message: int) -> bool:
        if (source, message) in self._sent:
            return False
        sender = self._processes.get(source)
        return sender is None or bool(process.vector[sender.place] < message)

    def _wait(self, process: _ScannedProcess, row: Row, now: int) -> None:
        if not process.waiting or process.waiting[0] is not row:
            process.waiting.append(row)
        process.waits_until = now + self._patience
        self._awaited.setdefault((row[2], row[3]), []).append(row[1])

    def _wake(self, keys: list[Key]) -> None:
        """Processes that waited for these messages, then those that waited for what they sent, and so on."""
        while keys:
            for who in self._awaited.pop(keys.pop(), ()):
                self._go_on(self._processes[who], keys)

    def _lose_patience(self, process: _ScannedProcess, now: int) -> None:
        """Whoever waits for what one has sent that waits itself waits as long as that one does."""
        asked: list[_ScannedProcess] = []
        while process not in asked:
            asked.append(process)
            wanted = process.waiting[0][2:4]
            sender = self._processes.get(wanted[0])
            if sender is None or not any(row[0] and row[2:4] == wanted for row in sender.waiting):
                break
            process = sender
        if now > process.waits_until:
            self._give_up(process)

    def _give_up(self, process: _ScannedProcess) -> None:
        _, who, source, message, _ = process.waiting.popleft()
        others = self._awaited.get((source, message), [])
        if who in others:
            others.remove(who)
        keys: list[Key] = []
        self._go_on(process, keys)
        self._wake(keys)

    def _go_on(self, process: _ScannedProcess, woken: list[Key]) -> None:
        while process.waiting:
            row = process.waiting[0]
            send, who, source, message, many = row
            if send:
                self._send(process, (source, message), many)
                if (source, message) in self._awaited:
                    woken.append((source, message))
            elif self._must_wait(process, source, message):
                self._wait(process, row, process.waits_until)
                return
            else:
                self._deliver(process, who, source, message)
            process.waiting.popleft()

    # What rows mean

    def _send(self, process: _ScannedProcess, key: Key, many: int) -> None:
        if process.snapshot is None:
            process.snapshot = process.vector.copy()
        self._sent[key] = _Sent(key, process.snapshot, many)
        self._to_be_sent.discard(key)
        if not many:
            self._completed(key)

    def _completed(self, key: Key) -> None:
        """All have it; it is kept a little, for one who should not have got it."""
        self._complete.append(key)
        if len(self._complete) > LINGER:
            self._sent.pop(self._complete.popleft(), None)

    def _deliver(self, process: _ScannedProcess, who: int, source: int, message: int) -> None:
        sent = self._sent.get((source, message))
        if sent is None:
            return
        place = (self._processes.get(source) or self._process(source)).place
        before = process.delivered.get(source)
        if before is None:
            before = process.delivered[source] = array("q")
        if process.vector[place] < message:
            before.append(message)
        elif _contains(before, message) or (source, message) in process.out_of_order:
            return
        else:
            process.out_of_order.add((source, message))
            self._late.append(LateMessage(who, source, message, *self._brought[process.by[place]]))
        self._merge(process, place, message, sent)
        sent.left -= 1
        if not sent.left:
            self._completed((source, message))

    def _merge(self, process: _ScannedProcess, place: int, message: int, sent: _Sent) -> None:
        number = len(self._brought)
        self._brought.append(sent.key)
        process.snapshot = None
        snapshot = sent.snapshot
        if process.merged.get(sent.key[0]) is not snapshot:
            vector = process.vector[: len(snapshot)]
            raised = snapshot > vector
            if raised.any():
                vector[raised] = snapshot[raised]
                process.by[: len(snapshot)][raised] = number
            process.merged[sent.key[0]] = snapshot
        if process.vector[place] < message and not sent.whole:
            process.vector[place] = message
            process.by[place] = number


def _contains(numbers: array[int], number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number
