"""The log of messages in time stamp order at their sender's node (S4-9, S4-12), against a list of all that was sent."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.interest import CellAxis, Extent
from weft.kernel.state.messages import Interaction
from weft.kernel.state.topics import EVERYWHERE, Distribution, LoggedMessage, Topic
from weft.model.deliveries import Stamp
from weft.model.enums import OrderType
from weft.model.handles import (
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    TransportationTypeHandle,
)
from weft.model.time import HLAinteger64Time

LANE = 1
LANES = 12
CELL = 3
KIND = InteractionClassHandle.of(1)
WAY = TransportationTypeHandle.of(1)
TIMES = st.integers(0, 20)
LAWS = settings(max_examples=80, deadline=None)
PLACES = st.one_of(
    st.none(), st.tuples(st.integers(0, LANES - 1), st.integers(1, LANES)).filter(lambda one: one[0] < one[1])
)


class Sent(NamedTuple):
    """As the model knows it."""

    time: int
    cells: frozenset[int]
    logged: LoggedMessage


def cells_by_hand(place: tuple[int, int] | None) -> frozenset[int]:
    """Each lane's cell; without regions, the one that all who subscribe are on the list of."""
    return frozenset([EVERYWHERE]) if place is None else frozenset(lane // CELL for lane in range(*place))


def message(number: int, time: int, place: tuple[int, int] | None) -> Interaction:
    sender = FederateHandle.of(1)
    retraction = MessageRetractionHandle(sender + number.to_bytes(8, "big"))
    stamp = Stamp(HLAinteger64Time(time), OrderType.TIMESTAMP, OrderType.TIMESTAMP, retraction)
    at = None if place is None else (Extent({LANE: place}),)
    return Interaction(sender, KIND, {}, b"", WAY, at, stamp)


def topic_of(known: Distribution) -> Topic:
    topic = known.topics[KIND] = Topic(KIND, [LANE], [CellAxis("Lane", 0, LANES, LANES // CELL)])
    return topic


@LAWS
@given(st.lists(st.tuples(TIMES, PLACES), max_size=25), st.data())
def test_the_log_has_what_was_sent_there_and_then(
    sent: list[tuple[int, tuple[int, int] | None]], data: st.DataObject
) -> None:
    """Of any cells, in any interval; not what its sender took back, nor, once it is past for everybody, what is earlier."""
    known = Distribution()
    topic = topic_of(known)
    model: dict[bytes, Sent] = {}
    for number, (time, place) in enumerate(sent, 1):
        one = message(number, time, place)
        logged = LoggedMessage(one)
        known.enter(logged)
        topic.log(logged, one.at)
        model[logged.retraction] = Sent(time, cells_by_hand(place), logged)
        assert topic.cells(one.at) == cells_by_hand(place)
    for retraction in data.draw(st.lists(st.sampled_from(sorted(model)), unique=True)) if model else []:
        known.withdraw(retraction)
        del model[retraction]
    assert known.log == {retraction: one.logged for retraction, one in model.items()}
    past = data.draw(TIMES)
    known.work = 1_000  # enough has come together
    known.reclaim(past)
    assert set(known.log) == {retraction for retraction, one in model.items() if one.time >= past}
    cells = data.draw(st.none() | st.frozensets(st.integers(EVERYWHERE, LANES // CELL)))
    begin = data.draw(st.integers(past, 21))
    until = data.draw(st.none() | st.integers(begin, 22))
    found = topic.between(cells, begin, until)
    wanted = [
        one.logged
        for one in model.values()
        if begin <= one.time
        and (until is None or one.time < until)
        and (cells is None or not cells.isdisjoint(one.cells))
    ]
    assert len(found) == len(set(found))
    assert set(found) == set(wanted)


def test_it_is_reclaimed_only_when_that_pays() -> None:
    """So a step costs no pass through the log; and never back to an earlier time."""
    known = Distribution()
    topic = topic_of(known)
    for number in range(1, 64):
        logged = LoggedMessage(message(number, 1, None))
        known.enter(logged)
        topic.log(logged, None)
    known.reclaim(5)
    assert (known.reclaimed, len(known.log)) == (None, 63)
    for number in range(64, 200):
        logged = LoggedMessage(message(number, 1 + number % 2 * 8, None))
        known.enter(logged)
        topic.log(logged, None)
    known.reclaim(5)
    assert known.reclaimed == 5
    assert {one.time for one in known.log.values()} == {9}
    known.work = 1_000
    known.reclaim(3)
    assert known.reclaimed == 5


def test_what_a_federate_sent_outlives_it_and_what_it_has_is_forgotten() -> None:
    """It stays in the log, for those who come to want it."""
    known = Distribution()
    topic = topic_of(known)
    logged = LoggedMessage(message(1, 4, (0, 2)))
    known.enter(logged)
    topic.log(logged, logged.message.at if isinstance(logged.message, Interaction) else None)
    gone, stays = FederateHandle.of(2), FederateHandle.of(3)
    logged.classes.update({gone: KIND, stays: KIND})
    known.changing[gone] = None
    known.left(gone)
    assert logged.classes == {stays: KIND}
    assert not known.changing
    known.left(FederateHandle.of(1))
    assert topic.between(None, 0, None) == [logged]
