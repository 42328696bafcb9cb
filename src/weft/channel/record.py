"""What a channel did and when, for a record (S3-11, S3-14): one `Happening` for each, with the kinds and columns of the recorder.

    push       a supplier pushed an event; `name` is the supplier's, `operation` the RT_Info of its publication
    dispatch   a consumer begins with a push; `queue` is how much of its priority waits behind it
    done       it has ended; `detail` says what it raised, if it did
    overrun    it ran longer than the worst case of its operation
    miss       it ended after its deadline: `deadline_ns` less `mono_ns` is its (negative) laxity
    drop       a push was given up: a full queue, a consumer gone, a process that died with it

A record is a function that takes them.  It is called by whoever noticed, in the middle of a push or between two consumers: it
must be quick, and must not push.  Where dispatchers have processes of their own, a happening may be told later than others that
came after it: `mono_ns` orders them, not the order of the calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

PUSH: Final = "push"
DISPATCH: Final = "dispatch"
DONE: Final = "done"
OVERRUN: Final = "overrun"
MISS: Final = "miss"
DROP: Final = "drop"

NANO: Final = 10**9


class Happening(NamedTuple):
    """`deadline_ns` is 0 where there is none.  `priority` and `sub_priority` are those of the operation."""

    kind: str
    mono_ns: int
    name: str
    operation: str
    priority: int
    sub_priority: int
    deadline_ns: int = 0
    queue: int = 0
    detail: str = ""


Record = Callable[[Happening], None]


class DispatchRecord:
    """A record that keeps the last `limit` happenings.  Several threads may write."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self._kept: deque[Happening] = deque(maxlen=limit)
        self.count = 0  # all there were

    def __call__(self, happening: Happening) -> None:
        self.count += 1
        self._kept.append(happening)

    def __iter__(self) -> Iterator[Happening]:
        """By time."""
        return iter(sorted(self._kept, key=lambda one: one.mono_ns))

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, *kinds: str, name: str = "", operation: str = "") -> list[Happening]:
        """Those of some kinds, of one consumer or supplier, of one operation; by time."""
        return [
            one
            for one in self
            if one.kind in kinds and name in ("", one.name) and operation in ("", one.operation)
        ]

    def laxities(self, name: str = "", operation: str = "") -> list[int]:
        """Nanoseconds between end and deadline, for each push that had one; negative: missed (S3-15)."""
        done = self.of(DONE, name=name, operation=operation)
        return [one.deadline_ns - one.mono_ns for one in done if one.deadline_ns]

    def clear(self) -> None:
        self._kept.clear()


def nanoseconds(seconds: float) -> int:
    return round(seconds * NANO)
