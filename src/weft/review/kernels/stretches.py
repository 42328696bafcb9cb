"""What a stretch of the log does to all vectors, so that stretches can be scanned side by side.

The scan (`log_scan`) knows of each process p a vector V_p, and of each message m under way the vector S_m that it brings: that
of its sender when it was sent, with m's own number.  A row takes maxima only: a delivery makes V_p max(V_p, S_m), a send makes
S_m from V_p.  So after a stretch each vector is the maximum of some vectors from before it and of a constant one:

    V_p' = max(constant, V_q for q in some processes, S_m for m in some messages that were sent before)

That is a `StretchEffect`.  It is found by the same scan, begun with a unit vector for each V_q and each S_m instead of their
numbers: a place of its own beside the federates', which is 1 where that vector is taken.  One stretch behind another is
substitution (`compose`), which is associative.  So stretches are summarised side by side, the effects folded in order, which is
little, and each stretch is judged with the vectors that are true where it begins (`starts`).

Which message brought a number is told, too: the first one whose delivery made it as great as it is.  Messages are kept in the
order of delivery, so "first" is a minimum over their places.

A message that was sent in an earlier stretch and delivered twice must not count as late.  Who got it before is known to
whoever folds: what crosses a cut is all written down (`crossing`).  A message that was never sent (rows are missing) stays an
input that nobody gives, and counts for nothing; so does a delivery that stands before its send.

It holds where each source sends a number once; then to take a message twice is to take it once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from weft.review.kernels.log_scan import Key, LogScan, Start
from weft.review.kernels.pieces import Array

_NOBODY = np.iinfo(np.int64).max


class StretchEffect(NamedTuple):
    """Vectors behind a stretch as maxima of those before it.

    A vector has a place for each process (the constant), then one for each process and one for each message that is asked
    for: 1 where the vector of that one, as it was before the stretch, is taken.
    """

    asked: tuple[Key, ...]
    """Messages that were delivered here and sent before."""
    sent: tuple[Key, ...]
    """Messages that were sent up to here, as far as somebody asks for them later."""
    vectors: Array
    """A row for each process."""
    by: Array
    """For each of their numbers the place of a message in `brought`; -1: it was so before, or is 0."""
    bring: Array
    """A row for each message in `sent`."""
    brought: Array
    """Messages (source, number), a row each, in the order in which they were delivered."""


def nothing(processes: int) -> StretchEffect:
    """Of an empty log: every vector stays as it is."""
    vectors = np.hstack((np.zeros((processes, processes), np.int64), np.eye(processes, dtype=np.int64)))
    return StretchEffect((), (), vectors, np.full(vectors.shape, -1), vectors[:0], np.empty((0, 2), np.int64))


def beginning(processes: int) -> StretchEffect:
    """Where the log begins: nobody has heard of anything."""
    empty = nothing(processes)
    return empty._replace(vectors=np.zeros_like(empty.vectors))


def summarise(
    processes: Sequence[int], asked: Sequence[Key], wanted: Iterable[Key], batches: Iterable[Sequence[Array]]
) -> StretchEffect:
    """`asked`: what is delivered here and sent before; `wanted`: what is sent here and delivered later; rows as
    `LogScan.feed` takes them."""
    many = len(processes)
    units = np.eye(many + len(asked), dtype=np.int64)
    before = np.hstack((np.zeros((len(units), many), np.int64), units))
    start = Start(
        processes,
        before[:many],
        np.full((many, before.shape[1]), -1),
        (),
        dict(zip(asked, before[many:], strict=True)),
    )
    scan = LogScan(start=start)
    for is_send, federate, source, message, _, epoch in batches:
        scan.feed(is_send, federate, source, message, np.full(len(epoch), -1), epoch)  # nothing is forgotten
    vectors, by, brought = scan.vectors(processes)
    told = {key: scan.sent_with(key) for key in sorted(set(wanted))}
    bring = {key: vector for key, vector in told.items() if vector is not None}
    rows = np.array(list(bring.values()), np.int64).reshape(len(bring), before.shape[1])
    return _compact(
        StretchEffect(
            tuple(asked), tuple(bring), vectors, by, rows, np.array(brought, np.int64).reshape(-1, 2)
        )
    )


def _compact(effect: StretchEffect) -> StretchEffect:
    """Only messages that are still named."""
    used, places = np.unique(effect.by[effect.by >= 0], return_inverse=True)
    by = effect.by.copy()
    by[by >= 0] = places.ravel()
    return effect._replace(by=by, brought=effect.brought[used])


def compose(first: StretchEffect, then: StretchEffect) -> StretchEffect:
    """The one stretch, and the other behind it, as one."""
    many = len(first.vectors)
    asked = (*first.asked, *(key for key in then.asked if key not in {*first.asked, *first.sent}))
    width = 2 * many + len(asked)
    given = _given(first, then, asked, width)
    offset = len(first.brought)
    vectors = np.zeros((many, width), np.int64)
    by = np.full((many, width), -1)
    for place in range(many):
        vectors[place], by[place] = _substituted(place, first, then, given, offset)
    bring = [_taken(row, given, many, width) for row in then.bring]
    kept = [place for place, key in enumerate(first.sent) if key not in then.sent]
    bring += list(_wide(first.bring[kept], width))
    sent = (*then.sent, *(first.sent[place] for place in kept))
    order = sorted(range(len(sent)), key=sent.__getitem__)
    rows = np.array([bring[place] for place in order], np.int64).reshape(len(order), width)
    brought = np.concatenate((first.brought, then.brought))
    return _compact(StretchEffect(asked, tuple(sent[place] for place in order), vectors, by, rows, brought))


def _wide(vectors: Array, width: int) -> Array:
    return np.pad(vectors, ((0, 0), (0, width - vectors.shape[1])))


def _given(first: StretchEffect, then: StretchEffect, asked: tuple[Key, ...], width: int) -> Array:
    """For each vector that the second stretch may take, what it is by the first."""
    many = len(first.vectors)
    places = {key: place for place, key in enumerate(first.sent)}
    numbers = {key: place for place, key in enumerate(asked)}
    rows = np.zeros((len(then.asked), width), np.int64)
    for row, key in zip(rows, then.asked, strict=True):
        if key in places:
            row[: first.bring.shape[1]] = first.bring[places[key]]
        else:
            row[2 * many + numbers[key]] = 1
    return np.vstack((_wide(first.vectors, width), rows))


def _taken(vector: Array, given: Array, many: int, width: int) -> Array:
    own = np.zeros(width, np.int64)
    own[:many] = vector[:many]
    return np.asarray(np.maximum(own, given[np.flatnonzero(vector[many:])].max(axis=0, initial=0)))


def _substituted(
    place: int, first: StretchEffect, then: StretchEffect, given: Array, offset: int
) -> tuple[Array, Array]:
    """Of one process: its vector behind both, and for each number the first message that brought it."""
    many, width = len(first.vectors), given.shape[1]
    vector, by = then.vectors[place], then.by[place]
    inputs = np.flatnonzero(vector[many:])
    values = np.zeros((len(inputs) + 1, width), np.int64)
    orders = np.full((len(inputs) + 1, width), _NOBODY)
    values[0, :many], orders[0, :many] = vector[:many], by[:many] + offset
    values[1:], orders[1:] = given[inputs], (by[many:][inputs] + offset)[:, None]
    for row in np.flatnonzero(inputs == place) + 1:  # what it had before was there before
        orders[row] = -1
        orders[row, : first.by.shape[1]] = first.by[place]
    most = values.max(axis=0)
    earliest = np.where((values == most) & (most > 0), orders, _NOBODY).min(axis=0)
    return most, np.where(earliest == _NOBODY, -1, earliest)


def kept(effect: StretchEffect, keys: Collection[Key]) -> StretchEffect:
    """Of messages under way only these."""
    places = [place for place, key in enumerate(effect.sent) if key in keys]
    return effect._replace(sent=tuple(effect.sent[place] for place in places), bring=effect.bring[places])


def starts(
    processes: Sequence[int], effects: Iterable[StretchEffect], asked: Sequence[Sequence[Key]]
) -> Iterator[Start]:
    """Where each stretch begins, in order; one more than there are effects.

    `asked`: of each stretch what it asks for of those before it.
    """
    many = len(processes)
    state = beginning(many)
    later = [{key for keys in asked[place:] for key in keys} for place in range(len(asked))]
    following = iter(effects)
    for place, keys in enumerate(asked):
        known = dict(zip(state.sent, state.bring[:, :many], strict=True))
        brought = [(source, number) for source, number in state.brought.tolist()]
        sent = {key: known.get(key) for key in keys}
        yield Start(processes, state.vectors[:, :many], state.by[:, :many], brought, sent)
        effect = next(following, None)
        if effect is None:
            return
        state = kept(compose(state, effect), later[place + 1] if place + 1 < len(asked) else ())
