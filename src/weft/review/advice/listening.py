"""Who listened to what, when: from rows of joins, declarations and regions to covers.

The rules are those of the kernel (`weft.kernel.ddm.channels`): a federate listens where the attributes and interaction classes
travel
that it subscribes to, those of classes below included; to the whole space, or to its regions there.  Rows come in the order in
which things happened.  A change that leaves a federate's cells as they are is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from weft.interest.spaces import Spaces
from weft.review.advice.cells import Cells, Ints
from weft.review.advice.grid import Cover, Listener, Listening
from weft.review.kernels.records import RecordedRow

Bounds = Mapping[str, tuple[int, int]]
Held = TypeVar("Held", str, tuple[str, str])
"""An interaction class, or a class and an attribute."""
COLUMNS = ("epoch_ns", "node", "seq", "kind", "service", "federate", "name", "class", "items", "region",
           "dimensions", "lower", "upper")  # fmt: skip
"""Of the rows that `read_listening` takes."""
KINDS = ("join", "resign", "lost", "declare", "region")


class _Wishes:
    """What one federate subscribes to."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.attributes: dict[tuple[str, str], None] = {}
        self.attributes_at: dict[tuple[str, str], dict[int, None]] = {}
        self.interactions: dict[str, None] = {}
        self.interactions_at: dict[str, dict[int, None]] = {}

    def regions(self) -> set[int]:
        held = (*self.attributes_at.values(), *self.interactions_at.values())
        return {region for regions in held for region in regions}

    def declare(self, service: str, name: str, items: Iterable[str] | None, region: int | None) -> None:
        begins = not service.startswith("unsubscribe")
        if "directed" in service or "subscribe" not in service:
            return
        if "interaction_class" in service:
            if service.endswith("with_regions"):
                _hold(self.interactions_at, name, region, begins)
            elif begins:
                self.interactions[name] = None
            else:
                self.interactions.pop(name, None)
            return
        every = service == "unsubscribe_object_class"
        wanted = [item for cls, item in self.attributes if cls == name] if every else list(items or ())
        for item in wanted:
            if service.endswith("with_regions"):
                _hold(self.attributes_at, (name, item), region, begins)
            elif begins:
                self.attributes[name, item] = None
            else:
                self.attributes.pop((name, item), None)

    def cover(self, spaces: Spaces, cells: Cells, regions: Mapping[int, Bounds]) -> Cover:
        found: dict[int, dict[bytes, Ints]] = {}

        def listen(number: int, box: Ints) -> None:
            found.setdefault(number, {})[box.tobytes()] = box

        for cls, item in self.attributes:
            space = spaces.of_attribute(cls, item)
            if space is not None:
                listen(space.number, cells.whole(space.number))
        for (cls, item), held in self.attributes_at.items():
            space = spaces.of_attribute(cls, item)
            for region in held:
                if space is not None and region in regions:
                    listen(space.number, cells.box(space.number, regions[region]))
        for cls in self.interactions:
            for space in spaces.heard(cls):
                if space is not None:
                    listen(space.number, cells.whole(space.number))
        for cls, held in self.interactions_at.items():
            for space in spaces.heard(cls):
                for region in held:
                    if space is not None and region in regions:
                        listen(space.number, cells.box(space.number, regions[region]))
        return {number: np.stack([boxes[key] for key in sorted(boxes)]) for number, boxes in found.items()}


def _hold(held: dict[Held, dict[int, None]], key: Held, region: int | None, begins: bool) -> None:
    if region is None:
        return
    if begins:
        held.setdefault(key, {})[region] = None
    elif key in held:
        held[key].pop(region, None)
        if not held[key]:
            del held[key]


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
            self._end(federate, row["epoch_ns"])
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

    def _end(self, federate: int, time: int) -> None:
        listener = self.federates.pop(federate).listener
        self._begin(listener, time, None)
        self.left.append(listener)

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
    return {
        name: (lower, upper)
        for name, lower, upper in zip(
            row["dimensions"] or (), row["lower"] or (), row["upper"] or (), strict=True
        )
    }


def _same(one: Cover | None, other: Cover) -> bool:
    return (
        one is not None
        and one.keys() == other.keys()
        and all(np.array_equal(boxes, other[space]) for space, boxes in one.items())
    )
