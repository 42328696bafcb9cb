"""What a federate was subscribed to and when: boxes in logical time, space, and whatever `at` counts.

A subscription holds from its call to the call that takes it back, and where it has a region, as that was from one commit to
the next; each such stretch is a box.  Messages are points in time, so "who wanted it then" is one question of overlap.  `at` is
what orders calls and messages: the number of a command, the place in a node's record, or the wall clock where rows have neither.

With changes *as of a logical time*, messages in time stamp order go by what holds at their time stamp, whenever the change
was made (docs/explanation/ddm-sync.md); all others still go by `at`.  A federate that uses this has boxes of both
modes.  After a change without a time that follows one with a time, what holds when depends on what was under way; from then on
nothing is held against anybody (`sure` is False).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from weft.review.kernels.pieces import Array
from weft.review.kernels.records import Bounds, RecordedRow, bounds_of

NEVER = 1 << 61  # beyond every clock, and far from overflow
ALWAYS = -NEVER
ETERNITY = (1 << 63) - 1  # beyond every logical time; these are only compared, so that nothing overflows
BEGINNING = -ETERNITY - 1
ANY_MODE, PLACE_MODE, LOGICAL_MODE = 0, 1, 2

Subscription = tuple[str, str, int]  # class, attribute ("" of an interaction), region (0: none)
NOWHERE: Bounds = (("", 0, 0),)
_Stretch = tuple[
    int, tuple[int, int], tuple[int, int], Bounds | None, bool
]  # as in `Wanted`, from its mode on


class Wanted(NamedTuple):
    """A stretch of a subscription; bounds None: the whole space."""

    class_name: str
    items: tuple[str, ...]  # empty: an interaction, whose parameters do not matter
    mode: int
    at: tuple[int, int]
    logical: tuple[int, int]
    bounds: Bounds | None
    sure: bool
    region: int  # 0: none


def ticks(times: Array) -> Array:
    """Logical times as whole numbers of the same order."""
    if times.dtype.kind != "f":
        return np.minimum(times.astype(np.int64), ETERNITY - 1)
    bits = (times.astype(np.float64) + 0.0).view(np.int64)  # -0.0 is 0.0
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


class _Change(NamedTuple):
    order: int
    at: int
    tick: int | None
    value: Bounds | bool | None
    """The bounds of a region; whether it is subscribed to; None: the whole space."""


class _Histories:
    """Of regions (their bounds, or NOWHERE) and of subscriptions (True, or False), each a list of changes."""

    def __init__(self) -> None:
        self.regions: dict[int, list[_Change]] = {}
        self.subscriptions: dict[Subscription, list[_Change]] = {}
        self.timed = False
        self.left = NEVER


def wanted(rows: Iterable[RecordedRow]) -> list[Wanted]:
    """Of one federate: its rows of the kinds declare, region, resign and lost, in order; `at`: where; `tick`: logical time."""
    histories = _Histories()
    for order, row in enumerate(rows):
        _read(histories, order, row)
    found: dict[tuple[str, bool, int, _Stretch], list[str]] = {}
    for (class_name, item, region), changes in histories.subscriptions.items():
        bounds = histories.regions.get(region, []) if region else [_Change(0, ALWAYS, None, None)]
        for stretch in _stretches(changes, bounds, histories):
            found.setdefault((class_name, item == "", region, stretch), []).append(item)
    made = []
    for (class_name, is_interaction, region, stretch), items in found.items():
        names = () if is_interaction else tuple(sorted(items))
        made.append(Wanted(class_name, names, *stretch, region))
    return made


def _read(histories: _Histories, order: int, row: RecordedRow) -> None:
    kind, service = row["kind"], row["service"] or ""
    tick, at, bounds = row["tick"], row["at"], tuple(sorted(bounds_of(row)))
    if kind in ("resign", "lost"):
        histories.left = at
    elif kind == "region":
        if bounds or service.startswith("delete"):
            histories.timed |= tick is not None
            change = _Change(order, at, tick, bounds or NOWHERE)
            histories.regions.setdefault(row["region"] or 0, []).append(change)
    elif "subscribe" in service and "directed" not in service:
        histories.timed |= tick is not None
        change = _Change(order, at, tick, not service.startswith("unsubscribe"))
        for key in _named(histories, row, service):
            histories.subscriptions.setdefault(key, []).append(change)
            if row["region"] and row["region"] not in histories.regions and bounds:
                histories.regions[row["region"]] = [_Change(order, ALWAYS, None, bounds)]


def _named(histories: _Histories, row: RecordedRow, service: str) -> list[Subscription]:
    region = row["region"] or 0
    if "interaction" in service:
        return [(row["class"], "", region)]
    if service == "unsubscribe_object_class" and not row["items"]:
        return [key for key in histories.subscriptions if key[0] == row["class"] and key[2] == region]
    # Those of no attributes change nothing.
    return [(row["class"], item, region) for item in row["items"] or ()]


def _stretches(subscribed: list[_Change], bounds: list[_Change], histories: _Histories) -> Iterator[_Stretch]:
    timed = histories.timed
    for on, off, _ in _by_place(subscribed, histories.left):
        for since, until, value in _by_place(bounds, NEVER):
            at = max(on, since), min(off, until)
            if at[0] < at[1] and value != NOWHERE:
                yield PLACE_MODE if timed else ANY_MODE, at, (BEGINNING, ETERNITY), value, True
    if timed:
        yield from _as_of_times(subscribed, bounds, histories.left)


def _by_place(changes: list[_Change], end: int) -> Iterator[tuple[int, int, Bounds | None]]:
    """From when to when it had which value; False is left out."""
    for change, following in zip(changes, [*changes[1:], None], strict=True):
        until = end if following is None else following.at
        if change.value is not False:
            yield change.at, min(until, end), _place(change)


def _place(change: _Change) -> Bounds | None:
    return None if isinstance(change.value, bool) else change.value


def _as_of_times(subscribed: list[_Change], bounds: list[_Change], left: int) -> Iterator[_Stretch]:
    sure = _is_sure(subscribed) and _is_sure(bounds)
    for on in _by_time(subscribed):
        for at in _by_time(bounds):
            logical = max(on[0], at[0]), min(on[1], at[1])
            if on[3].value and at[3].value != NOWHERE and logical[0] < logical[1]:
                places = max(on[2], at[2]), left
                if sure and places[0] < places[1]:
                    yield LOGICAL_MODE, places, logical, _place(at[3]), True
    if not sure:
        yield LOGICAL_MODE, (ALWAYS, NEVER), (BEGINNING, ETERNITY), None, False


def _is_sure(changes: list[_Change]) -> bool:
    timed = False
    for change in changes:
        if change.tick is not None:
            timed = True
        elif timed:
            return False
    return True


def _by_time(changes: list[_Change]) -> Iterator[tuple[int, int, int, _Change]]:
    """From which to which logical time, from which `at` on, which change holds: untimed changes first, then by time."""
    untimed = [change for change in changes if change.tick is None]
    latest = {change.tick: change for change in changes if change.tick is not None}
    timed = [latest[tick] for tick in sorted(latest)]
    end = timed[0].tick if timed else ETERNITY
    for change in untimed[-1:]:
        assert end is not None
        yield BEGINNING, end, change.at, change
    for change, following in zip(timed, [*timed[1:], None], strict=False):
        until = ETERNITY if following is None else following.tick
        assert change.tick is not None
        assert until is not None
        yield change.tick, until, ALWAYS, change
