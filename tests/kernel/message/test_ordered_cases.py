"""Causal order over several nodes, case by case: filtering, deleting, losses, saving, who wants what."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fabric.topologies import FIGURE_2
from support import small_fom as model
from support.fabric_federations import THREE, fabric
from support.simulated_federates import NAME, Seat, federation, handles, mesh
from weft import OrderType
from weft.fabric import ReleaseRule
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.kernel.state.federation import Federation

pytestmark = pytest.mark.over_nodes

CAUSAL = OrderType.CAUSAL
HIT, FIRE = "Event.Hit", "Event.Fire.BigFire"


def send(seat: Seat, cls: str, tag: bytes, order: OrderType = CAUSAL) -> None:
    seat.call("send_interaction", handles().interactions[cls], {}, tag, None, order)


def update(seat: Seat, instance: Any, tag: bytes, *names: str, order: OrderType | None = CAUSAL) -> None:
    values = {handles().attributes[name]: tag for name in names}
    seat.call("update_attribute_values", instance, values, tag, None, order)


def state(network: SimulatedNetwork, node: str) -> Federation:
    return network.node(node).federations[NAME]


def triangle(seed: int = 1) -> tuple[SimulatedNetwork, list[Seat]]:
    """S1 is far from S3, and S2 near to both."""
    network = mesh(3, seed, delay=0.01)
    network.set_link("S1", "S3", LinkProfile(delay=0.5))
    made = federation(network, "S1", "S2", "S3")
    for seat in made:
        for cls in (HIT, FIRE):
            seat.publish_interaction(cls)
    network.settle()
    return network, made


def delayed_evaluation() -> None:
    """With Delay Subscription Evaluation all are addressed; who does not want it has it delivered in silence (S0-16)."""
    network, (one, two, three) = triangle()
    for node in ("S1", "S2", "S3"):
        state(network, node).switches["delaySubscriptionEvaluation"] = True
    three.subscribe_interaction(HIT)
    network.settle()
    send(one, FIRE, b"unheard")
    send(one, HIT, b"heard")
    network.settle()
    assert three.tags("receive_interaction") == [b"heard"]
    assert two.tags("receive_interaction") == []
    process = state(network, "S3").orders.processes[3].current
    assert not process.held
    assert process.counts.delivered == 2


def test_a_filtered_message_counts() -> None:
    delayed_evaluation()


def test_who_unsubscribes_meanwhile_does_not_hear() -> None:
    """S0-16: it counts all the same, and what follows is not held up."""
    network, (one, _, three) = triangle()
    three.subscribe_interaction(FIRE)
    three.subscribe_interaction(HIT)
    network.settle()
    three.call("unsubscribe_interaction_class", handles().interactions[FIRE])
    send(one, FIRE, b"too late")
    send(one, HIT, b"heard")
    network.settle()
    assert three.tags("receive_interaction") == [b"heard"]


def removal_after_update() -> None:
    """An object deleted in causal order is removed after the updates that were made before, though commands are faster."""
    network, (one, two, three) = triangle()
    three.subscribe("Vehicle", "Name")
    one.publish("Vehicle", "Name")
    instance = one.register("Vehicle")
    network.settle()
    three.heard()
    network.set_link("S1", "S3", LinkProfile(delay=3.0))
    update(one, instance, b"last words", "Name")
    network.set_link("S1", "S3", LinkProfile(delay=0.001))
    one.call("delete_object_instance", instance, b"gone", None, CAUSAL)
    network.settle()
    methods = [method for method, _ in three.heard()]
    assert methods == ["reflect_attribute_values", "remove_object_instance"]
    assert not state(network, "S3").orders.ghosts
    assert two.heard("remove_object_instance") == []


def test_an_object_is_removed_after_its_last_update() -> None:
    """S0-2, at the end of an object's life; a home at S2 makes the command overtake the update."""
    removal_after_update()


def lost_removal() -> None:
    """The message that was to tell of a removal is lost with its sender's node: the end of the view tells."""
    network = mesh(3, 1, delay=0.01)
    network.set_link("S2", "S3", LinkProfile(delay=5.0))
    one, two, three = federation(network, "S1", "S2", "S3")
    three.subscribe("Vehicle", "Name")
    two.publish("Vehicle", "Name")
    instance = two.register("Vehicle")
    network.settle()
    three.heard()
    two.call("delete_object_instance", instance, b"gone", None, CAUSAL)
    network.crash("S2")
    network.settle()
    assert [method for method, _ in three.heard("remove_object_instance")] == ["remove_object_instance"]
    assert one.heard("remove_object_instance") == []


def test_a_removal_is_told_though_its_message_is_lost() -> None:
    lost_removal()


def passed_on() -> None:
    """S0-16: what one survivor has of a node that died, the others get from it; and in its place."""
    network = mesh(4, 1, delay=0.01)
    network.set_link("S3", "S4", LinkProfile(delay=0.9))  # so slow that it is lost
    _, two, three, four = federation(network, "S1", "S2", "S3", "S4")
    for seat in (two, three):
        seat.publish_interaction(HIT)
    for seat in (two, four):
        seat.subscribe_interaction(HIT)
    network.settle()
    send(three, HIT, b"cause")
    network.run_until(lambda: bool(two.tags("receive_interaction")))
    send(two, HIT, b"effect")
    network.crash("S3")
    network.settle()
    assert four.tags("receive_interaction") == [b"cause", b"effect"]


def test_what_one_has_of_the_lost_is_passed_on() -> None:
    passed_on()


def slow_survivor() -> None:
    """A message between two who are left, under way when a view ends, is of that view and is waited for."""
    network = mesh(4, 1, delay=0.01)
    network.detection = 0.02
    network.set_link("S2", "S3", LinkProfile(delay=0.9))
    _, two, three, _ = federation(network, "S1", "S2", "S3", "S4")
    two.publish_interaction(HIT)
    three.subscribe_interaction(HIT)
    network.settle()
    send(two, HIT, b"of the old view")
    network.crash("S4")
    network.run_until(lambda: state(network, "S2").orders.view == 1)
    send(two, HIT, b"of the new")
    network.settle()
    assert state(network, "S3").orders.settled == 1
    assert three.tags("receive_interaction") == [b"of the old view", b"of the new"]


def test_what_survivors_say_while_a_view_ends_is_heard() -> None:
    slow_survivor()


def _sends_in(network: SimulatedNetwork, node: str, view: int) -> bool:
    return state(network, node).orders.view == view


def two_losses() -> None:
    """A second node dies while the first one's view is being ended: what was sent in between is heard, too."""
    network = mesh(5, 1, delay=0.01)
    network.detection = 0.02
    network.set_link("S2", "S3", LinkProfile(delay=0.9))
    _, two, three, _, _ = federation(network, "S1", "S2", "S3", "S4", "S5")
    two.publish_interaction(HIT)
    three.subscribe_interaction(HIT)
    network.settle()
    said = []
    for number, node in enumerate(("S4", "S5", "")):
        said.append(b"%d" % number)
        send(two, HIT, said[-1])
        if node:
            network.crash(node)
            network.run_until(partial(_sends_in, network, "S2", number + 1))
    network.settle()
    assert (state(network, "S3").orders.settled, state(network, "S1").orders.settled) == (2, 2)
    assert three.tags("receive_interaction") == said


def test_a_loss_while_a_view_ends() -> None:
    two_losses()


def test_what_nobody_has_of_the_lost_stops_nobody() -> None:
    """The cause is lost for good (its only receiver died too); what depends on it comes when the view has ended."""
    network = mesh(4, 1, delay=0.01)
    network.set_link("S3", "S4", LinkProfile(delay=0.9))
    _, two, three, four = federation(network, "S1", "S2", "S3", "S4")
    for seat in (two, three):
        seat.publish_interaction(HIT)
    for seat in (two, four):
        seat.subscribe_interaction(HIT)
    network.settle()
    send(three, HIT, b"cause")
    network.run_until(lambda: bool(two.tags("receive_interaction")))
    send(two, HIT, b"effect")
    network.run_until(lambda: 4 in state(network, "S4").orders.processes)
    assert state(network, "S4").orders.processes[4].current.held
    network.crash("S3")
    network.crash("S2")
    network.settle()
    assert four.tags("receive_interaction") == [b"effect"]
    assert state(network, "S4").orders.flush is None


def test_a_router_that_died_holds_nobody_up() -> None:
    """A message is lost with the router on its way, which is back before anybody missed it: the view ends all the same."""
    network = FabricNetwork(THREE, 1, FabricProfile(delay=0.01), lost_seconds=5.0)
    one, three = federation(network, "S1", "S3")
    one.publish_interaction(HIT)
    three.subscribe_interaction(HIT)
    network.settle()
    send(one, HIT, b"lost")
    network.run_until(lambda: False, network.clock.now + 0.015)  # it has reached the router
    network.crash("S2")
    send(one, HIT, b"lost too")
    network.restart("S2")
    network.settle()
    send(one, HIT, b"heard")
    network.settle()
    assert three.tags("receive_interaction")[-1:] == [b"heard"]
    assert not state(network, "S3").orders.processes[2].current.held
    assert state(network, "S3").orders.settled >= 1


def test_a_message_that_is_kept_back_counts() -> None:
    """Release control keeps the values, not the place in the order: what follows is heard."""
    rules = [ReleaseRule(frozenset([HIT_NAME]), from_domain="A", to_domain="B")]
    network = FabricNetwork(THREE, 1, FabricProfile(delay=0.01), rules)
    one, three = federation(network, "S1", "S3")
    for cls in (HIT, FIRE):
        one.publish_interaction(cls)
        three.subscribe_interaction(cls)
    network.settle()
    network.watched = True
    send(one, HIT, b"a secret")
    send(one, FIRE, b"heard")
    network.settle()
    assert three.tags("receive_interaction") == [b"heard"]
    assert not any(b"a secret" in data for _, _, data in network.crossed)


HIT_NAME = f"{model.INTERACTION_ROOT}.{HIT}"


def test_an_update_goes_by_the_orders_of_its_attributes() -> None:
    """S0-1, S0-17: each order is a message of its own, addressed by attribute."""
    network, (one, two, three) = triangle()
    one.publish("Vehicle", "Name", "Position")
    two.subscribe("Vehicle", "Name")
    three.subscribe("Vehicle", "Name", "Position")
    instance = one.register("Vehicle")
    network.settle()
    one.call("change_attribute_order_type", instance, handles().set_of("Name"), CAUSAL)
    update(one, instance, b"x", "Name", "Position", order=None)
    network.settle()
    assert [sorted(args[1]) for _, args in two.heard("reflect_attribute_values")] == [
        sorted(handles().set_of("Name"))
    ]
    assert len(three.heard("reflect_attribute_values")) == 2
    counts = state(network, "S1").orders.counts
    assert (counts.messages, counts.tags) == (1, 2)
    assert 0 < counts.tag_bytes < 40


def test_a_best_effort_message_in_causal_order_is_not_lost() -> None:
    """The order is kept, so the message must come: it goes reliably whatever its transportation says."""
    network = mesh(3, 1, delay=0.01, loss=0.6)
    one, two = federation(network, "S1", "S2")
    one.publish_interaction("Event.Fire")
    two.subscribe_interaction("Event.Fire")
    network.settle()
    for number in range(20):
        send(one, "Event.Fire", b"%d" % number)
    network.settle()
    assert two.tags("receive_interaction") == [b"%d" % number for number in range(20)]


def test_a_save_has_what_was_under_way() -> None:
    """Messages in causal and total order sent before the save come after each restore; then a view begins anew."""
    network, (one, two, three) = triangle()
    three.subscribe_interaction(HIT)
    network.settle()
    send(two, HIT, b"total", OrderType.TOTAL)
    send(one, HIT, b"causal")
    one.call("request_federation_save", "s")
    network.run_until(
        lambda: all(seat.connection.pending() for seat in (one, two, three)), network.clock.now + 0.05
    )
    send(two, HIT, b"last", OrderType.TOTAL)
    for seat in (one, two, three):
        network.run_until(seat.connection.pending)
        seat.call("federate_save_begun")
        seat.call("federate_save_complete")
    network.settle()
    heard = three.tags("receive_interaction")
    assert sorted(heard) == [b"causal", b"last", b"total"]
    send(one, HIT, b"undone")
    network.settle()
    three.heard()
    one.call("request_federation_restore", "s")
    network.settle()
    for seat in (one, two, three):
        seat.heard()
        seat.call("federate_restore_complete")
    network.settle()
    again = three.tags("receive_interaction")
    assert set(again) <= {b"causal", b"last", b"total"}
    for node in ("S1", "S2", "S3"):
        orders = state(network, node).orders
        assert (orders.view, orders.settled, orders.processes) == (0, 0, {})
    send(two, HIT, b"anew")
    network.settle()
    assert three.tags("receive_interaction") == [b"anew"]


def test_a_home_that_comes_back_goes_on_in_total_order() -> None:
    """The sequencer begins anew with the home's process; what is sent after that is heard by all, in one order."""
    network = fabric(FIGURE_2, lost_seconds=60.0)
    made = federation(network, "S1", "S4", "S8")
    for seat in made[1:]:
        seat.publish_interaction(HIT)
        seat.subscribe_interaction(HIT)
    network.settle()
    send(made[1], HIT, b"before", OrderType.TOTAL)
    network.settle()
    network.crash("S1")
    network.restart("S1")
    network.settle()
    for number in range(5):
        send(made[1], HIT, b"%d" % number, OrderType.TOTAL)
    network.settle()
    assert made[2].tags("receive_interaction") == [b"before", b"0", b"1", b"2", b"3", b"4"]
    assert state(network, "S8").orders.flush is None
