"""What a federate wanted at a place of its node's record: the place is exact, so nothing is left to clocks.

Rows of a node are in the order in which things happened there.  A subscription or region of a federate changes at its own node,
and what arrives for it arrives there, too; so whether it wanted a message when that came is known for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from weft.review.kernels.subscriptions import ALWAYS, ANY_MODE, LOGICAL_MODE, NEVER, WALL_MODE, Wanted, wanted


class Message(NamedTuple):
    """What subscriptions are asked about."""

    class_name: str
    items: tuple[str, ...]  # of an update; empty: an interaction
    boxes: tuple[dict[str, tuple[int, int]], ...]  # empty: sent without a region
    tick: int | None  # in time stamp order: its time


def below(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def boxes_of(
    dimensions: Iterable[str], lower: Iterable[int], upper: Iterable[int]
) -> tuple[dict[str, tuple[int, int]], ...]:
    """A box begins where the first dimension comes again."""
    found: list[dict[str, tuple[int, int]]] = []
    for name, low, high in zip(dimensions, lower, upper, strict=True):
        if not found or name in found[-1]:
            found.append({})
        found[-1][name] = (low, high)
    return tuple(found)


class Standing:
    """Of one federate: all stretches of its subscriptions, by place."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Its rows of the kinds declare, region, resign and lost, in order, with their `tick`."""
        listed = list(rows)
        self.clock = [(row["seq"], row["epoch_ns"]) for row in listed]
        self._wanted = wanted([{**row, "epoch_ns": row["seq"]} for row in listed])
        self._named = {one.class_name for one in self._wanted}
        self.timed = any(one.mode != ANY_MODE for one in self._wanted)

    def subscribed(self, class_name: str) -> list[str]:
        """All classes at or above that one that it ever subscribed to, the nearest first."""
        return sorted((name for name in self._named if below(class_name, name)), key=len, reverse=True)

    def place_of(self, epoch: int) -> int:
        """The place of its last change by that time of its node's clock."""
        return max((seq for seq, at in self.clock if at <= epoch), default=0)

    def places(self, first: int, last: int) -> list[int]:
        """All places in [first, last] at which something else may hold."""
        return [first, *(seq for seq, _ in self.clock if first < seq <= last)]

    def wants(self, message: Message, place: int) -> bool:
        return any(True for _ in self.fitting(message, place))

    def fitting(self, message: Message, place: int) -> Iterator[Wanted]:
        """What of its subscriptions, as of that place, the message is for."""
        by_time = message.tick is not None
        for one in self._wanted:
            if not below(message.class_name, one.class_name) or not one.wall[0] <= place < one.wall[1]:
                continue
            if one.mode == (WALL_MODE if by_time else LOGICAL_MODE):
                continue
            if one.mode == LOGICAL_MODE and not one.logical[0] <= (message.tick or 0) < one.logical[1]:
                continue
            if one.items and not set(one.items) & set(message.items):
                continue
            if one.bounds is not None and message.boxes and not _meet(one, message):
                continue
            yield one


def _meet(one: Wanted, message: Message) -> bool:
    for box in message.boxes:
        common = [(low, high, *box[name]) for name, low, high in one.bounds or () if name in box]
        if common and all(low < upper and lower < high for low, high, lower, upper in common):
            return True
    return False


__all__ = ["ALWAYS", "NEVER", "Message", "Standing", "below", "boxes_of"]
