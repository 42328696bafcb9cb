"""What the links of a simulated network promise, and its clock."""

from __future__ import annotations

import pytest

from support.simulated_federates import NAME, Seat, federation, mesh, outcome, seats
from weft import ResignAction
from weft.host.effects import PendingCall
from weft.host.simulated import simulated
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork, VirtualClock
from weft.model.errors import NotConnected, RTIinternalError

COUNT = 60
BAD = {"delay": 0.01, "jitter": 0.05, "loss": 0.3}


def _sender_and_receiver(
    network: SimulatedNetwork, interaction: str, attribute: str
) -> tuple[Seat, Seat, object]:
    """At S2 and S3; the home S1 has a member that wants nothing."""
    _, sender, receiver = federation(network, "S1", "S2", "S3")
    sender.publish_interaction(interaction)
    receiver.subscribe_interaction(interaction)
    sender.publish("Vehicle", attribute)
    receiver.subscribe("Vehicle", attribute)
    instance = sender.register("Vehicle")
    network.settle()
    receiver.heard()
    return sender, receiver, instance


def ended(pending: PendingCall) -> object:
    assert pending.has_come()
    return pending.result()


def _numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_reliable_parcels_arrive_once_and_in_order(seed: int) -> None:
    """HLAreliable: whatever the link loses or delays, each message arrives once, in the order of sending."""
    network = mesh(3, seed, **BAD)
    sender, receiver, instance = _sender_and_receiver(network, "Event.Hit", "Name")
    for tag in _numbers(COUNT):
        sender.send("Event.Hit", tag)
        sender.update(instance, tag, "Name")
    network.settle()
    heard = receiver.heard()
    assert [arguments[2] for _, arguments in heard] == [tag for tag in _numbers(COUNT) for _ in range(2)]
    assert [method for method, _ in heard] == ["receive_interaction", "reflect_attribute_values"] * COUNT
    assert network.parcels_lost == 0


def test_best_effort_parcels_may_be_lost_and_overtake() -> None:
    """HLAbestEffort: what is lost is counted; what arrives, arrives once, in any order."""
    network = mesh(3, 4, **BAD)
    sender, receiver, instance = _sender_and_receiver(network, "Event.Fire", "Position")
    for tag in _numbers(COUNT):
        sender.send("Event.Fire", tag)
        sender.update(instance, tag, "Position")
    network.settle()
    heard = receiver.heard()
    assert network.parcels_lost == 2 * COUNT - len(heard)
    assert 0 < network.parcels_lost < COUNT
    for wanted in ("receive_interaction", "reflect_attribute_values"):
        tags = [int(arguments[2]) for method, arguments in heard if method == wanted]
        assert len(set(tags)) == len(tags)
        assert tags != sorted(tags)


def test_attributes_of_both_transportations_travel_apart() -> None:
    """Clause 6.10: the reliable part of an update is never lost with the best-effort part."""
    network = mesh(3, 4, delay=0.01, loss=0.5)
    _, sender, receiver = federation(network, "S1", "S2", "S3")
    sender.publish("Vehicle", "Name", "Position")
    receiver.subscribe("Vehicle", "Name", "Position")
    instance = sender.register("Vehicle")
    network.settle()
    receiver.heard()
    for tag in _numbers(COUNT):
        sender.update(instance, tag, "Name", "Position")
    network.settle()
    heard = receiver.heard()
    assert all(len(arguments[1]) == 1 for _, arguments in heard)
    assert len(heard) == 2 * COUNT - network.parcels_lost
    assert 0 < network.parcels_lost < COUNT


def test_a_best_effort_update_waits_for_the_registration_too() -> None:
    """A message that overtakes the commit it depends on is kept until that arrives."""
    network = mesh()
    _, sender, receiver = federation(network, "S1", "S2", "S3")
    receiver.subscribe("Vehicle", "Position")
    network.settle()
    network.set_link("S1", "S3", LinkProfile(delay=1.0))
    sender.publish("Vehicle", "Position")
    instance = sender.register("Vehicle")
    sender.update(instance, b"1", "Position")
    network.settle()
    assert [method for method, _ in receiver.heard()] == [
        "discover_object_instance",
        "reflect_attribute_values",
    ]


def test_a_cut_holds_and_healing_releases() -> None:
    """While a link is cut reliable parcels wait, in order; best-effort ones are lost."""
    network = mesh()
    sender, receiver, instance = _sender_and_receiver(network, "Event.Hit", "Position")
    network.cut("S2", "S3")
    for tag in _numbers(5):
        sender.send("Event.Hit", tag)
        sender.update(instance, tag, "Position")
    network.settle()
    assert not receiver.heard()
    assert network.parcels_lost == 5
    network.heal("S2", "S3")
    sender.send("Event.Hit", b"5")
    network.settle()
    assert receiver.tags("receive_interaction") == _numbers(6)


def test_a_cut_from_the_home_delays_control_and_nothing_else() -> None:
    """Data goes from node to node; a node cut off from the home still gets what it subscribed to before."""
    network = mesh()
    sender, receiver, _ = _sender_and_receiver(network, "Event.Hit", "Name")
    network.cut("S1", "S3")
    sender.send("Event.Hit", b"data")
    pending = receiver.begin("resign_federation_execution", ResignAction.NO_ACTION)
    network.settle()
    assert receiver.tags("receive_interaction") == [b"data"]
    with pytest.raises(AssertionError):
        ended(pending)
    network.heal("S1", "S3")
    network.settle()
    assert ended(pending) is None


def test_a_call_that_is_never_answered_says_who_and_where() -> None:
    """No hang: when nothing more can happen, the call ends with an error."""
    network = mesh()
    one, two = seats(network, "S1", "S2")
    network.cut("S1", "S2")
    with pytest.raises(RTIinternalError, match="create_federation_execution at node 'S2' was never answered"):
        two.create()
    network.heal("S1", "S2")
    network.settle()
    assert one.federations() == {NAME}


def test_a_closed_session_takes_no_calls() -> None:
    """A connection that was closed or broken off refuses calls, and what it waited for has ended."""
    network = mesh()
    for end in ("close", "lose"):
        (seat,) = seats(network, "S2")
        pending = seat.begin("list_federation_executions")
        getattr(seat.connection, end)()
        getattr(seat.connection, end)()
        with pytest.raises(RTIinternalError, match="list_federation_executions was never answered"):
            pending.result()
        with pytest.raises(NotConnected):
            seat.federations()
        network.settle()


def test_events_happen_in_the_order_of_their_times() -> None:
    """The clock: earlier first; of equal times, what was noted first."""
    clock = VirtualClock()
    seen: list[tuple[float, str]] = []
    for when, name in ((2.0, "c"), (1.0, "a"), (2.0, "d"), (1.0, "b")):
        clock.at(when, lambda name=name: seen.append((clock.now, name)))  # type: ignore[misc]
    assert clock.next_time() == 1.0
    while clock.step():
        pass
    assert seen == [(1.0, "a"), (1.0, "b"), (2.0, "c"), (2.0, "d")]
    assert clock.next_time() is None


def test_waiting_ends_at_its_deadline() -> None:
    """`run_until`: time goes to the deadline and no further; what is due at the deadline still happens."""
    network = mesh()
    seen: list[float] = []
    for when in (1.0, 2.0, 3.0):
        network.clock.at(when, lambda: seen.append(network.clock.now))
    assert not network.run_until(lambda: False, deadline=2.0)
    assert (seen, network.clock.now) == ([1.0, 2.0], 2.0)
    assert not network.run_until(lambda: False, deadline=2.5)
    assert network.clock.now == 2.5
    assert network.run_until(lambda: len(seen) == 3, deadline=9.0)
    assert network.clock.now == 3.0
    assert not network.run_until(lambda: False, deadline=9.0)
    assert network.clock.now == 9.0
    assert not network.run_until(lambda: False, deadline=1.0)
    assert network.clock.now == 9.0, "time never goes back"


def test_a_connection_waits_by_the_virtual_clock() -> None:
    """`wait(seconds)` returns at the first callback, or after so long, without real time passing."""
    network = mesh(2, delay=0.25)
    sender, receiver = federation(network, "S1", "S2")
    sender.publish_interaction("Event.Hit")
    receiver.subscribe_interaction("Event.Hit")
    network.settle()
    before = network.clock.now
    assert not receiver.connection.wait(3600.0)
    assert network.clock.now == before + 3600.0
    sender.send("Event.Hit", b"1")
    assert receiver.connection.wait(3600.0)
    assert network.clock.now == pytest.approx(before + 3600.25)
    assert receiver.connection.wait(None)
    assert receiver.heard()
    assert not receiver.connection.wait(None)


def test_an_endless_exchange_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """MAX_EVENTS: a circle of events is reported with its seed."""
    monkeypatch.setattr(simulated, "MAX_EVENTS", 50)
    network = mesh(2, seed=77)
    happened = []

    def again() -> None:
        happened.append(network.clock.now)
        network.clock.at(network.clock.now + 1, again)

    again()
    with pytest.raises(RuntimeError, match="seed 77: 50 events and no end"):
        network.settle()
    assert len(happened) == 51


def test_one_link_may_differ_from_the_rest() -> None:
    """`set_link`: both directions of that link, no other."""
    network = mesh(3, delay=0.001)
    sender, receiver, _ = _sender_and_receiver(network, "Event.Hit", "Name")
    network.set_link("S3", "S2", LinkProfile(delay=2.0))
    before = network.clock.now
    sender.send("Event.Hit", b"slow")
    assert receiver.connection.wait(None)
    assert network.clock.now == pytest.approx(before + 2.0)
    assert (
        outcome(lambda: sender.call("unpublish_interaction_class", b"?"))[0] == "InteractionClassNotDefined"
    )
    assert network.clock.now < before + 2.01
