"""Which boxes overlap: of many at once (`match`), and kept up to date while they move (`Overlaps`).

Only `match` needs numpy, and imports it when it is called: a federate that never matches files does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.interest.matching.overlaps import OverlapChange, Overlaps
from weft.interest.matching.tree import BoxTree

if TYPE_CHECKING:
    from weft.interest.matching.sweep import Boxes, Pairs

__all__ = ["BoxTree", "OverlapChange", "Overlaps", "match"]


def match(updates: Boxes, subscriptions: Boxes, closed: bool = False) -> Pairs:
    """All pairs of an update box and a subscription box that overlap, by their places; see `sweep`."""
    from weft.interest.matching.sweep import match_boxes

    return match_boxes(updates, subscriptions, closed)
