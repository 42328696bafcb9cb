"""What a federate asks, is granted, gets and sends, step by step: each against what it asked for and what it promised.

All rows of one federate, in the order of its node.  A federate that has asked for t gets nothing beyond t and is then granted t;
Next Message Request may end at the last message that was handed over, Flush Queue Request earlier still.  A grant never
goes back.  Whoever regulates sends nothing below its promise: its time, or what it has asked for, plus its lookahead.
"""

from __future__ import annotations

import numpy as np

from weft.review.kernels.pieces import Array
from weft.review.kernels.timing import DELIVER, FLUSH_GRANT, GRANT, Found

ADVANCE, NEXT, FLUSH = 3, 4, 5  # requests
ENABLED = 6  # regulation or constraint, with a time
UNKNOWN = 7  # its lookahead changes: until it is told again, nobody knows what it has promised
SEND = 8  # in time stamp order
REGULATES = 10  # it has asked to regulate: it may be given messages and be ahead when that is enabled (8.2)
REMOVE = 9  # an object instance is removed: that may have been a message in time stamp order

BEYOND = "beyond request"
DIFFERS = "grant not as requested"
BACK = "grant goes back"
BELOW = "below promise"


def check_steps(code: Array, time: Array, lookahead: Array, told: Array) -> list[Found]:
    """`told`: which rows have a lookahead."""
    asks = np.isin(code, (ADVANCE, NEXT, FLUSH))
    grants = np.isin(code, (GRANT, FLUSH_GRANT))
    asked, granted = _last_before(asks), _last_before(grants)
    base = _last_before(grants | (code == ENABLED))
    pending = asked > granted
    kind = np.where(pending, code[np.maximum(asked, 0)], -1)
    found = _beyond(code, time, asked, base, kind)
    found += _grants(code, time, asked, base, kind, grants)
    found += _below(code, time, lookahead, told, (asked, base, pending, kind))
    return sorted(found)


def _last_before(rows: Array) -> Array:
    """For each place the last of these rows before it; -1 where there is none."""
    if not len(rows):
        return np.empty(0, np.int64)
    last = np.maximum.accumulate(np.where(rows, np.arange(len(rows)), -1))
    return np.append(-1, last[:-1])


def _told(rows: Array, what: str, bound: Array) -> list[Found]:
    return [Found(int(place), what, bound[place]) for place in np.flatnonzero(rows)]


def _beyond(code: Array, time: Array, asked: Array, base: Array, kind: Array) -> list[Found]:
    place = np.where(kind >= 0, asked, base)
    bound = time[np.maximum(place, 0)]
    bounded = (place >= 0) & (kind != FLUSH) & (_last_before(code == REGULATES) < place)
    return _told((code == DELIVER) & bounded & (time > bound), BEYOND, bound)


def _grants(code: Array, time: Array, asked: Array, base: Array, kind: Array, grants: Array) -> list[Found]:
    wish, before = time[np.maximum(asked, 0)], time[np.maximum(base, 0)]
    back = grants & (base >= 0) & (time < before)
    handed, removed = _last_before(code == DELIVER), _last_before(code == REMOVE)
    reached = (handed > asked) & (time[np.maximum(handed, 0)] == time)
    early_enough = (time == wish) | ((time < wish) & (reached | (removed > asked)))
    fits = np.select(
        [kind == ADVANCE, kind == NEXT, kind == FLUSH], [time == wish, early_enough, time <= wish], False
    )
    return _told(back, BACK, before) + _told(grants & ~fits & ~back, DIFFERS, wish)


def _below(code: Array, time: Array, lookahead: Array, told: Array, state: tuple[Array, ...]) -> list[Found]:
    asked, base, pending, kind = state
    row = np.where(pending, asked, base)
    since = np.where(kind == ADVANCE, asked, base)
    known = (
        (row >= 0)
        & (since >= 0)
        & told[np.maximum(row, 0)]
        & (row > _last_before(np.isin(code, (UNKNOWN, REGULATES))))
    )
    bound = time[np.maximum(since, 0)] + lookahead[np.maximum(row, 0)]
    return _told((code == SEND) & known & (time < bound), BELOW, bound)


def tail(federate: Array, code: Array, time: Array) -> Array:
    """Places of the rows that say all about what was before: whoever goes on needs no others."""
    kept: set[int] = set()
    for who in np.unique(federate).tolist():
        places = np.flatnonzero(federate == who)
        mine, when = code[places], time[places]
        kept.update(places[one] for one in _kept(mine, when))
    return np.array(sorted(kept), np.int64)


def _kept(code: Array, time: Array) -> list[int]:
    asks = np.isin(code, (ADVANCE, NEXT, FLUSH))
    grants = np.isin(code, (GRANT, FLUSH_GRANT))
    kept: list[int] = []
    for rows in (
        asks,
        grants,
        code == ENABLED,
        code == UNKNOWN,
        code == REGULATES,
        code == REMOVE,
        code == FLUSH_GRANT,
    ):
        places = np.flatnonzero(rows)
        kept += places[-1:].tolist()
    flushed = np.flatnonzero(code == FLUSH_GRANT)
    since = int(flushed[-1]) + 1 if len(flushed) else 0
    handed = np.flatnonzero(code == DELIVER)
    kept += handed[-1:].tolist()
    after = handed[handed >= since]
    if len(after):
        kept.append(int(after[np.argmax(time[after])]))
    return kept
