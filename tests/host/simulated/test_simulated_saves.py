"""Save and restore over several nodes: what is under way, nodes that fail, and the law of restoring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.federation_digest import check_agreement, digest
from support.random_kernel_calls import Call, Draw, draws, script
from support.simulated_federates import NAME, Seat, federation, handles, mesh, outcome, seats
from support.traced_traffic import canonical
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.enums import RestoreFailureReason, SaveFailureReason
from weft.model.errors import RTIexception, SaveInProgress

NODES = ("S1", "S2", "S3")
PAUSED = 60.0


def each(made: Iterable[Seat], service: str) -> None:
    for seat in made:
        seat.call(service)


def save(network: SimulatedNetwork, made: list[Seat], label: str = "noon") -> None:
    made[0].call("request_federation_save", label)
    network.settle()
    for seat in made:
        seat.heard()
    each(made, "federate_save_begun")
    each(made, "federate_save_complete")
    network.settle()


def restore(network: SimulatedNetwork, made: list[Seat], label: str = "noon") -> None:
    made[0].call("request_federation_restore", label)
    network.settle()
    for seat in made:
        seat.heard()
    each(made, "federate_restore_complete")
    network.settle()


def speakers(made: list[Seat]) -> None:
    for seat in made:
        seat.publish_interaction("Event.Hit")
        seat.subscribe_interaction("Event.Hit")


def methods(seat: Seat) -> list[str]:
    return [method for method, _ in seat.heard()]


def test_a_message_under_way_is_delivered_after_the_save_and_after_each_restore() -> None:
    """Sent before its sender saves, on its way when the receiver does: part of the save, as it is of the sender's state."""
    network = mesh()
    made = federation(network, *NODES)
    _, sender, receiver = made
    speakers(made)
    network.settle()
    network.set_link("S2", "S3", LinkProfile(delay=5.0))
    sender.send("Event.Hit", b"on its way")
    made[0].call("request_federation_save", "noon")
    network.run_until(lambda: False, network.clock.now + 1.0)
    for seat in made:
        assert methods(seat)[-1] == "initiate_federate_save"
    each(made, "federate_save_begun")
    each(made, "federate_save_complete")
    assert receiver.heard() == []
    network.settle()
    assert methods(receiver) == ["federation_saved", "receive_interaction"]
    for _ in range(2):
        restore(network, made)
        heard = receiver.heard()
        assert [method for method, _ in heard] == ["federation_restored", "receive_interaction"]
        assert heard[-1][1][2] == b"on its way"
        check_agreement(network, *NODES)


def test_what_a_federate_does_before_it_knows_of_the_save_is_in_it() -> None:
    """It has not taken Initiate Federate Save, so nothing is refused; who has begun hears of it when all is over."""
    network = mesh()
    made = federation(network, *NODES)
    first, late, _ = made
    speakers(made)
    late.publish("Vehicle", "Name")
    first.subscribe("Vehicle", "Name")
    first.call("request_federation_save", "noon")
    network.settle()
    first.heard()
    first.call("federate_save_begun")
    thing = late.register("Vehicle")
    late.send("Event.Hit", b"not yet aware")
    with pytest.raises(SaveInProgress):
        first.send("Event.Hit", b"too late")
    network.settle()
    assert first.heard() == []
    late.heard()
    with pytest.raises(SaveInProgress):
        late.send("Event.Hit", b"now aware")
    for seat in made[1:]:
        seat.heard()
        seat.call("federate_save_begun")
    each(made, "federate_save_complete")
    network.settle()
    assert methods(first) == ["federation_saved", "discover_object_instance", "receive_interaction"]
    late.call("delete_object_instance", thing, b"")
    restore(network, made)
    assert methods(first)[-3:] == ["federation_restored", "discover_object_instance", "receive_interaction"]
    assert first.call("get_object_instance_handle", "HLA1") == thing


def test_a_message_of_the_time_before_a_restore_is_not_heard_after_it() -> None:
    """What is under way when the federation goes back belongs to a time that has not been."""
    network = mesh()
    made = federation(network, *NODES)
    speakers(made)
    save(network, made)
    network.set_link("S2", "S3", LinkProfile(delay=5.0))
    made[1].send("Event.Hit", b"of the other time")
    made[0].call("request_federation_restore", "noon")
    network.run_until(lambda: False, network.clock.now + 1.0)
    for seat in made:
        seat.heard()
    each(made, "federate_restore_complete")
    network.settle()
    assert methods(made[2]) == ["federation_restored"]
    made[1].send("Event.Hit", b"of this time")
    network.settle()
    assert made[2].tags("receive_interaction") == [b"of this time"]


@pytest.mark.parametrize("begun", [0, 1, 2, 3])
def test_the_crash_of_a_node_fails_the_save(begun: int) -> None:
    """Its federates are gone, whenever it happens; the others are told once they have completed, and go on."""
    network = mesh()
    made = federation(network, *NODES)
    speakers(made)
    made[0].call("request_federation_save", "noon")
    network.settle()
    for seat in made:
        seat.heard()
    each(made[:begun], "federate_save_begun")
    network.crash("S3")
    network.settle()
    rest = made[:2]
    each(rest[begun:], "federate_save_begun")
    each(rest, "federate_save_complete")
    network.settle()
    why = SaveFailureReason.FEDERATE_RESIGNED_DURING_SAVE
    for seat in rest:
        assert seat.heard("federation_not_saved") == [("federation_not_saved", (why,))]
    rest[0].send("Event.Hit", b"on")
    network.settle()
    assert rest[1].tags("receive_interaction") == [b"on"]
    check_agreement(network, *NODES)


def test_the_crash_of_a_node_after_all_completed_does_not_hang_the_save() -> None:
    """All have completed and one node's part is still to come when it crashes: not saved, and nobody waits for ever."""
    network = mesh()
    made = federation(network, *NODES)
    made[0].call("request_federation_save", "noon")
    network.settle()
    for seat in made:
        seat.heard()
    network.set_link("S2", "S3", LinkProfile(delay=30.0))
    each(made, "federate_save_begun")
    each(made, "federate_save_complete")
    network.crash("S3")
    network.settle()
    why = SaveFailureReason.FEDERATE_RESIGNED_DURING_SAVE
    assert made[0].heard("federation_not_saved") == [("federation_not_saved", (why,))]
    assert not network.saves["S1"].kept


def test_the_crash_of_a_node_fails_the_restore() -> None:
    """And the federation goes on as it was."""
    network = mesh()
    made = federation(network, *NODES)
    speakers(made)
    save(network, made)
    made[0].call("request_federation_restore", "noon")
    network.settle()
    for seat in made:
        seat.heard()
    network.crash("S2")
    network.settle()
    rest = [made[0], made[2]]
    each(rest, "federate_restore_complete")
    network.settle()
    why = RestoreFailureReason.FEDERATE_RESIGNED_DURING_RESTORE
    for seat in rest:
        assert seat.heard("federation_not_restored") == [("federation_not_restored", (why,))]
    rest[0].send("Event.Hit", b"on")
    network.settle()
    assert rest[1].tags("receive_interaction") == [b"on"]
    check_agreement(network, *NODES)


def test_a_federation_is_restored_after_its_home_crashed() -> None:
    """The home's disk outlives it: created again there, with federates at other nodes than before."""
    network = mesh()
    made = federation(network, *NODES)
    made[1].publish("Vehicle", "Name")
    made[2].subscribe("Vehicle", "Name")
    thing = made[1].register("Vehicle")
    network.settle()
    save(network, made)
    network.crash("S1")
    network.settle()
    network.restart("S1")
    again = seats(network, "S1", "S3", "S2")
    again[0].create()
    for seat in again:
        seat.join()
    restore(network, again)
    for seat in again:
        assert methods(seat)[-1] == "federation_restored"
    again[1].update(thing, b"back", "Name")
    network.settle()
    assert again[2].tags("reflect_attribute_values") == [b"back"]
    check_agreement(network, *NODES)


def test_a_node_may_come_to_a_restored_federation() -> None:
    """Its first member gets the state as it was restored."""
    network = mesh(4)
    made = federation(network, *NODES)
    made[1].publish("Vehicle", "Name")
    thing = made[1].register("Vehicle")
    save(network, made)
    made[1].call("delete_object_instance", thing, b"")
    restore(network, made)
    late = Seat(network.at("S4"), "late")
    late.join()
    late.subscribe("Vehicle", "Name")
    network.settle()
    assert [arguments[0] for _, arguments in late.heard("discover_object_instance")] == [thing]
    check_agreement(network, "S1", "S2", "S3", "S4")


def test_a_federate_lost_while_its_node_has_not_heard_of_the_restore_resigns_as_itself() -> None:
    """Its handle has become another's by then; the home knows who is meant."""
    network = mesh()
    made = federation(network, "S1", "S2", "S2")
    save(network, made)
    made[1].resign()
    network.settle()
    newcomer = Seat(network.at("S2"), "f2")
    newcomer.join()  # handle 4 becomes 2
    now = [made[0], newcomer, made[2]]
    now[0].call("request_federation_restore", "noon")
    network.settle()
    for seat in now:
        seat.heard()
    each(now[1:], "federate_restore_complete")
    network.set_link("S1", "S2", LinkProfile(delay=1.0))
    now[0].call("federate_restore_complete")  # the home is restored; the other node hears of it later
    newcomer.connection.lose()
    network.settle()
    assert now[0].members() == {"f1", "f3"}
    check_agreement(network, *NODES)


# --- laws -----------------------------------------------------------------------------------------------------


def _play(network: SimulatedNetwork, made: list[Seat], calls: list[Call]) -> list[Any]:
    heard = []
    for call in calls:
        seat = made[call.seat]
        result = outcome(lambda seat=seat, call=call: seat.call(call.service, *call.arguments))  # type: ignore[misc]
        network.settle()
        heard.append((call, canonical(result), [canonical(tuple(other.heard())) for other in made]))
    return heard


@settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(
    drawn=st.lists(draws(4, membership=False), min_size=20, max_size=60),
    places=st.lists(st.sampled_from(NODES), min_size=4, max_size=4),
    seed=st.integers(0, 10_000),
)
def test_after_a_restore_everything_goes_as_it_went_after_the_save(
    drawn: list[Draw], places: list[str], seed: int
) -> None:
    """The law of restoring: the same calls get the same answers and callbacks as they got the first time."""
    network = mesh(3, seed, delay=0.01, jitter=0.02, loss=0.1)
    made = federation(network, *places)
    calls = script(drawn, 4, 4)
    half = len(calls) // 2
    _play(network, made, calls[:half])
    save(network, made)
    for seat in made:
        seat.heard()
    first = _play(network, made, calls[half:])
    restore(network, made)
    for seat in made:
        assert methods(seat)[-1] == "federation_restored"
    check_agreement(network, *NODES)
    assert _play(network, made, calls[half:]) == first


def _restless(network: SimulatedNetwork, made: list[Seat], deadline: float) -> None:
    """Federates answer what they are told as soon as they hear it, until all is quiet."""
    while network.clock.now < deadline:
        network.run_until(lambda: any(seat.connection.pending() for seat in made), deadline)
        for seat in made:
            for method, _ in seat.heard():
                if method == "initiate_federate_save":
                    seat.begin("federate_save_begun")
                    seat.begin("federate_save_complete")
                elif method == "initiate_federate_restore":
                    seat.begin("federate_restore_complete")


@pytest.mark.parametrize("seed", range(12))
def test_no_message_is_lost_or_repeated_by_a_save(seed: int) -> None:
    """Reliable messages at any moment around a save, over links with delay and loss, and a cut: each arrives once, in order."""
    network = mesh(3, seed, delay=0.01, jitter=0.05, loss=0.2)
    made = federation(network, *NODES)
    speakers(made)
    network.settle()
    for seat in made:
        seat.heard()
        seat.trace.clear()
    chance = network.random
    sent: list[list[bytes]] = [[] for _ in made]

    def speak(number: int) -> None:
        tag = b"%d/%d" % (number, len(sent[number]))
        try:
            made[number].begin("send_interaction", _hit(), {}, tag).result()
        except RTIexception:
            return
        sent[number].append(tag)

    for number in range(3):
        for _ in range(30):
            network.clock.at(network.clock.now + chance.random(), lambda number=number: speak(number))  # type: ignore[misc]

    def ask() -> None:
        made[0].begin("request_federation_save", "noon")

    network.clock.at(network.clock.now + 0.3, ask)
    network.clock.at(network.clock.now + 0.2, lambda: network.cut("S2", "S3"))
    network.clock.at(network.clock.now + 0.8, lambda: network.heal("S2", "S3"))
    _restless(network, made, network.clock.now + PAUSED)
    assert network.saves["S1"].kept
    for number, seat in enumerate(made):
        heard = [arguments[2] for _, (method, arguments) in seat.trace if method == "receive_interaction"]
        for other in range(3):
            of_other = [tag for tag in heard if tag.startswith(b"%d/" % other)]
            assert of_other == ([] if other == number else sent[other])
    states = [digest(network.node(name).federations[NAME]) for name in NODES]
    assert states[0] == states[1] == states[2]


def _hit() -> Any:
    return handles().interactions["Event.Hit"]
