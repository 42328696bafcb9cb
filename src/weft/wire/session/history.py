"""What a session has sent and the peer may not have received: kept for the day it has to be sent again.

HLA frames go in as they went out, in bundles of what was written together, as the very bytes; a large payload that many
sessions share is kept once.  Small bundles of a peer that acknowledges nothing for a while become one: a bundle, its list and its
bytes take several times the memory of a small frame.  Bundles leave whole, in two ways:

- acknowledged: the peer said it has received a number, so it has received everything up to it;
- shed: the history is full, by frames or by bytes, and the oldest go.  What was shed and is not acknowledged later is `lost`, and
  a peer that turns out to miss it cannot resume.

The newest bundle is always kept, however long it is.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from weft.wire.session.frames import HALF, LAST_NUMBER, NONE, following, is_later, number_of, split

_SMALL: Final = 4096  # bytes: none of it is shared
_LOOSE: Final = 16  # small bundles that become one


class Bundle:
    """Whole HLA frames, one behind the other."""

    def __init__(self, parts: list[bytes], last: int, frames: int, size: int) -> None:
        self.parts = parts
        self.last = last  # the number of the last frame
        self.frames = frames
        self.size = size


class FrameHistory:
    def __init__(self, first: int, max_frames: int, max_bytes: int) -> None:
        """`first` is the number of the frame that opened the session; HLA frames have later ones."""
        self.size = 0
        self.acknowledged = NONE
        self.lost = NONE
        self._floor = first
        self._newest = NONE
        self._oldest = NONE  # the last number of the oldest bundle
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._frames = 0
        self._loose = 0  # small bundles at the end, less than that are to become one
        self._bundles: deque[Bundle] = deque()

    def __len__(self) -> int:
        return self._frames

    def append(self, bundle: Bundle) -> None:
        self._bundles.append(bundle)
        self._newest = bundle.last
        if self._oldest == NONE:
            self._oldest = bundle.last
        self._frames += bundle.frames
        self.size += bundle.size
        if bundle.size > _SMALL:
            self._loose = 0
        else:
            self._loose += 1
            if self._loose >= _LOOSE:
                self._join()
        if self.size > self._max_bytes or self._frames > self._max_frames:
            self._shed()

    def _join(self) -> None:
        """Make one of the loose bundles.  If that is the oldest, too, it leaves with its last."""
        self._loose = 0
        bundles = self._bundles
        last: list[Bundle] = []
        while len(last) < _LOOSE:
            last.append(bundles.pop())
        last.reverse()
        parts: list[bytes] = []
        frames = 0
        size = 0
        for bundle in last:
            parts += bundle.parts
            frames += bundle.frames
            size += bundle.size
        if frames > self._max_frames // 8 or size > self._max_bytes // 8:
            bundles.extend(last)  # of a short history, which is to be let go piece by piece
            return
        bundles.append(Bundle([b"".join(parts)], last[-1].last, frames, size))
        self._oldest = bundles[0].last

    def acknowledge(self, number: int) -> None:
        """The peer has received everything up to `number`.  What it cannot know, or has said before, changes nothing."""
        if number < 0 or self._newest == NONE or (self._newest - number) & LAST_NUMBER >= HALF:
            return
        if self.acknowledged != NONE and not 0 < (number - self.acknowledged) & LAST_NUMBER < HALF:
            return
        self.acknowledged = number
        if self.lost != NONE and not is_later(self.lost, number):
            self.lost = NONE
        if self._oldest != NONE and (number - self._oldest) & LAST_NUMBER < HALF:
            self._release(number)

    def _release(self, number: int) -> None:
        bundles = self._bundles
        while bundles and (number - bundles[0].last) & LAST_NUMBER < HALF:
            self._floor = bundles[0].last
            self._drop()
        self._oldest = bundles[0].last if bundles else NONE

    def covers(self, last_received: int) -> bool:
        """Is everything still here that a peer misses who says that `last_received` was its last frame, or NONE?

        What the peer acknowledged it has received, whatever it says now.
        """
        if self.lost == NONE:
            return True
        return last_received != NONE and not is_later(self.lost, last_received)

    def replay(self, last_received: int) -> list[bytes]:
        """What that peer misses: all later frames that it has not acknowledged, in parts."""
        self.acknowledge(last_received)
        acknowledged = self.acknowledged
        if last_received == NONE or (acknowledged != NONE and is_later(acknowledged, last_received)):
            last_received = acknowledged
        found: list[bytes] = []
        for bundle in self._bundles:
            frames = split(b"".join(bundle.parts))
            if last_received == NONE or is_later(number_of(frames[0]), last_received):
                found += bundle.parts
            elif is_later(bundle.last, last_received):
                found += [frame for frame in frames if is_later(number_of(frame), last_received)]
        return found

    @property
    def available_from(self) -> int:
        """The number from which on nothing has been dropped; NONE if there has never been anything."""
        return NONE if self._newest == NONE else following(self._floor)

    def clear(self) -> None:
        while self._bundles:
            self._drop()
        self._oldest = NONE

    def _shed(self) -> None:
        bundles = self._bundles
        while len(bundles) > 1 and (self.size > self._max_bytes or self._frames > self._max_frames):
            self.lost = self._floor = bundles[0].last
            self._drop()
        self._oldest = bundles[0].last

    def _drop(self) -> None:
        bundle = self._bundles.popleft()
        self._loose = min(self._loose, len(self._bundles))
        self.size -= bundle.size
        self._frames -= bundle.frames
