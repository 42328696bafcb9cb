"""Regions that were conveyed with a message, as handles.

The regions of another federate travel by value.  The standard's callbacks give handles all the same, which may be asked for
their dimensions and bounds and nothing else.  So such a handle says both itself: it begins with a byte that no handle of a region
made by this RTI has, and then has for each dimension the length of its handle, the handle, and the two bounds in 8 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.model.handles import DimensionHandle, RegionHandle
from weft.model.records import RangeBounds

_MARK = b"\xe7"


def conveyed_handle(bounds: Iterable[tuple[DimensionHandle, RangeBounds]]) -> RegionHandle:
    parts = [_MARK]
    for dimension, (lower, upper) in sorted(bounds):
        parts += (bytes([len(dimension)]), dimension, lower.to_bytes(8, "big"), upper.to_bytes(8, "big"))
    return RegionHandle(b"".join(parts))


def conveyed_bounds(handle: bytes) -> dict[DimensionHandle, RangeBounds] | None:
    """None if the handle is not of a conveyed region."""
    if handle[:1] != _MARK:
        return None
    found: dict[DimensionHandle, RangeBounds] = {}
    at = 1
    while at < len(handle):
        stop = at + 1 + handle[at]
        if stop + 16 > len(handle):
            return None
        bounds = (int.from_bytes(handle[i : i + 8], "big") for i in (stop, stop + 8))
        found[DimensionHandle(handle[at + 1 : stop])] = RangeBounds(*bounds)
        at = stop + 16
    return found
