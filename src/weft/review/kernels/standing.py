"""What a federate wanted at a place of its node's record: the place is exact, so nothing is left to clocks.

Rows of a node are in the order in which things happened there.  A subscription or region of a federate changes at its own node,
and what arrives for it arrives there, too; so whether it wanted a message when that came is known for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from weft.review.kernels.records import RecordedRow
from weft.review.kernels.subscriptions import ANY_MODE, LOGICAL_MODE, PLACE_MODE, Wanted, wanted

Boxes = tuple[dict[str, tuple[int, int]], ...]
NO_DIMENSION = "no dimension"  # HLA has no names with spaces
IN_NO_PLACE: Boxes = ({NO_DIMENSION: (0, 0)},)
Of = TypeVar("Of")


class Piece(NamedTuple):
    """Attributes of an update that are in the same boxes, or an interaction."""

    items: tuple[str, ...]  # empty: an interaction
    boxes: Boxes  # empty: sent without a region


class AskedMessage(NamedTuple):
    """What subscriptions are asked about."""

    class_name: str
    pieces: tuple[Piece, ...]
    tick: int | None  # in time stamp order: its time
    exact: bool  # is it known which attribute is in which box?

    @property
    def items(self) -> set[str]:
        return {item for piece in self.pieces for item in piece.items}


def below(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def boxed(bounds: Iterable[tuple[str, Of]]) -> list[dict[str, Of]]:
    """What is told of the dimensions of a row, box by box: one begins where a dimension comes again."""
    found: list[dict[str, Of]] = []
    for dimension, told in bounds:
        if not found or dimension in found[-1]:
            found.append({})
        found[-1][dimension] = told
    return found


def boxes_of(dimensions: Iterable[str], lower: Iterable[int], upper: Iterable[int]) -> Boxes:
    """The boxes of a row, with their bounds."""
    return tuple(boxed(zip(dimensions, zip(lower, upper, strict=True), strict=True)))


def pieces_of(
    items: tuple[str, ...], count: int, owned: tuple[int, ...]
) -> list[tuple[tuple[str, ...], list[int] | None]]:
    """Items that are in the same boxes, and the numbers of these of `count`; None: in regions that are nowhere.

    `owned` says for each item by bits in which boxes it is; where it says nothing, they are in all.
    """
    if not owned or len(owned) != len(items):
        return [(items, list(range(count)))]
    alike: dict[int, list[str]] = {}
    for item, mask in zip(items, owned, strict=True):
        alike.setdefault(mask, []).append(item)
    return [
        (tuple(those), None if mask < 0 else [number for number in range(count) if mask >> number & 1])
        for mask, those in alike.items()
    ]


class FederateStanding:
    """Of one federate: all stretches of its subscriptions, by place."""

    def __init__(self, rows: Iterable[RecordedRow]) -> None:
        """Its rows of the kinds declare, region, resign and lost, in order, with their `tick`."""
        listed = list(rows)
        self.clock = [(row["seq"], row["epoch_ns"]) for row in listed]
        self._wanted = wanted([{**row, "at": row["seq"]} for row in listed])
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

    def wants(self, message: AskedMessage, place: int) -> bool:
        return any(True for _ in self.fitting(message, place))

    def fitting(self, message: AskedMessage, place: int) -> Iterator[Wanted]:
        """What of its subscriptions, as of that place, the message is for; of attributes only those that it has."""
        by_time = message.tick is not None
        for one in self._wanted:
            if not below(message.class_name, one.class_name) or not one.at[0] <= place < one.at[1]:
                continue
            if one.mode == (PLACE_MODE if by_time else LOGICAL_MODE):
                continue
            if one.mode == LOGICAL_MODE and not one.logical[0] <= (message.tick or 0) < one.logical[1]:
                continue
            met = [
                piece
                for piece in message.pieces
                if one.bounds is None or not piece.boxes or _meet(one, piece)
            ]
            items = {item for piece in met for item in piece.items}.intersection(one.items)
            if items or (met and not one.items):
                yield one._replace(items=tuple(sorted(items)))


def _meet(one: Wanted, piece: Piece) -> bool:
    for box in piece.boxes:
        common = [(low, high, *box[name]) for name, low, high in one.bounds or () if name in box]
        if common and all(low < upper and lower < high for low, high, lower, upper in common):
            return True
    return False
