"""A strategy that divides the spaces by what is sent: many partitions where they keep messages from nodes, none elsewhere.

A grid divides everything alike, and most of its channels lie where nothing happens.  Here a space is cut in two, each part
perhaps again, and so on: the parts are the partitions, and each has a channel.  Which cuts there are is the *plan*.  With an
empty plan each space is one partition, as under StaticSpacePartitioned.

    propose     a plan from what was sent of late and who listens where.  Where most arrives is cut again and again, each time
                at the best place, whether that already saves something or not; then all cuts are taken back that were not worth
                it, until there are channels for all parts (MaxNumberOfDataChannelsToUse)
    arrivals    how often the same messages would have arrived at other nodes under a plan: what is to become less

Cuts lie on lines, LINES - 1 of them at most in each dimension.  What was sent is told by the cells between them that its regions
touch, so any plan gives it the channels that it would really have had: what `arrivals` says of the past is exact.  On links a
message arrives once at a node; cast to multicast groups it arrives once for each channel that the node listens to.  The search
counts as for groups, which on links promises less than it keeps.

`kernel.ddm.adapting` says when a plan is made, and how a federation goes over to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from operator import or_
from typing import Final, NamedTuple

from weft.interest.ddm_settings import DdmSettings
from weft.interest.regions import WHOLE, Extent, Region
from weft.interest.spaces import Space, SpaceDimension, Spaces
from weft.interest.strategy import ADAPTIVE, DEFAULT_CHANNELS, NO_CHANNELS, Channels
from weft.model.errors import SettingsError

LINES: Final = 64
"""Cells of a dimension."""
WORTH: Final = 500
"""A part that saves less than this share of all arrivals is not kept."""
PARTS: Final = 4
"""Times as many parts as there are channels are tried."""
_LEAF: Final = -1

Plan = tuple[tuple[str, tuple[int, ...]], ...]
"""For each divided space its name and its cuts: (dimension, number, …below, …above); -1 stands for a part that is not cut."""

NO_PLAN: Plan = ()

CellBox = tuple[tuple[int, int], ...]
"""The first and the last cell in each dimension of a space."""

Part = tuple[str, tuple[CellBox, ...]]
"""The name of a space, and where in it; no name is the default space, which is never divided."""

TrafficKind = tuple[bool, tuple[Part, ...]]
"""Messages that a plan treats alike: cast to groups or not, and where they are sent."""


class SentTraffic(NamedTuple):
    """Messages that are alike: `cast` to groups or not."""

    node: str
    cast: bool
    parts: tuple[Part, ...]
    times: int


class Cut(NamedTuple):
    """What of a dimension lies below the number is in one part, the rest in the other; a whole number is a channel."""

    dimension: SpaceDimension
    number: int
    below: Cut | int
    above: Cut | int


class AdaptiveOptions(NamedTuple):
    """The form AdaptivePartitionedStrategyOptions of a RID file."""

    interval: float = 1.0  # seconds between two reports of a node
    messages: int = 1000  # so many at least before a plan is made
    gain: float = 0.1  # so much less must arrive, else the plan stays


def adaptive_options(settings: DdmSettings) -> AdaptiveOptions:
    known = {"reportinterval": "interval", "minimummessages": "messages", "minimumgain": "gain"}
    unknown = sorted(set(settings.options) - set(known))
    if unknown:
        raise SettingsError(
            f"{ADAPTIVE}StrategyOptions knows no {unknown[0]!r}; it has ReportInterval, MinimumMessages and MinimumGain"
        )
    given = {known[name]: _positive(name, text) for name, text in settings.options.items()}
    made = AdaptiveOptions()
    return AdaptiveOptions(
        given.get("interval", made.interval),
        max(1, int(given.get("messages", made.messages))),
        given.get("gain", made.gain),
    )


def _positive(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise SettingsError(f"{ADAPTIVE}StrategyOptions: {name} must be a number above 0, not {text!r}")
    return value


class AdaptivePartitioned:
    """The strategy with one plan; another plan is another strategy."""

    name = ADAPTIVE
    matches_at_sender = False

    def __init__(self, spaces: Spaces, settings: DdmSettings, plan: Plan = NO_PLAN) -> None:
        adaptive_options(settings)
        self.plan = plan
        given = dict(plan)
        self._trees: dict[int, Cut | int] = {}
        self.partitions = 0
        for space in spaces.all:
            tree, rest = self._read(space, given.get(space.name, (_LEAF,)))
            assert not rest
            self._trees[space.number] = tree
        self.channels = min(self.partitions, settings.max_channels)

    def _read(self, space: Space, cuts: tuple[int, ...]) -> tuple[Cut | int, tuple[int, ...]]:
        """The tree that the cuts begin with, and those that follow it; parts are numbered in that order."""
        if cuts[0] == _LEAF:
            self.partitions += 1
            return self.partitions, cuts[1:]
        dimension = space.dimensions[cuts[0]]
        below, rest = self._read(space, cuts[2:])
        above, rest = self._read(space, rest)
        return Cut(dimension, cuts[1], below, above), rest

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        if not region.extents:
            return NO_CHANNELS
        if space is None:
            return DEFAULT_CHANNELS
        found: set[int] = set()
        for extent in region.extents:
            self._add(self._trees[space.number], space, extent, found)
        return frozenset(found)

    def _add(self, tree: Cut | int, space: Space, extent: Extent, found: set[int]) -> None:
        if isinstance(tree, int):
            found.add((tree - 1) % self.channels + 1)
            return
        lower, upper = space.bounds(extent, tree.dimension)
        if lower < tree.number:
            self._add(tree.below, space, extent, found)
        if upper > tree.number:
            self._add(tree.above, space, extent, found)

    def lines(self) -> dict[int, set[int]]:
        """By the number of a dimension: where it is cut, in any part of any space."""
        found: dict[int, set[int]] = {}
        for tree in self._trees.values():
            _add_lines(tree, found)
        return found


def _add_lines(tree: Cut | int, found: dict[int, set[int]]) -> None:
    if isinstance(tree, Cut):
        found.setdefault(tree.dimension.number, {0, tree.dimension.size}).add(tree.number)
        _add_lines(tree.below, found)
        _add_lines(tree.above, found)


# --- cells ------------------------------------------------------------------------------------------------------


def _size(dimension: SpaceDimension) -> int:
    return max(1, -(-dimension.size // LINES))


def cells(space: Space, extents: Iterable[Extent]) -> tuple[CellBox, ...]:
    """What of the space the extents touch, without doubles and in one order."""
    found: set[CellBox] = set()
    for extent in extents:
        box = []
        for dimension in space.dimensions:
            lower, upper = space.bounds(extent, dimension)
            size = _size(dimension)
            box.append((lower // size, min((upper - 1) // size, LINES - 1)))
        found.add(tuple(box))
    return tuple(sorted(found))


def _region(space: Space, boxes: tuple[CellBox, ...]) -> Region:
    """The region that these cells are."""
    extents = []
    for box in boxes:
        ranges = {}
        for dimension, (first, last) in zip(space.dimensions, box, strict=True):
            size = _size(dimension)
            ranges[dimension.number] = (first * size, (last + 1) * size)
        extents.append(Extent(ranges))
    return Region(extents)


# --- what a plan costs -------------------------------------------------------------------------------------------


def arrivals(
    strategy: AdaptivePartitioned,
    spaces: Spaces,
    traffic: Iterable[SentTraffic],
    listeners: Mapping[int, Collection[str]],
) -> int:
    """How often messages arrive at other nodes; `listeners`: who listens to which channel."""
    total = 0
    for sent in traffic:
        channels: set[int] = set()
        for name, boxes in sent.parts:
            space = spaces.by_name.get(name)
            channels.update(
                DEFAULT_CHANNELS if space is None else strategy.update_channels(space, _region(space, boxes))
            )
        total += sent.times * arrivals_of(channels, listeners, sent.node, sent.cast)
    return total


def arrivals_of(
    channels: Iterable[int], listeners: Mapping[int, Collection[str]], sender: str, cast: bool
) -> int:
    """Of one message."""
    nodes = [node for channel in channels for node in listeners.get(channel, ()) if node != sender]
    return len(nodes) if cast else len(set(nodes))


# --- the search --------------------------------------------------------------------------------------------------


class _Piece:
    """A part of a space that may be cut, with what concerns it."""

    def __init__(
        self,
        space: Space,
        box: CellBox,
        messages: list[tuple[int, int, CellBox]],
        wishes: list[tuple[int, CellBox]],
    ) -> None:
        self.space = space
        self.box = box
        self.messages = messages  # the bit of the sender's node, how many, where
        self.wishes = wishes  # the bit of a node that listens, where
        heard = 0
        for bit, _ in wishes:
            heard |= bit
        self.cost = sum(count * (heard & ~bit).bit_count() for bit, count, _ in messages)
        self._cut = (0, 0)  # the dimension, and the cell above the cut
        self._halves: tuple[_Piece, _Piece] | None = None

    def plan(self) -> tuple[int, ...]:
        if self._halves is None:
            return (_LEAF,)
        place, cell = self._cut
        number = cell * _size(self.space.dimensions[place])
        return (place, number, *self._halves[0].plan(), *self._halves[1].plan())

    def prune(self, worth: int) -> tuple[int, int]:
        """Take back cuts that save less than that for each part that they make; the cost, and how many parts are left."""
        if self._halves is not None:
            cost, parts = map(sum, zip(*[half.prune(worth) for half in self._halves], strict=True))
            if cost + worth * (parts - 1) < self.cost:
                return cost, parts
            self._halves = None
        return self.cost, 1

    def divide(self) -> tuple[_Piece, ...]:
        """At the best place; nothing if it cannot be cut."""
        found = [
            (*self._best_along(place), place) for place, (first, last) in enumerate(self.box) if first < last
        ]
        if not found:
            return ()
        _, _, cell, place = min(found)
        self._cut = (place, cell)
        first, last = self.box[place]
        self._halves = (self._half(place, first, cell - 1), self._half(place, cell, last))
        return self._halves

    def _best_along(self, place: int) -> tuple[int, int, int]:
        """What the best cut of that dimension costs, how uneven it is, and the cell above it."""
        first, last = self.box[place]
        span = last - first
        starts, ends = [0] * (span + 1), [0] * (span + 1)
        for bit, box in self.wishes:
            starts[max(box[place][0] - first, 0)] |= bit
            ends[min(box[place][1] - first, span)] |= bit
        below, above = list(accumulate(starts, or_)), list(accumulate(reversed(ends), or_))[::-1]
        costs, uneven = [0] * (span + 1), [0] * (span + 1)
        for sender, (begun, ended) in self._counts(place).items():
            lower, upper = list(accumulate(begun)), list(accumulate(reversed(ended)))[::-1]
            for line in range(1, span + 1):
                costs[line] += lower[line - 1] * (below[line - 1] & ~sender).bit_count()
                costs[line] += upper[line] * (above[line] & ~sender).bit_count()
                uneven[line] += lower[line - 1] - upper[line]
        return min((costs[line], abs(uneven[line]), first + line) for line in range(1, span + 1))

    def _counts(self, place: int) -> dict[int, tuple[list[int], list[int]]]:
        """For each node how many of its messages begin in each cell of the dimension, and how many end there."""
        first, last = self.box[place]
        found: dict[int, tuple[list[int], list[int]]] = {}
        for sender, count, box in self.messages:
            counts = found.get(sender)
            if counts is None:
                counts = found[sender] = ([0] * (last - first + 1), [0] * (last - first + 1))
            counts[0][max(box[place][0] - first, 0)] += count
            counts[1][min(box[place][1], last) - first] += count
        return found

    def _half(self, place: int, first: int, last: int) -> _Piece:
        box = (*self.box[:place], (first, last), *self.box[place + 1 :])
        messages = [one for one in self.messages if one[2][place][0] <= last and one[2][place][1] >= first]
        wishes = [one for one in self.wishes if one[1][place][0] <= last and one[1][place][1] >= first]
        return _Piece(self.space, box, messages, wishes)


def propose(
    spaces: Spaces,
    settings: DdmSettings,
    traffic: Sequence[SentTraffic],
    wishes: Mapping[str, Collection[Part]],
) -> Plan:
    """The plan that fits what was sent; `wishes`: where each node listens."""
    bits = {node: 1 << place for place, node in enumerate(sorted({*wishes, *(one.node for one in traffic)}))}
    roots = [_root(space, bits, traffic, wishes) for space in spaces.all if space.dimensions]
    _grow(roots, PARTS * settings.max_channels)
    worth = max(1, sum(root.cost for root in roots) // WORTH)
    room = settings.max_channels - (len(spaces.all) - len(roots))
    while sum(root.prune(worth)[1] for root in roots) > max(room, len(roots)):
        worth += worth // 2 + 1
    plans = [(root.space.name, root.plan()) for root in roots]
    return tuple((name, plan) for name, plan in plans if len(plan) > 1)


def _grow(roots: Sequence[_Piece], most: int) -> None:
    """Cut what costs most, until there are so many parts."""
    heap = [(-root.cost, number, root) for number, root in enumerate(roots)]
    heapify(heap)
    numbered = parts = len(roots)
    while heap and parts < most:
        less, _, piece = heappop(heap)
        if less == 0:
            return
        halves = piece.divide()
        parts += bool(halves)
        for half in halves:
            heappush(heap, (-half.cost, numbered, half))
            numbered += 1


def _root(
    space: Space,
    bits: Mapping[str, int],
    traffic: Sequence[SentTraffic],
    wishes: Mapping[str, Collection[Part]],
) -> _Piece:
    whole = cells(space, (WHOLE,))[0]
    messages = [
        (bits[sent.node], sent.times, box)
        for sent in traffic
        for name, boxes in sent.parts
        if name == space.name
        for box in boxes
    ]
    listening = [
        (bits[node], box)
        for node, parts in wishes.items()
        for name, boxes in parts
        if name == space.name
        for box in boxes
    ]
    return _Piece(space, whole, messages, listening)
