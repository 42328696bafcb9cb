"""Grants (clauses 8.8 to 8.11) against the table that `kernel.time.grants` begins with, read as brute force."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernel.time.test_tso_queue import constrained, handed, interaction
from support.bare_federation import step_of
from weft.kernel.state.effects import Callback
from weft.kernel.state.time_state import GRANTED, NMR, NMRA, TAR, TARA, View
from weft.kernel.time import grants, tso_queue

TIMES = st.integers(0, 9)
GALT = st.tuples(TIMES, st.integers(0, 1))


def said_by_the_table(mode: int, asked: int, galt: tuple[int, int], waiting: list[int]) -> int | None:
    """The time that is granted; None: it has to wait."""
    time = min([asked, *waiting]) if mode in (NMR, NMRA) else asked
    # Counted in halves: the kernel takes time for dense, so between two whole times somebody might send.
    sent_no_more = [t for t in range(22) if t < 2 * galt[0] or (t == 2 * galt[0] and galt[1])]
    needed = range(2 * time + 1) if mode in (TAR, NMR) else range(2 * time)
    return time if set(needed) <= set(sent_no_more) else None


@given(st.sampled_from([TAR, TARA, NMR, NMRA]), TIMES, GALT, st.lists(TIMES, max_size=8))
def test_who_asks_is_granted_what_the_table_says(
    mode: int, asked: int, galt: tuple[int, int], waiting: list[int]
) -> None:
    """At a node that is not the home: by what the home has said, and after all messages up to the time of the grant."""
    federation, members = constrained()
    federation.home = "elsewhere"
    receiver, sender = members[:2]
    federation.clock.horizon.view = View(galt, 0, None)
    step = step_of(federation, receiver)
    for number, time in enumerate(waiting):
        tso_queue.arrived(step, receiver, sender, interaction(sender, time, number))
    grants.ask(step, mode, asked)
    granted = [
        one.arguments[0].value  # type: ignore[attr-defined]
        for one in step.effects
        if isinstance(one, Callback) and one.method == "time_advance_grant"
    ]
    expected = said_by_the_table(mode, asked, galt, waiting)
    assert granted == ([] if expected is None else [expected])
    assert (receiver.timing.mode == GRANTED) == (expected is not None)
    if expected is not None:
        due = sorted((time, number) for number, time in enumerate(waiting) if time <= expected)
        assert handed(step) == [number.to_bytes(2, "big") for _, number in due]
        assert receiver.timing.time == expected
    else:
        assert all((waiting[int.from_bytes(tag, "big")], 0) < galt for tag in handed(step))
