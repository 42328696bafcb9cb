"""What the channel's process and those of its consumers say to one another, over a socket: kind, length, body.

To a worker: a consumer that it does not know yet, or work.  From it: an event that its consumer pushes, and the end of the work
with the times at which it began and ended (the monotonic clock is the machine's), the CPU time it took, and what was raised.
"""

from __future__ import annotations

import pickle
import struct
from typing import Final

CONSUMER: Final = 1  # number, callable
WORK: Final = 2  # number, events
PUSH: Final = 3  # number of the supplier, event, when
DONE: Final = 4  # times, then what was raised if anything was

_HEAD = struct.Struct("<BI")
_TIMES = struct.Struct("<ddd")


def frame(kind: int, body: bytes) -> bytes:
    return _HEAD.pack(kind, len(body)) + body


def packed(kind: int, content: object) -> bytes:
    return frame(kind, pickle.dumps(content, pickle.HIGHEST_PROTOCOL))


def done(begin: float, end: float, spent: float, error: bytes = b"") -> bytes:
    return frame(DONE, _TIMES.pack(begin, end, spent) + error)


def read_done(body: bytes) -> tuple[float, float, float, bytes]:
    begin, end, spent = _TIMES.unpack_from(body)
    return begin, end, spent, body[_TIMES.size :]


class Frames:
    """Bytes as they come, frames as they are complete."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        rest = self._rest + data if self._rest else data
        place = 0
        found = []
        while len(rest) - place >= _HEAD.size:
            kind, length = _HEAD.unpack_from(rest, place)
            end = place + _HEAD.size + length
            if len(rest) < end:
                break
            found.append((kind, rest[place + _HEAD.size : end]))
            place = end
        self._rest = rest[place:]
        return found
