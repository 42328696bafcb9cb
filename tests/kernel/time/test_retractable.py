"""What a sender may still take back (8.22) is forgotten when it no longer may, in whatever order the messages were sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.timed_federation import Timed
from weft.kernel.state.time_state import GRANTED, Retractable, Timing

FAR = 1_000_000


def test_one_message_of_the_far_future_does_not_keep_all_others() -> None:
    f = Timed(2)
    f.regulate(0)
    f.quiet()
    far = f.stamp(0, FAR)
    timing = next(iter(f.node._node.federations["range"].members.values())).timing
    for step in range(500):
        f.stamp(0, step + 1)
        f.ask(0, "TAR", step + 1)
        assert len(timing.retractable) <= 3
        assert len(timing.expiry) <= 3
    assert far is not None
    f.rti[0].retract(far)
    assert len(timing.retractable) <= 1


def test_messages_that_are_taken_back_again_and_again_leave_nothing() -> None:
    f = Timed(2)
    f.regulate(0)
    f.quiet()
    timing = next(iter(f.node._node.federations["range"].members.values())).timing
    for step in range(1000):
        handle = f.stamp(0, FAR)
        assert handle is not None
        f.rti[0].retract(handle)
        if step % 10 == 0:
            f.ask(0, "TAR", step + 1)
        assert len(timing.expiry) <= 100


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5), st.booleans()), max_size=60))
def test_what_is_kept_is_what_may_still_be_sent(steps: list[tuple[int, int, bool]]) -> None:
    """Against a plain list: after each advance, exactly the messages at or beyond what was promised are left."""
    timing = Timing()
    timing.mode = GRANTED
    sent: dict[bytes, float] = {}
    for number, (ahead, step, back) in enumerate(steps):
        name = number.to_bytes(12, "big")
        sent[name] = timing.time + ahead
        timing.may_retract(name, Retractable(timing.time + ahead, (), 0))
        if back:
            del timing.retractable[name], sent[name]
        timing.time += step
        timing.prune()
        sent = {one: time for one, time in sent.items() if (time, 0) >= timing.promise()}
        assert {one: message.time for one, message in timing.retractable.items()} == sent
