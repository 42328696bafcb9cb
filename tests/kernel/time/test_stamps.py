"""Time stamps (8.1.3): what a federate may send with a time, and by which handle it may take it back."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, step_of
from weft.kernel.state.effects import Callback
from weft.kernel.state.time_state import GRANTED, NMR, NMRA, TAR, TARA
from weft.kernel.time import stamps
from weft.model.enums import OrderType
from weft.model.errors import InvalidLogicalTime
from weft.model.handles import MessageRetractionHandle
from weft.model.time import HLAfloat64Time, HLAinteger64Time
from weft.ordering.stamped import Stamped

TIMES = st.integers(0, 20)


@settings(max_examples=50)
@example(mode=TAR, time=0, more=5, lookahead=0, exclusive=False, wanted=[5, 6])
@given(
    mode=st.sampled_from([GRANTED, TAR, TARA, NMR, NMRA]),
    time=TIMES,
    more=TIMES,
    lookahead=st.integers(0, 5),
    exclusive=st.booleans(),
    wanted=st.lists(TIMES, max_size=20),
)
def test_nothing_is_stamped_below_what_was_promised(
    mode: int, time: int, more: int, lookahead: int, exclusive: bool, wanted: list[int]
) -> None:
    """All else gets a handle of its own, which begins with that of its sender and counts on."""
    federation, (member,) = bare(HERE)
    timing = member.timing
    timing.regulating = True
    timing.mode, timing.time, timing.requested = mode, time, time + more
    timing.lookahead, timing.exclusive = lookahead, exclusive
    at = time if mode == GRANTED else time + more
    strictly = exclusive if mode == GRANTED else mode in (TAR, NMR)
    least = at + lookahead + (1 if strictly and not lookahead else 0)
    made = []
    for value in wanted:
        if value < least:
            with pytest.raises(InvalidLogicalTime, match="may send"):
                stamps.stamp(federation, member, HLAinteger64Time(value), OrderType.TIMESTAMP)
        else:
            made.append(stamps.stamp(federation, member, HLAinteger64Time(value), OrderType.TIMESTAMP))
    assert [one.retraction for one in made] == [
        MessageRetractionHandle(member.handle + number.to_bytes(8, "big"))
        for number in range(1, len(made) + 1)
    ]
    assert timing.sent == len(made)


@pytest.mark.parametrize(("regulating", "order"), [(False, OrderType.TIMESTAMP), (True, OrderType.RECEIVE)])
def test_a_time_is_only_carried_along(regulating: bool, order: OrderType) -> None:
    federation, (member,) = bare(HERE)
    member.timing.regulating = regulating
    made = stamps.stamp(federation, member, HLAinteger64Time(7), order)
    assert (made.retraction, made.received, made.time) == (None, OrderType.RECEIVE, HLAinteger64Time(7))
    assert stamps.carried(federation, None) is None
    with pytest.raises(InvalidLogicalTime, match="uses HLAinteger64Time"):
        stamps.carried(federation, HLAfloat64Time(7.0))


def test_what_waits_is_dropped_in_silence_and_who_has_it_is_told() -> None:
    """8.22, of three members: one waits for it, one has got it, one lives elsewhere."""
    federation, (waits, has, away) = bare(HERE, HERE, "elsewhere")
    retraction = MessageRetractionHandle(away.handle + (1).to_bytes(8, "big"))
    waits.timing.mode = NMR
    waits.timing.queue.add(Stamped((3, "C", 1, 0), None, retraction))
    has.timing.delivered[retraction] = away.timing.delivered[retraction] = 3
    step = step_of(federation, federation.rti)
    stamps.retracted(step, retraction)
    assert step.turn.queued
    assert len(waits.timing.queue) == 0
    (told,) = step.effects
    assert isinstance(told, Callback)
    assert (told.session, told.method, told.arguments) == (has.session, "request_retraction", (retraction,))
    assert retraction not in has.timing.delivered
    assert retraction in away.timing.delivered
