"""Who should have got a message: subscriptions as they were then, against whom it was sent to.

Messages and subscriptions of one tile come in; a tile is a stretch of one node's rows.  Every subscription is a box in `at`,
logical time and space (`subscriptions`), every message a point in time and a box, or several, in space; the matcher of
`weft.interest.matching` finds who overlaps.

All nodes carry out commands in one order, and a message says which was the last one that its sender's node had carried out.  So
`at` is the number of a command, and it is certain what that node knew of everybody's subscriptions.

Rows of the first version of the schema have no such number; then `at` is the wall clock.  What a node knows of subscriptions at
other nodes is a little old, and clocks differ.  So near a change (`GRACE`) a federate elsewhere *may* get a message and need not:
it *must* be addressed only if it wanted the message all that time, and must not only if it wanted it in none of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weft.interest.matching import match
from weft.interest.matching.sweep import Boxes
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.standing import boxed
from weft.review.kernels.subscriptions import ALWAYS, ANY_MODE, LOGICAL_MODE, NEVER, PLACE_MODE

GRACE = 1_000_000_000  # ns: for subscriptions at another node, by the wall clock
TIE = 1  # ns: at the same node two rows may have the same time
CELLS = 1 << 24


@dataclass
class Extents:
    """Boxes of many rows.  A shape is the dimensions of the boxes of a row, one behind the other; shape 0 is no box at all."""

    shape: Array
    shapes: list[tuple[str, ...]]
    offset: Array
    lower: Array
    upper: Array

    def boxes(self, shape: int) -> list[dict[str, int]]:
        """Of each box the places of its dimensions."""
        return boxed((dimension, place) for place, dimension in enumerate(self.shapes[shape]))

    def bounds(self, rows: Array, box: dict[str, int], dimensions: list[str]) -> tuple[Array, Array]:
        """Lower and upper bounds: a row for each dimension, the whole range where the box has none."""
        lower = np.full((len(dimensions), len(rows)), ALWAYS)
        upper = np.full((len(dimensions), len(rows)), NEVER)
        for number, dimension in enumerate(dimensions):
            if dimension in box:
                places = self.offset[rows] + box[dimension]
                lower[number], upper[number] = self.lower[places], self.upper[places]
        return lower, upper


@dataclass
class Items:
    """Names of attributes of many rows: a set for each number; set 0 is empty."""

    number: Array
    sets: list[frozenset[str]]


@dataclass
class SentColumns:
    """Messages: a row each, or one for the attributes of an update that are in the same boxes."""

    node: Array
    source: Array
    class_name: Array
    by_logical: Array  # does it go by logical time: was it sent in time stamp order?
    at: Array
    logical: Array
    items: Items
    extents: Extents
    addressed_rows: Array  # for each addressed federate the number of the message
    addressed: Array
    message: Array  # for each row the number of the message, which never falls
    told: Array  # is it recorded which attributes are in which box?
    numbered: bool = False  # `at` is the number of a command, not the wall clock

    @property
    def count(self) -> int:
        return int(self.message[-1]) + 1 if len(self.message) else 0

    @property
    def margin(self) -> int:
        """So far from a message a subscription may still count."""
        return 0 if self.numbered else GRACE


@dataclass
class SubscribedColumns:
    """Stretches of subscriptions: a row each."""

    node: Array
    federate: Array
    class_name: Array  # of messages that it is for: its own class, or one below
    items: Items  # the empty set wants everything
    subscription: Array  # a number for each subscription, which may have many stretches
    mode: Array
    since: Array
    until: Array
    from_time: Array
    to_time: Array
    extents: Extents
    sure: Array


class Misaddressed(NamedTuple):
    """Rows of messages, and federates: who should have been addressed and was not, who was and should not.

    `possible`: who was not, and may have got it nevertheless.
    """

    missed_rows: Array
    missed: Array
    extra_rows: Array
    extra: Array
    possible_rows: Array
    possible: Array


class _Pairs(NamedTuple):
    messages: Array
    wishes: Array
    exact: Array  # False: whether the message overlaps is not fully recorded


def judge(sent: SentColumns, subscribed: SubscribedColumns) -> Misaddressed:
    federates = np.unique(np.concatenate((subscribed.federate, sent.addressed, sent.source)))
    step = max(1, CELLS // max(1, len(federates)))
    parts = [
        _judge_rows(sent, subscribed, federates, begin, min(begin + step, sent.count))
        for begin in range(0, sent.count, step)
    ]
    if not parts:
        nothing = np.empty(0, np.int64)
        return Misaddressed(*[nothing] * 6)
    return Misaddressed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _judge_rows(
    sent: SentColumns, subscribed: SubscribedColumns, federates: Array, begin: int, end: int
) -> Misaddressed:
    must, may, addressed = (np.zeros((end - begin, len(federates)), bool) for _ in range(3))
    inside = (sent.addressed_rows >= begin) & (sent.addressed_rows < end)
    seats = np.searchsorted(federates, sent.addressed[inside])
    addressed[sent.addressed_rows[inside] - begin, seats] = True
    seats = np.searchsorted(federates, subscribed.federate)
    first, last = np.searchsorted(sent.message, (begin, end))
    for name, rows in by_value(sent.class_name[first:last]):
        for wishes in _alike(subscribed, np.flatnonzero(subscribed.class_name == name)):
            for pairs in _overlapping(sent, subscribed, rows + first, wishes):
                _mark(sent, subscribed, _fitting(sent, subscribed, pairs), seats, begin, must, may)
    own = np.searchsorted(federates, sent.source[first:last])
    for matrix in (must, may, addressed):
        matrix[sent.message[first:last] - begin, own] = False
    found: list[Array] = []
    for matrix in (must & ~addressed, addressed & ~may, may & ~must & ~addressed):
        rows, seats = np.nonzero(matrix)
        found += (rows + begin, federates[seats])
    return Misaddressed(*found)


def _alike(subscribed: SubscribedColumns, places: Array) -> Iterator[Array]:
    """Subscriptions with boxes of the same shape, which are matched together."""
    for _, inside in by_value(subscribed.extents.shape[places]):
        yield places[inside]


def _overlapping(
    sent: SentColumns, subscribed: SubscribedColumns, rows: Array, wishes: Array
) -> Iterator[_Pairs]:
    shape = subscribed.extents.shape[wishes[0]]
    for of_message, inside in by_value(sent.extents.shape[rows]):
        if shape == 0 or of_message == 0:
            yield _in_time(sent, subscribed, rows[inside], wishes)
        else:
            yield from _in_space(sent, subscribed, rows[inside], wishes)


def _in_time(sent: SentColumns, subscribed: SubscribedColumns, rows: Array, wishes: Array) -> _Pairs:
    """All pairs whose times may meet; the default region overlaps every region."""
    order = np.argsort(sent.at[rows], kind="stable")
    at = sent.at[rows][order]
    begin = np.searchsorted(at, subscribed.since[wishes] - sent.margin)
    count = np.searchsorted(at, subscribed.until[wishes] + sent.margin) - begin
    count = np.maximum(count, 0)
    places = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - begin, count)
    return _Pairs(rows[order[places]], np.repeat(wishes, count), np.ones(len(places), bool))


def _in_space(
    sent: SentColumns, subscribed: SubscribedColumns, rows: Array, wishes: Array
) -> Iterator[_Pairs]:
    """All pairs that overlap in `at` (with a margin) and in space, box by box."""
    wanted_box = subscribed.extents.boxes(int(subscribed.extents.shape[wishes[0]]))[0]
    sent_boxes = sent.extents.boxes(int(sent.extents.shape[rows[0]]))
    at = sent.at[rows]
    since, until = subscribed.since[wishes] - sent.margin, subscribed.until[wishes] + sent.margin
    # Attributes of one update may each have regions of their own; which box is whose was not always recorded.
    exact = (sent.items.number[rows] == 0) | (len(sent_boxes) == 1) | sent.told[rows]
    for box in sent_boxes:
        common = [dimension for dimension in wanted_box if dimension in box]
        if common:
            lower, upper = sent.extents.bounds(rows, box, common)
            updates = Boxes(np.vstack((at, lower)), np.vstack((at + 1, upper)))
            lower, upper = subscribed.extents.bounds(wishes, wanted_box, common)
            wanted = Boxes(np.vstack((since, lower)), np.vstack((until, upper)))
            pairs = match(updates, wanted)
            yield _Pairs(rows[pairs.updates], wishes[pairs.subscriptions], exact[pairs.updates])


def _fitting(sent: SentColumns, subscribed: SubscribedColumns, pairs: _Pairs) -> _Pairs:
    """Those that meet in logical time, and of whose attributes one is wanted."""
    messages, wishes, exact = pairs
    by_logical, mode = sent.by_logical[messages], subscribed.mode[wishes]
    logical = sent.logical[messages]
    ok = (mode == ANY_MODE) | (mode == np.where(by_logical, LOGICAL_MODE, PLACE_MODE))
    in_range = (logical >= subscribed.from_time[wishes]) & (logical < subscribed.to_time[wishes])
    ok &= ~by_logical | in_range
    fits = np.array(
        [[not wish or bool(wish & said) for wish in subscribed.items.sets] for said in sent.items.sets], bool
    )
    ok &= fits[sent.items.number[messages], subscribed.items.number[wishes]]
    return _Pairs(messages[ok], wishes[ok], exact[ok])


def _mark(
    sent: SentColumns,
    subscribed: SubscribedColumns,
    pairs: _Pairs,
    seats: Array,
    begin: int,
    must: Array,
    may: Array,
) -> None:
    messages, wishes, exact = pairs
    at, place = sent.at[messages], sent.message[messages] - begin
    grace = np.where(sent.node[messages] == subscribed.node[wishes], TIE, GRACE)
    first, last = (at, at + 1) if sent.numbered else (at - grace, at + grace)
    low = np.maximum(subscribed.since[wishes], first)
    high = np.minimum(subscribed.until[wishes], last)
    meets = low < high
    may[place[meets], seats[wishes[meets]]] = True
    judged = meets & exact & subscribed.sure[wishes]
    whole = judged & (high - low == last - first)
    must[place[whole], seats[wishes[whole]]] = True
    # Stretches of one subscription that follow one another may together cover all the time that counts.
    edge = np.flatnonzero(judged & ~whole)
    if len(edge):
        key = np.stack((messages[edge], subscribed.subscription[wishes[edge]]))
        _, alike, number = np.unique(key, axis=1, return_index=True, return_inverse=True)
        covered = np.bincount(number.ravel(), weights=(high - low)[edge])
        full = edge[alike[covered >= (last - first)[edge[alike]]]]
        must[place[full], seats[wishes[full]]] = True
