"""Causal order: random runs against happened-before by brute force and against the plain algorithm; and the papers' examples."""

from __future__ import annotations

import pytest

from ordering.network import PATTERNS, Network
from ordering.orders import CausalOrder
from weft.model.errors import OrderingError
from weft.ordering import Mses, TaggedMessage


def check(seeds: range, changes: int) -> None:
    """Safe, live, exact, the rows smallest, and every step as the plain algorithm has it (S0-2 … S0-6)."""
    deliveries = waited = repeats = 0
    for seed in seeds:
        network = Network(seed, changes=changes).run()
        assert network.faults == [], f"seed {seed}"
        assert network.not_smallest == 0, f"seed {seed}"
        deliveries += network.oracle.deliveries
        waited += sum(site.process.counts.waited for site in network.sites)
        repeats += network.repeats
    assert deliveries > 70 * len(seeds)
    assert waited > 0.2 * deliveries
    assert repeats > 0


def test_random_runs() -> None:
    check(range(40), 0)


def test_random_runs_with_joins_resignations_and_crashes() -> None:
    check(range(1000, 1060), 4)


@pytest.mark.soak
def test_thousands_of_random_runs() -> None:
    check(range(3000), 0)


@pytest.mark.soak
def test_thousands_of_random_runs_with_joins_resignations_and_crashes() -> None:
    check(range(10_000, 13_000), 5)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_crowd(pattern: str) -> None:
    """Twenty processes, for each pattern of destinations."""
    network = Network(7, 20, pattern, messages=60, rows=False).run()
    assert network.faults == []


def test_the_observer_sees_the_shot_before_the_hit() -> None:
    """S0-20, S0-23: the shot goes to tank and observer, but reaches the observer last."""
    aircraft, tank, observer = Mses(0, 3), Mses(1, 3), CausalOrder(Mses(2, 3))
    shot = TaggedMessage("shot", aircraft.send([1, 2]))
    assert tank.admit(shot) == [shot]
    hit = TaggedMessage("hit", tank.send([0, 2]))
    assert observer.admit(hit) == []
    assert [one.payload for one in observer.admit(shot)] == ["shot", "hit"]
    assert aircraft.admit(hit) == [hit]


def test_a_filtered_message_counts_but_is_not_heard() -> None:
    """S0-16: what depends on it is not held up, and it is not released."""
    sender, other, receiver = Mses(0, 3), Mses(1, 3), CausalOrder(Mses(2, 3))
    first = sender.send([1, 2])
    other.admit(TaggedMessage("first", first))
    second = other.send([2])
    assert receiver.admit(TaggedMessage("second", second)) == []
    assert [one.payload for one in receiver.admit(TaggedMessage("first", first, filtered=True))] == ["second"]
    assert (receiver.process.counts.delivered, receiver.process.counts.filtered) == (2, 1)


def test_repeats_are_dropped_whether_delivered_or_waiting() -> None:
    sender, receiver = Mses(0, 2), Mses(1, 2)
    first, second = TaggedMessage("first", sender.send([1])), TaggedMessage("second", sender.send([1]))
    assert receiver.admit(second) == receiver.admit(second) == []
    assert receiver.admit(first) == [first, second]
    assert receiver.admit(first) == receiver.admit(second) == []
    assert receiver.counts.duplicates == 3


def test_one_by_one() -> None:
    """A driver may deliver what is released one at a time: what is sent in between depends on what was taken, no more."""
    sender, receiver = Mses(0, 2), Mses(1, 2)
    messages = [TaggedMessage(number, sender.send([1])) for number in range(3)]
    for message in reversed(messages):
        assert receiver.receive(message)
    assert receiver.take() is messages[0]
    assert receiver.send([0]).time == [1, 2]
    assert [receiver.take(), receiver.take(), receiver.take()] == [messages[1], messages[2], None]


@pytest.mark.parametrize(
    "destinations, said",
    [
        ([1, 0], "must rise"),
        ([1, 1], "must rise"),
        ([0], "its own"),
        ([3], "has not heard"),
        ([2], "is gone"),
    ],
)
def test_destinations_that_cannot_be(destinations: list[int], said: str) -> None:
    process = Mses(0, 3)
    process.resigned(2)
    with pytest.raises(OrderingError, match=said):
        process.send(destinations)
    assert process.time == [0, 0, 0]


def test_messages_that_cannot_be() -> None:
    sender, receiver = Mses(0, 3), Mses(2, 3)
    with pytest.raises(OrderingError, match="process 2 got a message of 0 that is for"):
        receiver.admit(TaggedMessage("astray", sender.send([1])))
    with pytest.raises(OrderingError, match="without a tag"):
        receiver.admit(TaggedMessage("bare"))
    late = sender.send([2])
    receiver.crashed([1])
    with pytest.raises(OrderingError, match="must have arrived before it ends"):
        receiver.admit(TaggedMessage("late", late))
