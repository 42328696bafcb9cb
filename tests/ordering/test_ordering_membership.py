"""Who comes and who goes: numbers, the end of a view, and why a lost message cannot simply be forgotten (S0-12, S0-14, S0-15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordering.membership import Forward, Processes, forwards
from weft.model.errors import OrderingError
from weft.ordering import Mses, Tag, TaggedMessage


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9))))
def test_numbers_are_consecutive_and_never_given_again(steps: list[tuple[bool, int]]) -> None:
    """S0-15: in the order of joining, from zero, whatever the handles are."""
    processes = Processes()
    given_out: list[int] = []
    for joins, handle in steps:
        before = dict(processes.numbers)
        if joins and handle not in before:
            given_out.append(processes.join(handle))
            assert {h: n for h, n in processes.numbers.items() if h != handle} == before
        elif not joins and handle in before:
            assert processes.leave(handle) == before[handle]
        else:
            with pytest.raises(OrderingError, match=f"federate {handle} has"):
                (processes.join if joins else processes.leave)(handle)
    assert given_out == list(range(len(given_out)))


def test_destinations_rise() -> None:
    processes = Processes()
    for handle in "cab":
        processes.join(handle)
    assert processes.destinations(["b", "c"]) == [0, 2]


def test_a_process_that_joins_has_nothing_before_it() -> None:
    old, new = Mses(0, 2), Mses(2, 3)
    old.send([1])
    old.joined(2)
    hello = TaggedMessage("hello", old.send([1, 2]))
    assert new.admit(hello) == [hello]


def test_messages_of_one_that_resigned_still_come_in_order() -> None:
    gone, stays, receiver = Mses(0, 3), Mses(1, 3), Mses(2, 3)
    last = TaggedMessage("last words", gone.send([1, 2]))
    stays.admit(last)
    stays.resigned(0)
    receiver.resigned(0)
    reply = TaggedMessage("reply", stays.send([2]))
    assert receiver.admit(reply) == []
    assert receiver.admit(last) == [last, reply]


def test_the_end_of_a_view_releases_what_waited_for_a_lost_message() -> None:
    lost, other, receiver = Mses(0, 3), Mses(1, 3), Mses(2, 3)
    lost.send([2])  # gets lost
    second = TaggedMessage("second", lost.send([1]))
    other.admit(second)
    reply = TaggedMessage("reply", other.send([2]))
    assert receiver.admit(reply) == []
    assert receiver.crashed([0]) == [reply]
    assert other.crashed([0]) == []
    again = TaggedMessage("again", other.send([2]))
    assert receiver.admit(again) == [again]


def lost_message() -> tuple[TaggedMessage, TaggedMessage, Mses]:
    """Process 0 writes to 1 and 2; 1 then writes x to 2, which is lost, and to 3, and crashes; 3 then writes to 2.

    For 2 the message of 3 comes after that of 0; but all that its tag says is that it comes after x.
    """
    first, crashed, receiver, last = (Mses(number, 4) for number in range(4))
    message = TaggedMessage("first", first.send([1, 2]))
    crashed.admit(message)
    x = crashed.send([2])
    last.admit(TaggedMessage("to 3", crashed.send([3])))
    effect = TaggedMessage("effect", last.send([2]))
    assert effect.tag is not None
    assert effect.tag.row(2) == [1, x.number()]
    return message, effect, receiver


def test_a_lost_message_cannot_be_forgotten_alone() -> None:
    """Dropping the pair of x would let the effect overtake its cause, which is merely late."""
    message, effect, receiver = lost_message()
    tag = effect.tag
    assert tag is not None
    rows = [list(row) for row in tag.rows]
    rows[2] = []
    assert receiver.admit(
        TaggedMessage("effect", Tag(tag.view, tag.source, tag.time, tag.destinations, rows))
    )
    assert message.tag is not None
    assert receiver.time[0] >= message.tag.number()  # and the cause, when it comes, is taken for a repeat
    assert receiver.admit(message) == []


def test_all_that_survivors_sent_arrives_before_a_view_ends() -> None:
    message, effect, receiver = lost_message()
    assert receiver.admit(effect) == []
    assert receiver.admit(message) == [message]
    assert receiver.crashed([1]) == [effect]


def test_what_waits_at_the_end_of_a_view_is_released_in_causal_order() -> None:
    """Both wait for lost messages, and neither tag names the other."""
    first, crashed, receiver, last = (Mses(number, 4) for number in range(4))
    crashed.send([2])  # lost
    first.admit(TaggedMessage("to 0", crashed.send([0])))
    cause = TaggedMessage("cause", first.send([1, 2]))
    crashed.admit(cause)
    crashed.send([2])  # lost as well
    last.admit(TaggedMessage("to 3", crashed.send([3])))
    effect = TaggedMessage("effect", last.send([2]))
    assert receiver.admit(effect) == receiver.admit(cause) == []
    assert receiver.crashed([1]) == [cause, effect]


def test_a_message_of_the_next_view_waits_for_it() -> None:
    sender, receiver = Mses(0, 3), Mses(1, 3)
    sender.crashed([2])
    early = TaggedMessage("early", sender.send([1]))
    assert receiver.admit(early) == receiver.admit(early) == []
    assert receiver.crashed([2]) == [early]


def test_a_late_message_of_the_crashed_is_refused() -> None:
    crashed, receiver = Mses(0, 3), Mses(1, 3)
    late = TaggedMessage("late", crashed.send([1]))
    receiver.crashed([0])
    assert receiver.admit(late) == []
    assert receiver.counts.refused == 1


def test_forwards_bring_every_message_that_anybody_holds_to_all_survivors() -> None:
    holdings = {1: {(0, 3): [1, 2, 4], (0, 5): [1]}, 2: {(0, 4): [2, 3]}, 3: {(0, 4): [2, 3]}, 4: {}}
    assert forwards(holdings, [0]) == [Forward(1, 0, 3, 2), Forward(1, 0, 3, 4)]
    with pytest.raises(OrderingError, match="process 1 reports a message of 0, which has not crashed"):
        forwards(holdings, [5])
