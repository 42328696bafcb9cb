"""GALT against its definition by brute force, and the queue of time stamp order against sorting (issue 5)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weft.ordering.galt import Bound, LowerBounds
from weft.ordering.stamped import Stamped, StampQueue

SMALL = st.integers(0, 6)
BOUNDS = st.tuples(SMALL, st.integers(0, 1))


class Given:
    """What one federate promises."""

    def __init__(self, bound: Bound, lookahead: int, until: bool, floor: Bound) -> None:
        self.bound, self.lookahead, self.until, self.floor = max(bound, floor), lookahead, until, floor


PROMISES = st.dictionaries(
    st.integers(1, 6), st.builds(Given, BOUNDS, st.integers(0, 3), st.booleans(), BOUNDS)
)


def by_definition(given_: dict[int, Given]) -> dict[int, Bound]:
    """The largest promises that agree: who asks for the next message promises no more than others do, and its lookahead."""
    found = {who: one.bound for who, one in given_.items()}
    while True:
        after = {}
        for who, one in given_.items():
            others = [bound for other, bound in found.items() if other != who]
            after[who] = one.bound
            if one.until and others:
                least = min(others)
                after[who] = min(one.bound, max((least[0] + one.lookahead, least[1]), one.floor))
        if after == found:
            return found
        found = after


@given(PROMISES, st.lists(st.integers(1, 6), max_size=4))
def test_galt_is_what_the_definition_says(given_: dict[int, Given], withdrawn: list[int]) -> None:
    bounds = LowerBounds()
    for who, one in given_.items():
        bounds.promise(who, (one.bound[0] + 1, 0), one.lookahead)  # promised before, and replaced
        bounds.promise(who, one.bound, one.lookahead, one.until, one.floor)
    for who in withdrawn:
        bounds.withdraw(who)
        given_.pop(who, None)
    found = by_definition(given_)
    assert bounds.least() == min(found.values(), default=None)
    for who in [*given_, 99]:
        assert bounds.galt(who) == min([b for other, b in found.items() if other != who], default=None)
    assert sorted(bounds.behind()) == sorted(w for w, one in given_.items() if one.bound == bounds.least())
    alone = bounds.alone()
    assert (alone is None) == (len(bounds.behind()) != 1)


MESSAGES = st.lists(st.tuples(SMALL, st.sampled_from("abc"), st.integers(1, 40)), unique=True, max_size=20)


@given(MESSAGES, BOUNDS, st.data())
def test_a_queue_gives_what_is_due_in_its_order(
    messages: list[tuple[int, str, int]], limit: Bound, data: st.DataObject
) -> None:
    queue = StampQueue()
    handles: dict[Any, bytes] = {m: f"{m[1]}{m[2]}@{m[0]}".encode() for m in messages}
    for message in messages:
        for part in range(2):
            queue.add(Stamped((*message, part), message, handles[message]))
    retracted = data.draw(st.sets(st.sampled_from(messages))) if messages else set()
    for message in retracted:
        assert queue.retract(handles[message])
        assert not queue.retract(handles[message])
    left = sorted((*m, part) for m in messages if m not in retracted for part in range(2))
    assert len(queue) == len(left)
    assert [m.key for m in queue.messages()] == left
    assert queue.head() == (left[0][0] if left else None)
    due = [key for key in left if (key[0], 0) < limit]
    assert [m.key for m in queue.take(limit)] == due
    assert [m.key for m in queue.take_all()] == left[len(due) :]
    assert len(queue) == 0
