"""What a session has sent and the peer may not have received: kept for the day it has to be sent again.

HLA frames go in with their numbers, oldest first, as the very bytes that went out; a payload that many sessions share is kept
once.  They leave in two ways:

- acknowledged: the peer said it has received a number, so it has received everything up to it;
- shed: the history is full, by frames or by bytes, and the oldest go.  What was shed and is not acknowledged later is `lost`, and
  a peer that turns out to miss it cannot resume.

The newest frame is always kept, however long it is.

Plain lists with a moving start rather than a deque: append and look-up are what mypyc makes cheap, and the dead front is cut
off once it outweighs the living rest.
"""

from __future__ import annotations

from weft.wire.frames import HALF, LAST_NUMBER, NONE, following, is_later

DEAD_BYTES = 1 << 16
DEAD_FRAMES = 1 << 10


class History:
    def __init__(self, first: int, max_frames: int, max_bytes: int) -> None:
        """`first` is the number of the frame that opened the session; HLA frames have later ones."""
        self.size = 0
        self.acknowledged = NONE
        self.lost = NONE
        self._floor = first
        self._newest = NONE
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._numbers: list[int] = []
        self._parts: list[bytes] = []
        self._start = 0
        self._dead_bytes = 0

    def __len__(self) -> int:
        return len(self._numbers) - self._start

    def append(self, number: int, head: bytes, body: bytes) -> None:
        self._numbers.append(number)
        self._parts.append(head)
        self._parts.append(body)
        self._newest = number
        self.size += len(head) + len(body)
        if self.size > self._max_bytes or len(self._numbers) - self._start > self._max_frames:
            self._shed()

    def acknowledge(self, number: int) -> None:
        """The peer has received everything up to `number`.  What it cannot know, or has said before, changes nothing."""
        if number < 0 or self._newest == NONE or (self._newest - number) & LAST_NUMBER >= HALF:
            return
        if self.acknowledged != NONE and not is_later(number, self.acknowledged):
            return
        self.acknowledged = number
        if self.lost != NONE and not is_later(self.lost, number):
            self.lost = NONE
        numbers = self._numbers
        start = self._start
        end = len(numbers)
        while start < end and (number - numbers[start]) & LAST_NUMBER < HALF:
            self._drop(start)
            start += 1
        if start != self._start:
            self._floor = numbers[start - 1]
            self._start = start
            self._cut()

    def covers(self, last_received: int) -> bool:
        """Is everything still here that a peer misses who says that `last_received` was its last frame, or NONE?

        What the peer acknowledged it has received, whatever it says now.
        """
        if self.lost == NONE:
            return True
        return last_received != NONE and not is_later(self.lost, last_received)

    def replay(self, last_received: int) -> list[bytes]:
        """What that peer misses: the parts of all later frames, head and body in turn."""
        self.acknowledge(last_received)
        numbers = self._numbers
        index = self._start
        if last_received != NONE:
            while index < len(numbers) and not is_later(numbers[index], last_received):
                index += 1
        return self._parts[2 * index :]

    @property
    def available_from(self) -> int:
        """The number from which on nothing has been dropped; NONE if there has never been anything."""
        return NONE if self._newest == NONE else following(self._floor)

    def clear(self) -> None:
        self._numbers = []
        self._parts = []
        self._start = 0
        self._dead_bytes = 0
        self.size = 0

    def _shed(self) -> None:
        start = self._start
        last = len(self._numbers) - 1
        while start < last and (self.size > self._max_bytes or last + 1 - start > self._max_frames):
            self.lost = self._floor = self._numbers[start]
            self._drop(start)
            start += 1
        self._start = start
        self._cut()

    def _drop(self, index: int) -> None:
        size = len(self._parts[2 * index]) + len(self._parts[2 * index + 1])
        self.size -= size
        self._dead_bytes += size

    def _cut(self) -> None:
        start = self._start
        if self._dead_bytes > self.size + DEAD_BYTES or start > len(self._numbers) - start + DEAD_FRAMES:
            del self._numbers[:start]
            del self._parts[: 2 * start]
            self._start = 0
            self._dead_bytes = 0
