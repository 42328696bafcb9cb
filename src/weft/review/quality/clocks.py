"""Clocks of nodes: how far each is off, as far as what was sent and when it arrived can tell.

Nothing arrives before it is sent: the least difference of any message from a to b bounds how far b's clock is ahead, and the
other way round how far it is behind.  The width between the two is how well that is known.  Looked at window by window,
it tells whether a clock drifts, or was set while the run went on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from weft.review.quality.doubts import CLOCK, FIGURE, Doubt

TOLERANCE = 500_000_000  # ns
UNBOUNDED = 1 << 60
WINDOWS = 8


class Sampled(Protocol):
    """What a survey tells of a part."""

    node: str
    sent_at: dict[str, int]
    arrived_at: dict[str, int]


class Journey(NamedTuple):
    """Of a message from one node to another, by the clock of each."""

    sender: str
    receiver: str
    sent: int
    arrived: int


class ClockBounds(NamedTuple):
    """How far a clock is ahead, ns: at least, and at most."""

    low: int
    high: int

    @property
    def known(self) -> bool:
        return self.low > -UNBOUNDED and self.high < UNBOUNDED

    @property
    def middle(self) -> int:
        bounds = [bound for bound in self if abs(bound) < UNBOUNDED]
        return sum(bounds) // len(bounds)

    @property
    def width(self) -> int:
        return max(0, self.high - self.low)

    @property
    def is_off(self) -> bool:
        return self.low > TOLERANCE or self.high < -TOLERANCE


Pairs = Mapping[tuple[str, str], ClockBounds]


def clocks(parts: Iterable[Sampled], reference: str | None) -> tuple[dict[str, int], list[Doubt]]:
    """By how much the wall clock of a node is to be shifted, for those that are far off; and how far, and how well known."""
    listed = list(parts)
    journeys = _journeys(listed)
    nodes = sorted({one.node for one in listed})
    ahead = _bounds(journeys)
    chosen = _reference(nodes, ahead, reference) if nodes else ""
    shifts: dict[str, int] = {}
    found: list[Doubt] = []
    for node in nodes:
        bounds = ahead.get((chosen, node))
        if bounds is None:
            continue
        if bounds.is_off:
            shifts[node] = -bounds.middle
        steps = _steps(
            [one for one in journeys if {one.sender, one.receiver} == {chosen, node}], chosen, node
        )
        found += _told(chosen, node, bounds, steps)
    return shifts, found


def _journeys(parts: Sequence[Sampled]) -> list[Journey]:
    sent = {key: (one.node, at) for one in parts for key, at in one.sent_at.items()}
    arrivals = [(one.node, key, at) for one in parts for key, at in one.arrived_at.items() if key in sent]
    return [
        Journey(sent[key][0], node, sent[key][1], at) for node, key, at in arrivals if sent[key][0] != node
    ]


def _bounds(journeys: Iterable[Journey]) -> dict[tuple[str, str], ClockBounds]:
    """By two nodes how far the clock of the second is ahead of the first's."""
    least: dict[tuple[str, str], int] = {}
    for one in journeys:
        pair = (one.sender, one.receiver)
        least[pair] = min(one.arrived - one.sent, least.get(pair, UNBOUNDED))
    pairs = {*least, *((b, a) for a, b in least)}
    return {
        (a, b): ClockBounds(-least.get((b, a), UNBOUNDED), least.get((a, b), UNBOUNDED)) for a, b in pairs
    }


def _reference(nodes: list[str], ahead: Pairs, wanted: str | None) -> str:
    """The node that most others agree with; of several the one that is wanted."""

    def disagreeing(node: str) -> int:
        return sum(bounds.is_off for pair, bounds in ahead.items() if pair[0] == node)

    return min(nodes, key=lambda node: (disagreeing(node), node != wanted, node))


def _steps(journeys: Sequence[Journey], chosen: str, node: str) -> list[tuple[int, ClockBounds]]:
    """Of windows of the run, by the chosen clock, in which messages went both ways: the middle of each, and the bounds."""
    if not journeys:
        return []
    at = [one.sent if one.sender == chosen else one.arrived for one in journeys]
    first, length = min(at), max(at) - min(at) + 1
    found = []
    for number in range(WINDOWS):
        inside = [
            one
            for one, when in zip(journeys, at, strict=True)
            if (when - first) * WINDOWS // length == number
        ]
        bounds = _bounds(inside).get((chosen, node))
        if bounds is not None and bounds.known:
            found.append((first + length * (2 * number + 1) // (2 * WINDOWS), bounds))
    return found


def _told(
    chosen: str, node: str, bounds: ClockBounds, steps: Sequence[tuple[int, ClockBounds]]
) -> Iterable[Doubt]:
    figures: list[tuple[str, int | float]] = [("ahead_ns", bounds.middle)]
    figures += [("width_ns", bounds.width)] if bounds.known else []
    mine = frozenset({node})
    if len(steps) > 1:
        (begin, first), (end, last) = steps[0], steps[-1]
        figures.append(("drift_ns_per_s", round((last.middle - first.middle) / max(1, end - begin) * 1e9)))
        low, high = min(steps, key=lambda one: one[1].high), max(steps, key=lambda one: one[1].low)
        if high[1].low - low[1].high > TOLERANCE:
            text = (
                f"the clock of node {node!r} was set, or drifts, while the run went on: from {_seconds(first.middle)} to "
                f"{_seconds(last.middle)} s ahead of that of {chosen!r}; what hangs on its times is unsure"
            )
            yield Doubt("clock drift", node, CLOCK, text, mine, tuple(figures))
    if not bounds.is_off:
        text = f"the clock of node {node!r} agrees with that of {chosen!r}, as far as messages tell"
        yield Doubt("clock", node, FIGURE, text, mine, tuple(figures))
        return
    side = "ahead of" if bounds.middle > 0 else "behind"
    text = (
        f"the clock of node {node!r} was {abs(bounds.middle) / 1e9:.1f} s {side} that of {chosen!r}"
        f"{f' (known to {bounds.width / 1e9:.3f} s)' if bounds.known else ''}; "
        "its times are corrected, and what hangs on them is unsure"
    )
    yield Doubt("clock", node, CLOCK, text, mine, tuple(figures))


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:.1f}"
