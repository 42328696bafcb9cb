"""Memory that was needed once is given back to the system.

What is freed after a peak the C library keeps, in pieces all over the heap; it gives whole pages back only when asked to.
"""

from __future__ import annotations

import ctypes
from typing import Final

from weft.host import system

_WORTH_IT: Final = 4 << 20  # bytes


class Peak:
    """Watches how much is kept, and tells when that was far more than it is now."""

    def __init__(self) -> None:
        self._most = 0
        self._last = 0

    def is_over(self, kept: int) -> bool:
        """To be told now and then how many bytes are kept.  Was there a peak that is over?  Said once for each.

        Not while they are still becoming fewer: the rest would be left to the C library.
        """
        falls = kept < self._last
        self._last = kept
        if kept >= self._most:
            self._most = kept
            return False
        if falls or self._most < _WORTH_IT or kept > self._most // 4:
            return False
        self._most = kept
        return True


def give_back() -> None:
    """Where the C library can: glibc."""
    if not system.ALLOCATOR:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
