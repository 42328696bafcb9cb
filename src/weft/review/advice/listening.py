"""Who listened to what, when: from rows of joins, declarations and regions to covers.

The rules are those of the kernel (`weft.kernel.ddm.channels`): a federate listens where the attributes and interaction classes
travel that it subscribes to, those of classes below included; to the whole space, or to its regions there.  Rows come in the
order in which things happened.  A change that leaves a federate's cells as they are is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from weft.interest.spaces import Spaces
from weft.review.advice.cells import Cells, Ints
from weft.review.advice.grid import Cover, Listener, Listening
from weft.review.kernels.records import RecordedRow, bounds_of

Bounds = Mapping[str, tuple[int, int]]
Held = tuple[str, str]
"""A class and an attribute, which is empty for an interaction class."""
COLUMNS = ("epoch_ns", "node", "seq", "kind", "service", "federate", "name", "class", "items", "region",
           "dimensions", "lower", "upper")  # fmt: skip
"""Of the rows that `read_listening` takes."""
KINDS = ("join", "resign", "lost", "declare", "region")


class _Wishes:
    """What one federate subscribes to: as a whole, and with which regions."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.whole: dict[Held, None] = {}
        self.placed: dict[Held, dict[int, None]] = {}

    def regions(self) -> set[int]:
        return {region for regions in self.placed.values() for region in regions}

    def declare(self, service: str, name: str, items: Iterable[str] | None, region: int | None) -> None:
        if "directed" in service or "subscribe" not in service:
            return
        begins = not service.startswith("unsubscribe")
        if "interaction_class" in service:
            wanted = [(name, "")]
        elif service == "unsubscribe_object_class":
            wanted = [(cls, item) for cls, item in self.whole if cls == name and item]
        else:
            wanted = [(name, item) for item in items or ()]
        for one in wanted:
            if service.endswith("with_regions"):
                self._place(one, region, begins)
            elif begins:
                self.whole[one] = None
            else:
                self.whole.pop(one, None)

    def _place(self, one: Held, region: int | None, begins: bool) -> None:
        if region is None:
            return
        if begins:
            self.placed.setdefault(one, {})[region] = None
        elif one in self.placed:
            self.placed[one].pop(region, None)
            if not self.placed[one]:
                del self.placed[one]

    def cover(self, spaces: Spaces, cells: Cells, regions: Mapping[int, Bounds]) -> Cover:
        found: dict[int, dict[bytes, Ints]] = {}

        def listen(number: int, box: Ints) -> None:
            found.setdefault(number, {})[box.tobytes()] = box

        for one in self.whole:
            for number in _spaces(spaces, one):
                listen(number, cells.whole(number))
        for one, held in self.placed.items():
            for number in _spaces(spaces, one):
                for region in held:
                    if region in regions:
                        listen(number, cells.box(number, regions[region]))
        return {number: np.stack([boxes[key] for key in sorted(boxes)]) for number, boxes in found.items()}


def _spaces(spaces: Spaces, one: Held) -> list[int]:
    """The numbers of those that it travels in, classes below included."""
    cls, item = one
    travels = [spaces.of_attribute(cls, item)] if item else spaces.heard(cls)
    return [space.number for space in travels if space is not None]


def read_listening(rows: Iterable[RecordedRow], spaces: Spaces, cells: Cells) -> Listening:
    """`rows` are in the order of time, with the columns `COLUMNS`."""
    return _ListeningReader(spaces, cells).read(rows)


class _ListeningReader:
    def __init__(self, spaces: Spaces, cells: Cells) -> None:
        self.spaces = spaces
        self.cells = cells
        self.federates: dict[int, _Wishes] = {}
        self.left: list[Listener] = []
        self.regions: dict[int, Bounds] = {}
        self.moments: list[int] = []

    def read(self, rows: Iterable[RecordedRow]) -> Listening:
        for row in rows:
            for federate in self._apply(row):
                self._note(federate, row["epoch_ns"])
        everybody = [*self.left, *(wishes.listener for wishes in self.federates.values())]
        return Listening(everybody, np.array(self.moments, np.int64))

    def _apply(self, row: RecordedRow) -> list[int]:
        """The federates whose covers may have changed."""
        kind, federate = row["kind"], row["federate"]
        if kind == "join":
            listener = Listener(federate, row["node"], row["name"] or str(federate))
            self.federates[federate] = _Wishes(listener)
            return [federate]
        if federate not in self.federates:
            return []
        if kind in ("resign", "lost"):
            listener = self.federates.pop(federate).listener
            self._begin(listener, row["epoch_ns"], None)
            self.left.append(listener)
            return []
        if kind == "declare":
            self.federates[federate].declare(row["service"] or "", row["class"], row["items"], row["region"])
            if row["region"] is not None and row["lower"]:
                self.regions.setdefault(row["region"], _bounds(row))
            return [federate]
        region = row["region"] or 0
        if row["lower"]:
            self.regions[region] = _bounds(row)
        elif row["service"] == "delete_region":
            self.regions.pop(region, None)
        return [one for one, wishes in self.federates.items() if region in wishes.regions()]

    def _note(self, federate: int, time: int) -> None:
        wishes = self.federates[federate]
        cover = wishes.cover(self.spaces, self.cells, self.regions)
        known = wishes.listener.covers
        if not known or not _same(known[-1], cover):
            self._begin(wishes.listener, time, cover)

    def _begin(self, listener: Listener, time: int, cover: Cover | None) -> None:
        """Its cover from that time on; of several at the same moment the last counts."""
        if not self.moments or self.moments[-1] < time:
            self.moments.append(time)
        epoch = len(self.moments) - 1
        if listener.since and listener.since[-1] == epoch:
            listener.covers[-1] = cover
            return
        listener.since.append(epoch)
        listener.covers.append(cover)


def _bounds(row: RecordedRow) -> Bounds:
    return {name: (lower, upper) for name, lower, upper in bounds_of(row)}


def _same(one: Cover | None, other: Cover) -> bool:
    return (
        one is not None
        and one.keys() == other.keys()
        and all(np.array_equal(boxes, other[space]) for space, boxes in one.items())
    )
