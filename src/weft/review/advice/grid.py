"""What recorded messages would cost under each strategy of data distribution, counted as the nodes themselves count it.

The kernel's rule (`weft.kernel.ddm.channels`): a message goes to the other nodes that have a federate listening to one of
its channels, and every such federate there has received it, wanted or not.  Here the same is worked out for many
messages and many settings at once.  Messages come grouped: `MessageGroups` has how many there were of each sender, with the
same ranges of cells, wanted by the same federates, while everybody listened to the same.  A federate's *cover* is the
boxes of cells that it listens to in each space.

Whether a range of cells meets a cover of many boxes is asked of a summed-area table: one look-up for each corner,
whatever the number of boxes.  Covers of a few boxes are compared directly, all versions of a cover at once, because a
region that moves makes many versions.  Where partitions are more than channels, so that channels are used again, a
federate listens to all partitions that share a channel with one of its own; the table does the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from weft.interest.ddm_settings import EXACT, GRID, SIMPLE, DdmSettings
from weft.interest.spaces import Spaces
from weft.interest.strategies import PartitionGrid
from weft.review.advice.cells import Cells, Ints, parse_layout

Bools = npt.NDArray[np.bool_]
Cover = Mapping[int, Ints]
"""For each space the boxes that a federate listens to: (boxes, dimensions, 2)."""

FEW = 4  # boxes of a cover that are compared one by one


@dataclass
class Listener:
    """A federate, and its cover from each epoch on; None: it is not there."""

    federate: int
    node: str
    name: str = ""
    since: list[int] = field(default_factory=list)
    covers: list[Cover | None] = field(default_factory=list)


@dataclass
class Listening:
    """Everybody's covers.  An epoch is the time between two changes of anybody's cover: `moments` are their beginnings."""

    listeners: list[Listener] = field(default_factory=list)
    moments: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _few: dict[tuple[int, int], tuple[Ints, Bools] | None] = field(default_factory=dict, repr=False)

    def epochs(self, times: npt.ArrayLike) -> Ints:
        """The epoch of each time, -1 before the first."""
        return np.searchsorted(self.moments, np.asarray(times, np.int64), side="right") - 1

    def few(self, at: int, space: int, dimensions: int) -> tuple[Ints, Bools] | None:
        """All versions of a listener's cover in a space as one table, and what of it holds; None if a version has many boxes."""
        key = (at, space)
        if key not in self._few:
            empty = np.zeros((0, dimensions, 2), np.int64)
            covers = [
                empty if cover is None else cover.get(space, empty) for cover in self.listeners[at].covers
            ]
            most = max((len(cover) for cover in covers), default=0)
            self._few[key] = padded(covers, dimensions) if most <= FEW else None
        return self._few[key]


@dataclass
class MessageGroups:
    """Messages that are alike, of one layout: how many, of whom, and where; `wanted` has a row for each listener."""

    layout: str
    count: Ints
    source: Ints
    node: Ints
    """The place of its name in `nodes`."""
    nodes: Sequence[str]
    reliable: Bools
    epoch: Ints
    wanted: Bools
    ranges: Ints


@dataclass
class TrafficCounts:
    """What the nodes would count, by federate; `casts`: datagrams to groups, and messages to single nodes, were there groups."""

    sent: dict[int, int] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    casts: dict[int, int] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    wanted: dict[int, int] = field(default_factory=dict)

    def totals(self) -> dict[str, int]:
        found = {name: sum(getattr(self, name).values()) for name in FIELDS}
        found["unwanted"] = found["received"] - found["wanted"]
        return found

    def add(self, other: TrafficCounts) -> None:
        for name in FIELDS:
            mine = getattr(self, name)
            for federate, number in getattr(other, name).items():
                mine[federate] = mine.get(federate, 0) + number


FIELDS = ("sent", "copies", "casts", "received", "wanted")


def count_under(
    groups: MessageGroups, listening: Listening, settings: Sequence[Divided], cells: Cells
) -> list[TrafficCounts]:
    """For each of the settings what these messages cost; those that divide their spaces alike are counted once."""
    look = _Look(groups, listening, cells)
    known: dict[object, TrafficCounts] = {}
    found = []
    for one in settings:
        key = one.key(look.spaces)
        if key not in known:
            known[key] = look.counts(one)
        found.append(known[key])
    return found


class Divided:
    """The partitions of all spaces under one setting; channels are numbered from 0 here."""

    def __init__(self, setting: DdmSettings, spaces: Spaces) -> None:
        self.strategy = setting.strategy
        self.counts: dict[int, tuple[int, ...]] = {}
        self.first: dict[int, int] = {}
        first = 1
        for space in spaces.all:
            counts = (
                setting.partitions_of(space) if setting.strategy == GRID else (1,) * len(space.dimensions)
            )
            grid = PartitionGrid(space, counts, first)
            self.counts[space.number] = grid.counts
            self.first[space.number] = first - 1
            first += grid.count
        self.partitions = 1 if setting.strategy == SIMPLE else first - 1
        most = setting.max_channels if setting.strategy == GRID else self.partitions
        self.channels = min(self.partitions, most)
        self.reused = self.channels < self.partitions

    def key(self, spaces: Sequence[int]) -> Hashable:
        """Equal for settings under which messages in these spaces cost the same."""
        if self.strategy in (SIMPLE, EXACT):
            return self.strategy
        if self.reused:
            return self.channels, tuple(self.counts.items())
        return tuple((space, self.counts[space]) for space in spaces)

    def channel_numbers(self, space: int) -> Ints:
        """The channel of every partition of a space, in the shape of its grid."""
        return _numbering(self.counts[space], self.first[space]) % self.channels


class _Look:
    """One batch of groups; what was worked out for one grid of one space serves all settings that have it."""

    def __init__(self, groups: MessageGroups, listening: Listening, cells: Cells) -> None:
        self.groups = groups
        self.cells = cells
        self.default, self.spaces = parse_layout(groups.layout)
        self.boxes = self._split(groups.ranges)
        self.listening = listening
        self.listeners = listening.listeners
        self.versions = [
            np.searchsorted(np.array(one.since, np.int64), groups.epoch, side="right") - 1
            for one in self.listeners
        ]
        names = {name: at for at, name in enumerate(groups.nodes)}
        self.away = self._all([groups.node != names.get(one.node, -1) for one in self.listeners])
        self.present = self._all([self._is_there(at) for at in range(len(self.listeners))])
        self.senders, self._sender = np.unique(groups.source, return_inverse=True)
        self.rooms: dict[str, list[int]] = {}
        for at, one in enumerate(self.listeners):
            self.rooms.setdefault(one.node, []).append(at)
        self._met: dict[tuple[int, tuple[int, ...]], Bools] = {}
        self._channels: dict[tuple[int, tuple[int, ...]], Ints] = {}

    def _split(self, ranges: Ints) -> list[Ints]:
        found, at = [], 0
        for space in self.spaces:
            dimensions = len(self.cells.axes[space])
            found.append(ranges[:, at : at + 2 * dimensions].reshape(len(ranges), dimensions, 2))
            at += 2 * dimensions
        return found

    def _is_there(self, at: int) -> Bools:
        here = np.array([cover is not None for cover in self.listeners[at].covers] + [False], np.bool_)
        return here[self.versions[at]]  # version -1, before it came, is the last

    def _all(self, rows: list[Bools]) -> Bools:
        """One row for each listener."""
        return np.stack(rows) if rows else np.zeros((0, len(self.groups.count)), np.bool_)

    def _by_sender(self, numbers: Ints) -> dict[int, int]:
        sums = np.bincount(self._sender, weights=numbers, minlength=len(self.senders))
        return {int(federate): int(n) for federate, n in zip(self.senders, sums, strict=True)}

    # --- one setting ----------------------------------------------------------------------------------------------

    def counts(self, setting: Divided) -> TrafficCounts:
        groups = self.groups
        heard, channels = self._heard(setting)
        arrives = heard & self.away
        wanted = arrives & groups.wanted
        nodes = np.zeros(len(groups.count), np.int64)
        for room in self.rooms.values():
            nodes += arrives[room].any(axis=0)
        casts = np.where(groups.reliable | (setting.strategy == EXACT), nodes, channels * (nodes > 0))
        made = TrafficCounts()
        for name, each in (("sent", channels), ("copies", nodes), ("casts", casts)):
            setattr(made, name, self._by_sender(groups.count * each))
        for name, who in (("received", arrives), ("wanted", wanted)):
            sums = getattr(made, name)
            for one, row in zip(self.listeners, who, strict=True):
                number = int(groups.count[row].sum())
                if number:
                    sums[one.federate] = sums.get(one.federate, 0) + number
        return made

    def _heard(self, setting: Divided) -> tuple[Bools, Ints]:
        """Who hears each message, at whatever node, and on how many channels it is put."""
        one = np.ones(len(self.groups.count), np.int64)
        if setting.strategy == EXACT:
            return self.groups.wanted, one
        if setting.strategy == SIMPLE:
            return self.present, one
        if setting.reused:
            heard, channels = self._reused(setting)
        else:
            heard = np.zeros_like(self.present)
            channels = np.zeros(len(one), np.int64)
            for space in dict.fromkeys(self.spaces):
                heard |= self._meets(space, setting.counts[space])
                channels = channels + self._touched(space, setting.counts[space])
        if self.default:
            return self.present, channels + one
        return heard & self.present, channels

    def _coarse(self, space: int, counts: tuple[int, ...]) -> tuple[list[Ints], list[Ints]]:
        """For each dimension the partition of every cell; and the boxes of the messages there, by these."""
        small = np.int16 if max(counts, default=1) < 1 << 15 else np.int32
        axes = zip(self.cells.axes[space], counts, strict=True)
        tables: list[Ints] = [axis.partitions(n).astype(small) for axis, n in axes]
        own = (box for number, box in zip(self.spaces, self.boxes, strict=True) if number == space)
        return tables, [_coarsened(box, tables) for box in own]

    # --- channels that are used once ------------------------------------------------------------------------------

    def _meets(self, space: int, counts: tuple[int, ...]) -> Bools:
        found = self._met.get((space, counts))
        if found is None:
            tables, own = self._coarse(space, counts)
            rows = [self._met_by(at, space, counts, tables, own) for at in range(len(self.listeners))]
            found = self._met[space, counts] = self._all(rows)
        return found

    def _met_by(
        self, at: int, space: int, counts: tuple[int, ...], tables: list[Ints], own: list[Ints]
    ) -> Bools:
        few = self.listening.few(at, space, len(tables))
        if few is not None:
            boxes, holds = few
            coarse = _coarsened(boxes.reshape(-1, len(tables), 2), tables).reshape(boxes.shape)
            return meets_few(coarse, holds, self.versions[at], own)
        found = np.zeros(len(self.groups.count), np.bool_)
        for version in np.unique(self.versions[at]):
            cover = self.listeners[at].covers[version] if version >= 0 else None
            if cover is not None and space in cover:
                rows = self.versions[at] == version
                table = summed(mask_of(_coarsened(cover[space], tables), counts))
                for box in own:
                    found[rows] |= sums_in(table, box[rows]) > 0
        return found

    def _touched(self, space: int, counts: tuple[int, ...]) -> Ints:
        found = self._channels.get((space, counts))
        if found is None:
            _, own = self._coarse(space, counts)
            if len(own) == 1:
                found = (own[0][:, :, 1] - own[0][:, :, 0] + 1).prod(axis=1, dtype=np.int64)
            else:
                found = _distinct([(box, _numbering(counts, 0)) for box in own], len(self.groups.count))
            self._channels[space, counts] = found
        return found

    # --- channels that are used again -----------------------------------------------------------------------------

    def _reused(self, grids: Divided) -> tuple[Bools, Ints]:
        own = {space: self._coarse(space, grids.counts[space])[1] for space in dict.fromkeys(self.spaces)}
        found = np.zeros_like(self.present)
        for at, listener in enumerate(self.listeners):
            for version in np.unique(self.versions[at]):
                cover = listener.covers[version] if version >= 0 else None
                if cover:
                    rows = self.versions[at] == version
                    heard = self._channel_mask(cover, grids)
                    for space, boxes in own.items():
                        table = summed(heard[grids.channel_numbers(space)])
                        for box in boxes:
                            found[at, rows] |= sums_in(table, box[rows]) > 0
        numbered = [
            (box, _numbering(grids.counts[space], grids.first[space]))
            for space, boxes in own.items()
            for box in boxes
        ]
        return found, _distinct(numbered, len(self.groups.count), grids.channels)

    def _channel_mask(self, cover: Cover, grids: Divided) -> Bools:
        heard = np.zeros(grids.channels, np.bool_)
        for space, boxes in cover.items():
            tables, _ = self._coarse(space, grids.counts[space])
            there = mask_of(_coarsened(boxes, tables), grids.counts[space])
            heard[grids.channel_numbers(space)[there]] = True
        return heard


def partitions(setting: DdmSettings, spaces: Spaces) -> int:
    return Divided(setting, spaces).partitions


def _numbering(counts: tuple[int, ...], first: int) -> Ints:
    """Partitions of a space, the first dimension fastest."""
    return np.arange(first, first + int(np.prod(counts, dtype=np.int64)), dtype=np.int64).reshape(
        counts, order="F"
    )


def _coarsened(boxes: Ints, tables: list[Ints]) -> Ints:
    """From cells to partitions; boxes are (any number, dimensions, 2)."""
    if not tables:
        return boxes
    made = np.empty((len(tables), 2, len(boxes)), tables[0].dtype)  # numbers of one kind side by side
    for at, table in enumerate(tables):
        made[at, 0], made[at, 1] = table[boxes[:, at, 0]], table[boxes[:, at, 1]]
    return made.transpose(2, 0, 1)


# --- does a range meet a cover? -------------------------------------------------------------------------------------


def padded(covers: Sequence[Ints], dimensions: int) -> tuple[Ints, Bools]:
    """Covers of few boxes as one table, (versions and one more, boxes, dimensions, 2), and which boxes there are."""
    most = max((len(cover) for cover in covers), default=0)
    made = np.zeros((len(covers) + 1, most, dimensions, 2), np.int64)
    holds = np.zeros((len(covers) + 1, most), np.bool_)
    for at, cover in enumerate(covers):
        made[at, : len(cover)] = cover
        holds[at, : len(cover)] = True
    return made, holds


def meets_few(covers: Ints, holds: Bools, versions: Ints, boxes: Sequence[Ints]) -> Bools:
    """Each message against the few boxes of its version of the cover, all versions at once; -1 is no version."""
    found = np.zeros(len(versions), np.bool_)
    which: Ints | int = versions
    if len(versions) and (versions == versions[0]).all():
        which = int(versions[0])  # nothing has changed in all the time
    for place in range(covers.shape[1]):
        there = holds[which, place]
        if not np.any(there):
            continue
        for box in boxes:
            overlap = np.broadcast_to(there, len(versions))
            for at in range(covers.shape[2]):
                low, high = covers[:, place, at, 0][which], covers[:, place, at, 1][which]
                overlap = overlap & (box[:, at, 0] <= high) & (low <= box[:, at, 1])
            found |= overlap
    return found


def mask_of(boxes: Ints, counts: tuple[int, ...]) -> Bools:
    """The partitions that boxes pass through."""
    mask = np.zeros(counts, np.bool_)
    for box in boxes:
        mask[tuple(slice(low, high + 1) for low, high in box)] = True
    return mask


def summed(mask: Bools) -> Ints:
    """The summed-area table of a mask: one longer in each dimension, with zeros in front."""
    table = np.zeros([size + 1 for size in mask.shape], np.int64)
    inner = mask.astype(np.int64)
    for axis in range(mask.ndim):
        inner = inner.cumsum(axis=axis)
    table[(slice(1, None),) * mask.ndim] = inner
    return table


def sums_in(table: Ints, boxes: Ints) -> Ints:
    """How many partitions of the mask lie in each box: the corners, with their signs."""
    found = np.zeros(len(boxes), np.int64)
    for corner in product((0, 1), repeat=table.ndim):
        places = tuple(
            boxes[:, axis, 1] + 1 if high else boxes[:, axis, 0] for axis, high in enumerate(corner)
        )
        found += table[places] if (table.ndim - sum(corner)) % 2 == 0 else -table[places]
    return found


def _distinct(boxes: list[tuple[Ints, Ints]], rows: int, channels: int = 0) -> Ints:
    """How many different channels messages of several boxes are put on; `channels`: they are used again beyond."""
    if not boxes:
        return np.zeros(rows, np.int64)
    flat = np.concatenate([box.reshape(len(box), -1) for box, _ in boxes], axis=1)
    unique, place = np.unique(flat, axis=0, return_inverse=True)
    numbers = np.zeros(len(unique), np.int64)
    for row, values in enumerate(unique):
        seen: list[Ints] = []
        at = 0
        for box, numbering in boxes:
            width = box.shape[1] * 2
            pairs = values[at : at + width].reshape(-1, 2)
            seen.append(numbering[tuple(slice(low, high + 1) for low, high in pairs)].ravel())
            at += width
        all_of_them = np.concatenate(seen)
        numbers[row] = len(np.unique(all_of_them % channels if channels else all_of_them))
    return numbers[place.ravel()]
