"""Which best-effort events of another node have not come.

Each end of a link numbers those that it sends, from 1.  A number that is left out is missing; it may have been overtaken, so it
counts as lost for good only when many that were sent later have come.  The last before a silence are not known to be missing.
"""

from __future__ import annotations

from typing import Final

OVERTAKEN: Final = 64  # events that one may be behind, and still come
MOST_MISSING: Final = 4096  # numbers that are remembered


class DatagramCount:
    def __init__(self) -> None:
        self._top = 0
        self._missing: dict[int, None] = {}  # in rising order
        self._gone = 0

    @property
    def lost(self) -> int:
        """So many have not come; some of them still may."""
        return self._gone + len(self._missing)

    @property
    def gone(self) -> int:
        """So many will not come any more."""
        return self._gone

    def is_new(self, number: int) -> bool:
        """One has come; is it the first time?"""
        if number <= self._top:
            return self._missing.pop(number, self) is None
        first = max(self._top + 1, number - MOST_MISSING)
        self._gone += first - self._top - 1
        self._missing.update(dict.fromkeys(range(first, number)))
        self._top = number
        while self._missing:
            oldest = next(iter(self._missing))
            if oldest > number - OVERTAKEN and len(self._missing) <= MOST_MISSING:
                break
            del self._missing[oldest]
            self._gone += 1
        return True
