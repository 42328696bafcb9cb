"""Correlation as the definition has it (S3-5), slowly: every part of a dependency is asked about the whole history, each time.

Nothing here is shared with the channel but the words a dependency is written in.  An occurrence is an event or a timeout, by its
place in the history; a timeout names the leaf it belongs to.  What is asked: when does a part fire, and with which occurrences?
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.channel.qos import AllOf, AnyOf, Deadline, Dependency, Interval, On


class Occurrence(NamedTuple):
    source: int = 0
    type: int = 0
    leaf: Any = None  # of a timeout: where it stands, a path


Firings = dict[int, frozenset[int]]
"""When, and with what."""


def firings(
    part: Dependency, where: tuple[int, ...], offered: list[int], history: list[Occurrence]
) -> Firings:
    """Of a part that stands at a place of the whole and is offered these occurrences."""
    if isinstance(part, On):
        return {
            at: frozenset([at])
            for at in offered
            if history[at].leaf is None
            and part.source in (0, history[at].source)
            and part.type in (0, history[at].type)
        }
    if isinstance(part, Interval | Deadline):
        return {at: frozenset([at]) for at in offered if history[at].leaf == where}
    if isinstance(part, AnyOf):
        found: Firings = {}
        for number, below in enumerate(part.parts):
            for at, content in firings(below, (*where, number), offered, history).items():
                found[at] = found.get(at, frozenset()) | content
        return found
    return _all_of(part, where, offered, history)


def _all_of(part: AllOf, where: tuple[int, ...], offered: list[int], history: list[Occurrence]) -> Firings:
    """Round after round.  A part is offered what comes until it fires; what it has been offered in earlier rounds still counts
    for the groups within it that have not fired."""
    found: Firings = {}
    given: list[list[int]] = [[] for _ in part.parts]
    kept: list[frozenset[int] | None] = [None] * len(part.parts)
    for at in offered:
        for number, below in enumerate(part.parts):
            if kept[number] is None:
                given[number].append(at)
                kept[number] = firings(below, (*where, number), given[number], history).get(at)
        if all(one is not None for one in kept):
            found[at] = frozenset().union(*[one for one in kept if one is not None])
            kept = [None] * len(part.parts)
    return found


def pushes(registrations: list[Dependency], history: list[Occurrence]) -> list[list[int]]:
    """What a consumer gets: at most one push for an occurrence, in the order of arrival."""
    everything = list(range(len(history)))
    found = firings(AnyOf(tuple(registrations)), (), everything, history)
    return [sorted(found[at]) for at in sorted(found)]


def pushes_clearing(registrations: list[Dependency], history: list[Occurrence]) -> list[list[int]]:
    """The same when every push clears all groups: after it, the history begins anew."""
    found: list[list[int]] = []
    begin = 0
    whole = AnyOf(tuple(registrations))
    for at in range(len(history)):
        fired = firings(whole, (), list(range(begin, at + 1)), history).get(at)
        if fired is not None:
            found.append(sorted(fired))
            begin = at + 1
    return found
